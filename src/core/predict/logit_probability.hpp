// E expit(f) for f ~ N(m, v).
#pragma once

#include "math/quadrature.hpp"

namespace bayeskernel {
class LogitProbability {
 public:
  // Nodes of a wide law are where expit bends, whatever m and v.
  LogitProbability();

  // Error below 1e-7 for every m and v. Opposite m give probabilities that add
  // to 1.
  double operator()(double m, double v) const;

 private:
  // m <= 0.
  double below(double m, double v) const;

  using Nodes = Eigen::Array<double, 64, 1>;
  GaussHermite hermite_{20};
  Nodes node_, weight_;  // weight times expit(-t) / sqrt(2 pi)
};
}  // namespace bayeskernel
