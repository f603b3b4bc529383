#include "likelihood/curve_means.hpp"

#include "math/normal.hpp"

namespace bayeskernel {
Three LogitPowers::curves(double t) {
  const double u = 1.0 / (1.0 + std::exp(t));
  return {u, u * u, u * u * u};
}

Range LogitPowers::range(double a, double v, double sd) {
  return {std::max(a - 2.0 * v, std::min(a, -sd)) - kReach * sd,
          std::max(0.0, a - 0.5 * v) + kReach * sd};
}

Three LogitPowers::split(double t, double sd) {
  const double cdf = normal_cdf(-t / sd);
  return {cdf, cdf, cdf};
}

Three LogitBound::curves(double t) {
  const MarginTerms at = logit_margin(t);
  return {-at.value, at.slope, at.curvature};
}

Three LogitBound::split(double t, double sd) {
  const double z = t / sd, cdf = normal_cdf(-z);
  return {sd * normal_density(z) - t * cdf, cdf, 0.0};
}

Three ProbitBound::curves(double t) {
  const MarginTerms at = probit_margin(t);
  return {at.value, at.slope, at.curvature};
}
}  // namespace bayeskernel
