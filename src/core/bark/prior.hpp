// The prior of bark() (after Ouyang 2008) and its constants.
//
// Ouyang (2008): the sum of kernels eq. 3.4, its Levy measure 3.6, locations
// and counts 3.14 and 3.15, the kernel 3.16, scales and indicators 3.17 and
// 3.18.
#pragma once

#include <array>

#include "expansion/levy.hpp"
#include "prior/variance_prior.hpp"

namespace bayeskernel {
// Precision of the noise: 1 / phi on [1e-6, 1e8], or Ga(shape, rate), or known
// (the probit model, where it is 1).
struct PrecisionPrior {
  enum class Kind { log_uniform, gamma, fixed };
  Kind kind = Kind::log_uniform;
  double shape = 0.0;
  double rate = 0.0;
  double value = 1.0;  // where it is known
  // Less than the prior says, for a while, where a chain is to see the whole
  // before the details.
  double most = std::numeric_limits<double>::infinity();

  static constexpr double kLower = 1e-6;
  static constexpr double kUpper = 1e8;

  bool allows(double phi) const;
  double start() const { return kind == Kind::gamma ? shape / rate : value; }
  // log of the prior ratio with the Jacobian of a step in log phi.
  double log_step(double from, double to) const;
};

struct BarkPrior {
  double alpha = 1.0;
  double gamma = 5.0;
  double epsilon = 0.5;
  double lambda_shape = 1.0;  // of the sum of the kernel scales
  double lambda_rate = 1.0;
  // Rows that a kernel is to reach; any where it is 0. See log_reach().
  double reach = 0.0;
  PrecisionPrior phi;
  Index max_kernels = 200;
  int kill_power = 1;  // of varphi in the weights of a death, 0 or 1

  // Counts and one varphi for each location instead of an atom for each
  // kernel: exact because sums of Cauchy variables are Cauchy.
  bool collapsed() const { return alpha == 1.0 && !atoms; }
  bool atoms = false;

  double expected_kernels() const {
    return continuous_levy(alpha, gamma, epsilon).kernels;
  }
  // epsilon^2 ~ Ga(shape, rate), one scale of all coefficients; the expected
  // number of kernels is known. Without a shape epsilon is.
  double scale_shape = 0.0;
  double scale_rate = 0.0;
  bool learns_scale() const { return scale_shape > 0.0; }

  // As many kernels are expected of the new epsilon.
  void set_epsilon(double value);

  // Standard deviation tau of the coefficients of a block of columns.
  HalfT block{4.0, 1.0};
  VariancePrior block_variance() const { return {0.0, 0.0, block}; }

  double varphi_shape() const { return 0.5 * alpha; }
  double varphi_rate() const { return 0.5 * alpha * epsilon * epsilon; }

  // Birth, death and update of J kernels.
  std::array<double, 3> move_probability(Index kernels) const;
};
}  // namespace bayeskernel
