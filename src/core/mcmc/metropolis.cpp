#include "mcmc/metropolis.hpp"

namespace bayeskernel {
void RandomWalkStep::adapt(double log_ratio) {
  ++uses_;
  const double gain = std::min(1.0, 4.0 / std::pow(uses_, 0.6));
  const double accepted = std::exp(std::min(log_ratio, 0.0));
  log_sd_ += gain * ((std::isnan(accepted) ? 0.0 : accepted) - target_);
  log_sd_ = std::min(std::max(log_sd_, -10.0), 5.0);
}
}  // namespace bayeskernel
