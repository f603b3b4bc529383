#include "rng/polya_gamma.hpp"

#include "math/normal.hpp"
#include "rng/distributions.hpp"

namespace bayeskernel {
PolyaGammaMoments polya_gamma_moments(double w, double c) {
  c = std::abs(c);
  if (c < 0.1) {
    const double x = c * c;
    return {w * (1.0 / 4 - x * (1.0 / 48 - x * (1.0 / 480 - x * 17.0 / 80640))),
            w * (1.0 / 24 -
                 x * (1.0 / 120 - x * (17.0 / 13440 - x * 31.0 / 181440)))};
  }
  const double tanh_half = std::tanh(0.5 * c);
  // c / cosh(c / 2)^2 without overflow.
  const double tail = c * (1.0 - tanh_half) * (1.0 + tanh_half);
  return {w * tanh_half / (2.0 * c),
          w * (2.0 * tanh_half - tail) / (4.0 * c * c * c)};
}

namespace detail {
PolyaGammaOne::PolyaGammaOne(double c) : z_(0.5 * std::abs(c)) {
  rate_ = 0.125 * kPi * kPi + 0.5 * z_ * z_;
  const double root = std::sqrt(kCut), scale = rate_ * kCut;
  const double left = (kCut * z_ - 1.0) / root;
  const double right = -(kCut * z_ + 1.0) / root;
  double below;
  if (z_ > 20.0) {
    below = std::exp(scale - z_ + log_normal_cdf(left)) +
            std::exp(scale + z_ + log_normal_cdf(right));
  } else {
    const double tilt = std::exp(z_);
    below =
        std::exp(scale) * (normal_cdf(left) / tilt + normal_cdf(right) * tilt);
  }
  probability_above_ = 1.0 / (1.0 + 4.0 / kPi * rate_ * below);
}

double PolyaGammaOne::operator()(Stream& stream) const {
  for (;;) {
    const double x = stream.uniform() < probability_above_
                         ? kCut + stream.exponential() / rate_
                         : inverse_gaussian(stream);
    double sum = coefficient(0, x);
    const double y = stream.uniform() * sum;
    for (int n = 1;; ++n) {
      const double term = coefficient(n, x);
      if (n % 2 == 1) {
        sum -= term;
        if (y <= sum) return 0.25 * x;
      } else {
        sum += term;
        if (y > sum) break;
      }
    }
  }
}

double PolyaGammaOne::coefficient(int n, double x) {
  const double k = n + 0.5;
  if (x > kCut) return kPi * k * std::exp(-0.5 * k * k * kPi * kPi * x);
  const double r = 2.0 / (kPi * x);
  return kPi * k * r * std::sqrt(r) * std::exp(-2.0 * k * k / x);
}

double PolyaGammaOne::inverse_gaussian(Stream& stream) const {
  if (z_ * kCut < 1.0) {
    for (;;) {
      double e;
      do {
        e = stream.exponential();
      } while (e * e > 2.0 * stream.exponential() / kCut);
      const double x = kCut / ((1.0 + kCut * e) * (1.0 + kCut * e));
      if (stream.exponential() >= 0.5 * z_ * z_ * x) return x;
    }
  }
  // Michael, Schucany and Haas (1976); the smaller root of their quadratic,
  // without cancellation.
  const double mean = 1.0 / z_;
  for (;;) {
    const double normal = stream.normal();
    const double a = 0.5 * mean * normal * normal;
    const double smaller = mean / (1.0 + a + std::sqrt(a * (2.0 + a)));
    const double x = stream.uniform() * (mean + smaller) <= mean
                         ? smaller
                         : mean * (mean / smaller);
    if (x <= kCut) return x;
  }
}

double RepeatedGamma::operator()(Stream& stream) const {
  const double draw = d_ * cube(stream);
  // G(a) = G(a + 1) U^(1 / a) in law.
  if (inverse_ == 0.0) return draw;
  return draw * std::exp(-inverse_ * stream.exponential());
}

double RepeatedGamma::cube(Stream& stream) const {
  for (;;) {
    const double x = stream.normal(), root = 1.0 + c_ * x;
    if (root <= 0.0) continue;
    const double v = root * root * root, u = stream.uniform(), x2 = x * x;
    if (u < 1.0 - 0.0331 * x2 * x2) return v;
    if (std::log(u) < 0.5 * x2 + d_ * (1.0 - v + std::log(v))) return v;
  }
}
}  // namespace detail

namespace detail {
double polya_gamma_sum(Stream& stream, double w, double c, int terms) {
  constexpr double kScale = 1.0 / (2.0 * kPi * kPi);
  const RepeatedGamma draw(w);
  const double shift = c * c / (4.0 * kPi * kPi);
  PolyaGammaMoments rest = polya_gamma_moments(w, c);
  double sum = 0.0;
  for (int k = 0; k < terms; ++k) {
    const double size = kScale / ((k + 0.5) * (k + 0.5) + shift);
    sum += size * draw(stream);
    rest.mean -= w * size;
    rest.variance -= w * size * size;
  }
  const double rate = rest.mean / rest.variance;
  return sum + RepeatedGamma(rest.mean * rate)(stream) / rate;
}
}  // namespace detail

double polya_gamma(Stream& stream, double w, double c) {
  if (!(std::isfinite(c) && std::isfinite(w) && w > 0.0)) {
    throw NumericError("a Polya-Gamma variable has no finite parameters");
  }
  constexpr double kFew = 4.0;
  double draw = 0.0;
  if (w <= kFew && w == std::floor(w)) {
    const detail::PolyaGammaOne one(c);
    for (double k = 0.0; k < w; k += 1.0) draw += one(stream);
  } else {
    draw = detail::polya_gamma_sum(stream, w, c, detail::polya_gamma_terms(w));
  }
  return std::max(draw, std::numeric_limits<double>::min());
}
}  // namespace bayeskernel
