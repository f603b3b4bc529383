#include "expansion/levy.hpp"

namespace bayeskernel {
LevyApproximation continuous_levy(double alpha, double gamma, double epsilon) {
  const double log_kernels =
      std::log(gamma) + (1.0 - 0.5 * alpha) * std::log(alpha) +
      (alpha - 1.0) * std::log(2.0) - alpha * std::log(epsilon) +
      log_gamma(0.5 * alpha) - log_gamma(1.0 - 0.5 * alpha);
  const double kernels = std::exp(log_kernels);
  return {kernels, kernels * alpha * epsilon * epsilon / (2.0 - alpha)};
}
}  // namespace bayeskernel
