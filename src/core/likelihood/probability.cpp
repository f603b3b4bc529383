#include "likelihood/probability.hpp"

namespace bayeskernel {
double hinge_probability(double f) {
  const double x = 2.0 * (std::max(1.0 + f, 0.0) - std::max(1.0 - f, 0.0));
  return x >= 0.0 ? 1.0 / (1.0 + std::exp(-x))
                  : std::exp(x) / (1.0 + std::exp(x));
}

double HingeProbability::operator()(double m, double s) const {
  if (!(s > 0.0)) return hinge_probability(m);
  return s < 0.25 ? narrow(m, s) : wide(m, s);
}

double HingeProbability::narrow(double m, double s) const {
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

double HingeProbability::wide(double m, double s) const {
  const auto correction = [&](double t) {
    return (1.0 - hinge_probability(t)) *
           (density(t, m, s) - density(-t, m, s));
  };
  const double value = normal_cdf(m / s) -
                       wide_.integrate(0.0, 1.0, correction) -
                       wide_.integrate(1.0, 9.0, correction);
  return std::min(std::max(value, 0.0), 1.0);
}
}  // namespace bayeskernel
