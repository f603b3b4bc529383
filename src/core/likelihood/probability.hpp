// Class probabilities that the hinge pseudo-likelihood implies:
// g(f) = L(+1|f) / (L(+1|f) + L(-1|f)) and E g(f), f ~ N(m, s^2).
#ifndef BAYESKERNEL_LIKELIHOOD_PROBABILITY_HPP
#define BAYESKERNEL_LIKELIHOOD_PROBABILITY_HPP

#include <algorithm>
#include <cmath>

#include "math/normal.hpp"
#include "math/quadrature.hpp"

namespace bayeskernel {

// expit{2 (max(1 + f, 0) - max(1 - f, 0))}.
inline double hinge_probability(double f) {
  const double x = 2.0 * (std::max(1.0 + f, 0.0) - std::max(1.0 - f, 0.0));
  return x >= 0.0 ? 1.0 / (1.0 + std::exp(-x))
                  : std::exp(x) / (1.0 + std::exp(x));
}

class HingeProbability {
 public:
  HingeProbability() : narrow_(40), wide_(24) {}

  // E g(f); error below 1e-6 for every m and s.
  double operator()(double m, double s) const {
    if (!(s > 0.0)) return hinge_probability(m);
    return s < 0.25 ? narrow(m, s) : wide(m, s);
  }

 private:
  static double density(double t, double m, double s) {
    return normal_density((t - m) / s) / s;
  }

  // Within 9 standard deviations, cut where g has a kink.
  double narrow(double m, double s) const {
    const double low = m - 9.0 * s, high = m + 9.0 * s;
    const double cut[4] = {low, std::min(std::max(-1.0, low), high),
                           std::min(std::max(1.0, low), high), high};
    double sum = 0.0;
    for (int k = 0; k < 3; ++k) {
      if (!(cut[k + 1] > cut[k])) continue;
      sum += narrow_.integrate(cut[k], cut[k + 1], [&](double t) {
        return hinge_probability(t) * density(t, m, s);
      });
    }
    return std::min(std::max(sum, 0.0), 1.0);
  }

  // Phi(m / s) - int_0^9 (1 - g(t)) {phi(t; m, s) - phi(-t; m, s)} dt.
  double wide(double m, double s) const {
    const auto correction = [&](double t) {
      return (1.0 - hinge_probability(t)) *
             (density(t, m, s) - density(-t, m, s));
    };
    const double value = normal_cdf(m / s) - wide_.integrate(0.0, 1.0, correction) -
                         wide_.integrate(1.0, 9.0, correction);
    return std::min(std::max(value, 0.0), 1.0);
  }

  GaussLegendre narrow_, wide_;
};

}  // namespace bayeskernel

#endif
