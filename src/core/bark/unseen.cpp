#include "bark/unseen.hpp"

#include "math/normal.hpp"

namespace bayeskernel {
double square_over_effects(const GaussHermite& nodes, double lower,
                           double upper, double known, double unseen) {
  const double root = std::sqrt(unseen), scale = 1.0 / std::sqrt(1.0 + known);
  double out = 0.0;
  for (Index k = 0; k < nodes.node.size(); ++k) {
    const double u = root * nodes.node[k];
    const double p =
        normal_cdf((upper - u) * scale) - normal_cdf((lower - u) * scale);
    out += nodes.weight[k] * p * p;
  }
  return out;
}
}  // namespace bayeskernel
