// Class probabilities that the hinge pseudo-likelihood implies:
// g(f) = L(+1|f) / (L(+1|f) + L(-1|f)) and E g(f), f ~ N(m, s^2).
#pragma once

#include "math/normal.hpp"
#include "math/quadrature.hpp"

namespace bayeskernel {
// expit{2 (max(1 + f, 0) - max(1 - f, 0))}.
double hinge_probability(double f);

class HingeProbability {
 public:
  HingeProbability() : narrow_(40), wide_(24) {}

  // E g(f); error below 1e-6 for every m and s.
  double operator()(double m, double s) const;

 private:
  static double density(double t, double m, double s) {
    return normal_density((t - m) / s) / s;
  }

  // Within 9 standard deviations, cut where g has a kink.
  double narrow(double m, double s) const;

  // Phi(m / s) - int_0^9 (1 - g(t)) {phi(t; m, s) - phi(-t; m, s)} dt.
  double wide(double m, double s) const;

  GaussLegendre narrow_, wide_;
};
}  // namespace bayeskernel
