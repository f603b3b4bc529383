// Approximations of the symmetric alpha-stable Levy prior (after Ouyang 2008).
//
// Ouyang (2008): truncation eq. 2.7 and 3.7, continuous approximation 3.8 and
// 3.9; errors of both in section 3.2.1.
#pragma once

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
LevyApproximation continuous_levy(double alpha, double gamma, double epsilon);

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
