#include "bark/inclusion_prior.hpp"

#include "math/special.hpp"

namespace bayeskernel {
IndicatorCounts::IndicatorCounts(const IndicatorVector& delta) {
  char before = 0;
  for (const char now : delta) {
    ones += now;
    blocks += now && !before;
    before = now;
  }
  if (!delta.empty()) ends = delta.front() + delta.back();
}

InclusionPrior InclusionPrior::beta(double a, double b) {
  InclusionPrior out;
  out.kind_ = Kind::beta;
  out.shape_ = {a, b, 0.0, 0.0};
  return out;
}

InclusionPrior InclusionPrior::known(double a, double b, double probability) {
  InclusionPrior out = beta(a, b);
  out.kind_ = Kind::known;
  out.set_probability(probability);
  return out;
}

InclusionPrior InclusionPrior::markov(double q0, double q1) {
  InclusionPrior out;
  out.kind_ = Kind::markov;
  out.q0_ = q0;
  out.q1_ = q1;
  return out;
}

void InclusionPrior::learn_markov(const std::array<double, 4>& shape) {
  shape_ = shape;
  learns_ = true;
}

void InclusionPrior::set_markov(double q0, double q1) {
  q0_ = q0;
  q1_ = q1;
}

double InclusionPrior::log_prior(const IndicatorVector& delta) const {
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

double InclusionPrior::log_markov(const IndicatorCounts& counts,
                                  double p) const {
  const double d = static_cast<double>(counts.ones);
  const double k = static_cast<double>(counts.blocks);
  return (p - d - k) * std::log(q0_) + (d - k) * std::log(q1_) +
         k * (std::log1p(-q0_) + std::log1p(-q1_)) - std::log(2.0 - q0_ - q1_) +
         (counts.ends - 1.0) * (std::log(q0_) - std::log1p(-q1_));
}
}  // namespace bayeskernel
