// Where a chain of bark() begins.
#ifndef BAYESKERNEL_BARK_START_HPP
#define BAYESKERNEL_BARK_START_HPP

#include <algorithm>

#include "bark/basis.hpp"
#include "bark/kernel_moves.hpp"
#include "bark/population.hpp"
#include "bark/prior.hpp"
#include "bark/state.hpp"
#include "eigen.hpp"
#include "expansion/collapsed_gaussian.hpp"
#include "rng/distributions.hpp"
#include "rng/stream.hpp"

namespace bayeskernel {

double draw_varphi(const BarkPrior& prior, Stream& stream);

// As many kernels as the prior expects, at random places.
void start_by_prior(BarkState& state, Stream& stream);

// Coefficients are wide next to the response, three quarters of which the
// kernels are to explain. False without enough rows.
inline bool start_by_fit(BarkState& state, KernelMoves& moves, Stream& stream) {
  using Eigen::Index;
  constexpr Index kKernels = 30, kPlaces = 64;
  constexpr double kWidth = 10.0, kExplained = 0.75;
  const Index rows = state.data.rows();
  const Index kernels = std::min({kKernels, rows / 4, state.prior.max_kernels});
  state.rebuild_all();
  const double square = state.response_square() / static_cast<double>(rows);
  const double weight = state.data.total_weight() / static_cast<double>(rows);
  if (kernels == 0 || !(square > 0.0)) return false;
  const PrecisionPrior& phi = state.prior.phi;
  const double start = 1.0 / ((1.0 - kExplained) * square);
  if (phi.kind == PrecisionPrior::Kind::log_uniform && phi.allows(start)) {
    state.gaussian.set_precision(start);
    state.rebuild();
  }
  const double varphi = weight / (kWidth * kWidth * square);
  for (Index k = 0; k < kernels; ++k) {
    double best = KernelMoves::kNever;
    Index place = -1;
    for (Index trial = 0; trial < kPlaces; ++trial) {
      const Index location = uniform_index(stream, state.data.locations());
      if (state.population.column_at(location) >= 0) continue;
      const double change = moves.open(location, varphi);
      if (change > best) {
        best = change;
        place = location;
      }
    }
    if (place >= 0) moves.place(place, varphi);
  }
  return true;
}

}  // namespace bayeskernel

#endif
