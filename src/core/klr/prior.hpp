// The prior of the low-rank kernel model (after Ouyang 2008, chapter 2).
//
// Ouyang (2008): kernel eq. 2.2 and 2.3, U on the manifold 2.4, f 2.5, Levy
// measure 2.6 and 2.7.
#pragma once

#include <array>

#include "eigen.hpp"
#include "rng/stream.hpp"

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
  Index max_kernels = 60;
  // Coefficients eps t_alpha; else two-sided Pareto beyond eps.
  bool continuous = false;

  // Kernels for an intensity of one.
  double density() const;
  double expected_kernels() const {
    return gamma_shape * density() / gamma_rate;
  }
  // log P(J + 1) / P(J), of a negative binomial law.
  double log_next(Index kernels) const;

  // Birth, death and update of J kernels.
  std::array<double, 3> move_probability(Index kernels) const;

  // Of the form with known coefficients: v = sign(b) (eps / |b|)^alpha is
  // uniform on (-1, 1).
  double coefficient(double v) const;
  double uniform_scale(double b) const;
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
double log_birth_ways(const LowRankPrior& prior, Index kernels);

// The chance that a step b + step t_3 lands in [-epsilon, epsilon].
double chance_inside(double b, double step, double epsilon);

// With deaths also by steps of the coefficient that land inside: the thesis
// leaves out the choice of the kernel, and part of the ratio in deaths.
double log_kill_ways(const LowRankPrior& prior, Index kernels, double inside);
}  // namespace bayeskernel
