#include "bark/prior.hpp"

namespace bayeskernel {
bool PrecisionPrior::allows(double phi) const {
  return phi <= most &&
         (kind != Kind::log_uniform || (phi >= kLower && phi <= kUpper));
}

double PrecisionPrior::log_step(double from, double to) const {
  return kind == Kind::gamma ? shape * std::log(to / from) - rate * (to - from)
                             : 0.0;
}

void BarkPrior::set_epsilon(double value) {
  gamma *= std::pow(value / epsilon, alpha);
  epsilon = value;
}

std::array<double, 3> BarkPrior::move_probability(Index kernels) const {
  if (max_kernels == 0) return {0.0, 0.0, 1.0};
  if (kernels == 0) return {1.0, 0.0, 0.0};
  if (kernels >= max_kernels) return {0.0, 0.4, 0.6};
  return {0.4, 0.4, 0.2};
}
}  // namespace bayeskernel
