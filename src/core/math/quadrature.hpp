// Gauss-Legendre rule on (-1, 1) and Gauss-Hermite rule of the standard normal
// distribution, by Golub & Welsch (1969). O(n^3), once.
#pragma once

#include "eigen.hpp"

namespace bayeskernel {
struct GaussLegendre {
  VectorXd node, weight;

  explicit GaussLegendre(Index n);

  // Integral of f over (a, b).
  template <class F>
  double integrate(double a, double b, F&& f) const {
    const double half = 0.5 * (b - a), middle = 0.5 * (a + b);
    double sum = 0.0;
    for (Index k = 0; k < node.size(); ++k) {
      sum += weight[k] * f(middle + half * node[k]);
    }
    return half * sum;
  }
};

// Nodes and weights of E f(z), z ~ N(0, 1).
struct GaussHermite {
  VectorXd node, weight;

  explicit GaussHermite(Index n);
};
}  // namespace bayeskernel
