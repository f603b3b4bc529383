// Probabilities of classes where a level of a factor is new: its effect has a
// variance of its own.
#ifndef BAYESKERNEL_BARK_UNSEEN_HPP
#define BAYESKERNEL_BARK_UNSEEN_HPP

#include <Eigen/Core>
#include <cmath>

#include "math/normal.hpp"
#include "math/quadrature.hpp"

namespace bayeskernel {

// E p(u)^2 over u ~ N(0, unseen), p(u) the probability that u + e lies between
// `lower` and `upper` for e ~ N(0, 1 + known).
inline double square_over_effects(const GaussHermite& nodes, double lower,
                                  double upper, double known, double unseen) {
  const double root = std::sqrt(unseen), scale = 1.0 / std::sqrt(1.0 + known);
  double out = 0.0;
  for (Eigen::Index k = 0; k < nodes.node.size(); ++k) {
    const double u = root * nodes.node[k];
    const double p =
        normal_cdf((upper - u) * scale) - normal_cdf((lower - u) * scale);
    out += nodes.weight[k] * p * p;
  }
  return out;
}

}  // namespace bayeskernel

#endif
