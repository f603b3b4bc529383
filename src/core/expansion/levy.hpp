// Approximations of the symmetric alpha-stable Levy prior (after Ouyang 2008).
#ifndef BAYESKERNEL_EXPANSION_LEVY_HPP
#define BAYESKERNEL_EXPANSION_LEVY_HPP

#include <cmath>

#include "math/special.hpp"

namespace bayeskernel {

// An approximation of the symmetric alpha-stable Levy prior: the expected
// number of kernels, and its expected squared L2 error in units of |g|^2.
struct LevyApproximation {
  double kernels;
  double error;
};

// Coefficients eps t_alpha: continuous.
inline LevyApproximation continuous_levy(double alpha, double gamma,
                                         double epsilon) {
  const double log_kernels =
      std::log(gamma) + (1.0 - 0.5 * alpha) * std::log(alpha) +
      (alpha - 1.0) * std::log(2.0) - alpha * std::log(epsilon) +
      log_gamma(0.5 * alpha) - log_gamma(1.0 - 0.5 * alpha);
  const double kernels = std::exp(log_kernels);
  return {kernels, kernels * alpha * epsilon * epsilon / (2.0 - alpha)};
}

// Two-sided Pareto coefficients beyond eps: truncated.
inline LevyApproximation truncated_levy(double alpha, double gamma,
                                        double epsilon) {
  constexpr double kPi = 3.14159265358979323846;
  const double tail = 2.0 * gamma * std::exp(log_gamma(alpha)) *
                      std::sin(0.5 * kPi * alpha) / kPi;
  return {tail * std::pow(epsilon, -alpha),
          tail * alpha * std::pow(epsilon, 2.0 - alpha) / (2.0 - alpha)};
}

}  // namespace bayeskernel

#endif
