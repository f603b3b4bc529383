#include "predict/logit_probability.hpp"

#include "math/normal.hpp"
#include "math/special.hpp"

namespace bayeskernel {
LogitProbability::LogitProbability() {
  const double cut[] = {0.0, 2.0, 6.0, 16.0, 40.0};
  const GaussLegendre rule(16);
  for (int k = 0; k < 4; ++k) {
    const double half = 0.5 * (cut[k + 1] - cut[k]);
    node_.segment<16>(16 * k) = cut[k] + half + half * rule.node.array();
    weight_.segment<16>(16 * k) = half * rule.weight.array();
  }
  weight_ /= (1.0 + node_.exp()) * detail::kSqrtTwoPi;
}

double LogitProbability::operator()(double m, double v) const {
  if (m == 0.0) return 0.5;
  const double lower = below(-std::abs(m), std::max(v, 0.0));
  return m > 0.0 ? 1.0 - lower : lower;
}

double LogitProbability::below(double m, double v) const {
  const double sd = std::sqrt(v);
  if (v <= 1.0) {
    double sum = 0.0;
    for (Index k = 0; k < hermite_.node.size(); ++k) {
      sum += hermite_.weight[k] * expit(m + sd * hermite_.node[k]);
    }
    return sum;
  }
  // Phi(m / sd) - int_0^inf expit(-t) {phi(t; m, v) - phi(-t; m, v)} dt.
  const Nodes up = (node_ - m) / sd, down = (node_ + m) / sd;
  const double correction =
      (weight_ * ((-0.5 * down.square()).exp() - (-0.5 * up.square()).exp()))
          .sum();
  return std::min(std::max(normal_cdf(m / sd) + correction / sd, 0.0), 0.5);
}
}  // namespace bayeskernel
