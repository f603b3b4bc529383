// The prior of the low-rank kernel model (after Ouyang 2008, chapter 2).
#ifndef BAYESKERNEL_KLR_PRIOR_HPP
#define BAYESKERNEL_KLR_PRIOR_HPP

#include <Eigen/Core>
#include <algorithm>
#include <array>
#include <cmath>

#include "expansion/levy.hpp"
#include "rng/distributions.hpp"

namespace bayeskernel {

struct LowRankPrior {
  double alpha = 1.0;
  double epsilon = 0.1;
  double gamma_shape = 1.0;  // of the intensity of kernels, integrated out
  double gamma_rate = 1.0;
  double mean_location = 0.0;  // mu ~ N(m_0, s_0^2)
  double mean_scale = 1.0;
  double precision_shape = 1.0;  // tau ~ Ga(a_s, b_s)
  double precision_rate = 1.0;
  double intercept_rate = 1.0;
  Eigen::Index max_kernels = 60;
  // Coefficients eps t_alpha; else two-sided Pareto beyond eps.
  bool continuous = false;

  // Kernels for an intensity of one.
  double density() const {
    return continuous ? continuous_levy(alpha, 1.0, epsilon).kernels
                      : truncated_levy(alpha, 1.0, epsilon).kernels;
  }
  double expected_kernels() const {
    return gamma_shape * density() / gamma_rate;
  }
  // log P(J + 1) / P(J), of a negative binomial law.
  double log_next(Eigen::Index kernels) const {
    const double c = density();
    const double j = static_cast<double>(kernels);
    return std::log((gamma_shape + j) / (j + 1.0) * c / (gamma_rate + c));
  }

  // Birth, death and update of J kernels.
  std::array<double, 3> move_probability(Eigen::Index kernels) const {
    if (max_kernels == 0) return {0.0, 0.0, 1.0};
    if (kernels == 0) return {1.0, 0.0, 0.0};
    if (kernels >= max_kernels) return {0.0, 0.35, 0.65};
    return {0.35, 0.35, 0.30};
  }

  // Of the form with known coefficients: v = sign(b) (eps / |b|)^alpha is
  // uniform on (-1, 1).
  double coefficient(double v) const {
    const double size = epsilon * std::pow(std::abs(v), -1.0 / alpha);
    return v < 0.0 ? -size : size;
  }
  double uniform_scale(double b) const {
    const double v = std::pow(epsilon / std::abs(b), alpha);
    return b < 0.0 ? -v : v;
  }
  double draw_coefficient(Stream& stream) const {
    return coefficient(2.0 * stream.uniform() - 1.0);
  }
  // What sums of exponentials can hold.
  static bool holds_coefficient(double b) { return std::abs(b) < 1e100; }

  // Of the form with coefficients N(0, 1 / varphi).
  double varphi_shape() const { return 0.5 * alpha; }
  double varphi_rate() const { return 0.5 * alpha * epsilon * epsilon; }
};

// Terms of the ratio of a birth that do not depend on the prior's constants:
// how probable its way and the way back are, of J kernels before it.
// Ordinary deaths, one kernel in J + 1.
inline double log_birth_ways(const LowRankPrior& prior, Eigen::Index kernels) {
  return std::log(prior.move_probability(kernels + 1)[1] /
                  prior.move_probability(kernels)[0]);
}

// The chance that a step b + step t_3 lands in [-epsilon, epsilon].
inline double chance_inside(double b, double step, double epsilon) {
  const auto cdf = [](double t) {
    constexpr double kRoot = 1.7320508075688772, kPi = 3.14159265358979323846;
    const double x = t / kRoot;
    return 0.5 + (x / (1.0 + x * x) + std::atan(x)) / kPi;
  };
  // By the tail that does not cancel.
  const double a = std::abs(b);
  return cdf((epsilon - a) / step) - cdf((-epsilon - a) / step);
}

// With deaths also by steps of the coefficient that land inside: the thesis
// leaves out the choice of the kernel, and part of the ratio in deaths.
inline double log_kill_ways(const LowRankPrior& prior, Eigen::Index kernels,
                            double inside) {
  const auto after = prior.move_probability(kernels + 1);
  return std::log((after[1] + after[2] * inside) /
                  prior.move_probability(kernels)[0]);
}

}  // namespace bayeskernel

#endif
