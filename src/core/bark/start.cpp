#include "bark/start.hpp"

#include <algorithm>
#include <cmath>

#include "bark/basis.hpp"
#include "bark/kernel_moves.hpp"
#include "bark/population.hpp"
#include "bark/prior.hpp"
#include "bark/state.hpp"
#include "eigen.hpp"
#include "rng/distributions.hpp"
#include "rng/stream.hpp"

namespace bayeskernel {

double draw_varphi(const BarkPrior& prior, Stream& stream) {
  const double shape = prior.varphi_shape(), rate = prior.varphi_rate();
  const double draw =
      shape < 0.1 ? std::exp(log_gamma_variate(stream, shape) - std::log(rate))
                  : gamma(stream, shape, rate);
  return std::max(draw, Population::kSmallest);
}

void start_by_prior(BarkState& state, Stream& stream) {
  using Eigen::Index;
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

}  // namespace bayeskernel
