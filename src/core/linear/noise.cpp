#include "linear/noise.hpp"

#include "math/special.hpp"

namespace bayeskernel {
NoisePosterior start_noise(const NoisePrior& prior) {
  NoisePosterior out;
  if (prior.held) out.precision = prior.precision;
  return out;
}

double update_noise(const NoisePrior& prior, double seen, double power,
                    double squares, NoisePosterior& q) {
  q.shape = prior.shape + 0.5 * power / seen;
  q.rate = prior.rate + 0.5 * squares / seen;
  q.precision = q.shape / q.rate;
  return 0.5 * (squares - power / seen * std::log(seen)) +
         prior.shape * std::log(prior.rate) - log_gamma(prior.shape) +
         log_gamma(q.shape) - q.shape * std::log(q.rate);
}
}  // namespace bayeskernel
