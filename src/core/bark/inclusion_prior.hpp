// Prior of the indicators delta that say which variables the kernel uses:
// exchangeable with a Beta probability, or a stationary
// Markov chain along an ordered axis.
#ifndef BAYESKERNEL_BARK_INCLUSION_PRIOR_HPP
#define BAYESKERNEL_BARK_INCLUSION_PRIOR_HPP

#include <Eigen/Core>
#include <array>
#include <cmath>
#include <vector>

#include "math/special.hpp"

namespace bayeskernel {

using IndicatorVector = std::vector<char>;

// What the Markov prior sees of an indicator vector.
struct IndicatorCounts {
  Eigen::Index ones = 0;
  Eigen::Index blocks = 0;  // runs of ones
  int ends = 0;             // ones among the first and the last

  explicit IndicatorCounts(const IndicatorVector& delta) {
    char before = 0;
    for (const char now : delta) {
      ones += now;
      blocks += now && !before;
      before = now;
    }
    if (!delta.empty()) ends = delta.front() + delta.back();
  }
};

class InclusionPrior {
 public:
  enum class Kind { beta, known, markov };

  // delta_l ~ Bern(p), p ~ Be(a, b) integrated out.
  static InclusionPrior beta(double a, double b) {
    InclusionPrior out;
    out.kind_ = Kind::beta;
    out.shape_ = {a, b, 0.0, 0.0};
    return out;
  }
  // The same given p, for a sampler that draws it.
  static InclusionPrior known(double a, double b, double probability) {
    InclusionPrior out = beta(a, b);
    out.kind_ = Kind::known;
    out.set_probability(probability);
    return out;
  }
  // P(0 | 0) = q0, P(1 | 1) = q1, stationary.
  static InclusionPrior markov(double q0, double q1) {
    InclusionPrior out;
    out.kind_ = Kind::markov;
    out.q0_ = q0;
    out.q1_ = q1;
    return out;
  }
  // q0 ~ Be(a, b), q1 ~ Be(c, d) on top.
  void learn_markov(const std::array<double, 4>& shape) {
    shape_ = shape;
    learns_ = true;
  }

  Kind kind() const { return kind_; }
  bool learns() const { return learns_ || kind_ == Kind::known; }
  double probability() const { return probability_; }
  void set_probability(double p) { probability_ = p; }
  double q0() const { return q0_; }
  double q1() const { return q1_; }
  void set_markov(double q0, double q1) {
    q0_ = q0;
    q1_ = q1;
  }
  const std::array<double, 4>& shape() const { return shape_; }

  double log_prior(const IndicatorVector& delta) const {
    const IndicatorCounts counts(delta);
    const double p = static_cast<double>(delta.size());
    const double d = static_cast<double>(counts.ones);
    switch (kind_) {
      case Kind::beta:
        return log_gamma(shape_[0] + d) + log_gamma(shape_[1] + p - d) -
               log_gamma(shape_[0] + shape_[1] + p) - log_gamma(shape_[0]) -
               log_gamma(shape_[1]) + log_gamma(shape_[0] + shape_[1]);
      case Kind::known:
        return d * std::log(probability_) + (p - d) * std::log1p(-probability_);
      default:
        return log_markov(counts, p);
    }
  }

 private:
  double log_markov(const IndicatorCounts& counts, double p) const {
    const double d = static_cast<double>(counts.ones);
    const double k = static_cast<double>(counts.blocks);
    return (p - d - k) * std::log(q0_) + (d - k) * std::log(q1_) +
           k * (std::log1p(-q0_) + std::log1p(-q1_)) -
           std::log(2.0 - q0_ - q1_) +
           (counts.ends - 1.0) * (std::log(q0_) - std::log1p(-q1_));
  }

  Kind kind_ = Kind::beta;
  bool learns_ = false;
  std::array<double, 4> shape_{1.0, 1.0, 1.0, 1.0};
  double probability_ = 0.5;
  double q0_ = 0.5, q1_ = 0.5;
};

}  // namespace bayeskernel

#endif
