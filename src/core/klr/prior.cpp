#include "klr/prior.hpp"

#include "expansion/levy.hpp"

namespace bayeskernel {
double LowRankPrior::density() const {
  return continuous ? continuous_levy(alpha, 1.0, epsilon).kernels
                    : truncated_levy(alpha, 1.0, epsilon).kernels;
}

double LowRankPrior::log_next(Index kernels) const {
  const double c = density();
  const double j = static_cast<double>(kernels);
  return std::log((gamma_shape + j) / (j + 1.0) * c / (gamma_rate + c));
}

std::array<double, 3> LowRankPrior::move_probability(Index kernels) const {
  if (max_kernels == 0) return {0.0, 0.0, 1.0};
  if (kernels == 0) return {1.0, 0.0, 0.0};
  if (kernels >= max_kernels) return {0.0, 0.35, 0.65};
  return {0.35, 0.35, 0.30};
}

double LowRankPrior::coefficient(double v) const {
  const double size = epsilon * std::pow(std::abs(v), -1.0 / alpha);
  return v < 0.0 ? -size : size;
}

double LowRankPrior::uniform_scale(double b) const {
  const double v = std::pow(epsilon / std::abs(b), alpha);
  return b < 0.0 ? -v : v;
}

double log_birth_ways(const LowRankPrior& prior, Index kernels) {
  return std::log(prior.move_probability(kernels + 1)[1] /
                  prior.move_probability(kernels)[0]);
}

double log_kill_ways(const LowRankPrior& prior, Index kernels, double inside) {
  const auto after = prior.move_probability(kernels + 1);
  return std::log((after[1] + after[2] * inside) /
                  prior.move_probability(kernels)[0]);
}

double chance_inside(double b, double step, double epsilon) {
  const auto cdf = [](double t) {
    constexpr double kRoot = 1.7320508075688772, kPi = 3.14159265358979323846;
    const double x = t / kRoot;
    return 0.5 + (x / (1.0 + x * x) + std::atan(x)) / kPi;
  };
  // By the tail that does not cancel.
  const double a = std::abs(b);
  return cdf((epsilon - a) / step) - cdf((-epsilon - a) / step);
}
}  // namespace bayeskernel
