#include "likelihood/likelihood.hpp"

#include "math/special.hpp"

namespace bayeskernel {
MarginTerms logit_margin(double t) {
  const double e = std::exp(-std::abs(t));
  const double far = 1.0 / (1.0 + e), near = e * far;
  return {std::min(t, 0.0) - std::log1p(e), t > 0.0 ? near : far, near * far};
}

MarginTerms probit_margin(double t) {
  const BelowNormal below = below_normal(t);
  return {below.log_cdf, below.slope, below.curvature};
}

double log_likelihood(Family family, double y, double f,
                      double noise_variance) {
  switch (family) {
    case Family::hinge:
      return -2.0 * std::max(1.0 - y * f, 0.0);
    case Family::probit:
      return below_normal(y * f).log_cdf;
    case Family::logit:
      return log_expit(y * f);
    default:
      return gaussian_log_density(y - f, noise_variance);
  }
}
}  // namespace bayeskernel
