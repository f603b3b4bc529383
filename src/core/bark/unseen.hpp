// Probabilities of classes where a level of a factor is new: its effect has a
// variance of its own.
#pragma once

#include "math/quadrature.hpp"

namespace bayeskernel {
// E p(u)^2 over u ~ N(0, unseen), p(u) the probability that u + e lies between
// `lower` and `upper` for e ~ N(0, 1 + known).
double square_over_effects(const GaussHermite& nodes, double lower,
                           double upper, double known, double unseen);
}  // namespace bayeskernel
