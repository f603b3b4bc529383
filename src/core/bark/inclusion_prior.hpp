// Prior of the indicators delta that say which variables the kernel uses:
// exchangeable with a Beta probability, or a stationary
// Markov chain along an ordered axis.
//
// Ouyang (2008): exchangeable eq. 3.17; the chain's matrix 4.1 and conditionals
// 4.2.
#pragma once

#include <array>

#include "eigen.hpp"

namespace bayeskernel {
using IndicatorVector = std::vector<char>;

// What the Markov prior sees of an indicator vector.
struct IndicatorCounts {
  Index ones = 0;
  Index blocks = 0;  // runs of ones
  int ends = 0;      // ones among the first and the last

  explicit IndicatorCounts(const IndicatorVector& delta);
};

class InclusionPrior {
 public:
  enum class Kind { beta, known, markov };

  // delta_l ~ Bern(p), p ~ Be(a, b) integrated out.
  static InclusionPrior beta(double a, double b);
  // The same given p, for a sampler that draws it.
  static InclusionPrior known(double a, double b, double probability);
  // P(0 | 0) = q0, P(1 | 1) = q1, stationary.
  static InclusionPrior markov(double q0, double q1);
  // q0 ~ Be(a, b), q1 ~ Be(c, d) on top.
  void learn_markov(const std::array<double, 4>& shape);

  Kind kind() const { return kind_; }
  bool learns() const { return learns_ || kind_ == Kind::known; }
  double probability() const { return probability_; }
  void set_probability(double p) { probability_ = p; }
  double q0() const { return q0_; }
  double q1() const { return q1_; }
  void set_markov(double q0, double q1);
  const std::array<double, 4>& shape() const { return shape_; }

  double log_prior(const IndicatorVector& delta) const;

 private:
  double log_markov(const IndicatorCounts& counts, double p) const;

  Kind kind_ = Kind::beta;
  bool learns_ = false;
  std::array<double, 4> shape_{1.0, 1.0, 1.0, 1.0};
  double probability_ = 0.5;
  double q0_ = 0.5, q1_ = 0.5;
};
}  // namespace bayeskernel
