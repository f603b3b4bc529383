// The variance of a probit probability under a normal law.
#pragma once

#include "math/quadrature.hpp"

namespace bayeskernel {
class IntervalVariance {
 public:
  // Of Phi(upper - s) - Phi(lower - s), s ~ N(0, v); limits may be infinite.
  double operator()(double lower, double upper, double v) const;

 private:
  GaussLegendre rule_{12};
};
}  // namespace bayeskernel
