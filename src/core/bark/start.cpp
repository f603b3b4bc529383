#include "bark/start.hpp"

namespace bayeskernel {
double draw_varphi(const BarkPrior& prior, Stream& stream) {
  const double shape = prior.varphi_shape(), rate = prior.varphi_rate();
  const double draw =
      shape < 0.1 ? std::exp(log_gamma_variate(stream, shape) - std::log(rate))
                  : gamma(stream, shape, rate);
  return std::max(draw, Population::kSmallest);
}

void start_by_prior(BarkState& state, Stream& stream) {
  const BarkPrior& prior = state.prior;
  const Index kernels =
      std::min(prior.max_kernels,
               static_cast<Index>(std::lround(prior.expected_kernels())));
  for (Index k = 0; k < kernels; ++k) {
    const Index location = uniform_index(stream, state.data.locations());
    state.population.insert(location, draw_varphi(prior, stream));
  }
  state.rebuild_all();
}

bool start_by_fit(BarkState& state, KernelMoves& moves, Stream& stream) {
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
