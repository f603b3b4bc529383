#include "math/interval_variance.hpp"

namespace bayeskernel {
double IntervalVariance::operator()(double lower, double upper,
                                    double v) const {
  constexpr double pi = 3.14159265358979323846;
  const double scale = 1.0 / std::sqrt(1.0 + v);
  const double a = lower * scale, b = upper * scale;
  // Cov{Phi(h - s), Phi(k - s)} by what the density of a bivariate normal law
  // changes with its correlation, the sine of an angle (Drezner and Wesolowsky
  // 1990).
  const auto covariance = [&](double h, double k, double sine) {
    if (std::isinf(h) || std::isinf(k)) return 0.0;
    const double apart = h - k;
    return std::exp(-h * k / (1.0 + sine) -
                    0.5 * apart * apart / ((1.0 - sine) * (1.0 + sine)));
  };
  return rule_.integrate(0.0, std::asin(v / (1.0 + v)), [&](double angle) {
           const double sine = std::sin(angle);
           return covariance(a, a, sine) + covariance(b, b, sine) -
                  2.0 * covariance(a, b, sine);
         }) /
         (2.0 * pi);
}
}  // namespace bayeskernel
