// Special functions, accurate in the tails. Nothing throws: an argument
// outside the domain gives NaN or an infinity.
#ifndef BAYESKERNEL_MATH_SPECIAL_HPP
#define BAYESKERNEL_MATH_SPECIAL_HPP

#include <algorithm>
#include <boost/math/policies/policy.hpp>
#include <boost/math/special_functions/digamma.hpp>
#include <boost/math/special_functions/erf.hpp>
#include <boost/math/special_functions/gamma.hpp>
#include <cmath>

namespace bayeskernel {

namespace detail {

namespace bmp = boost::math::policies;

using QuietPolicy = bmp::policy<
    bmp::domain_error<bmp::ignore_error>, bmp::pole_error<bmp::ignore_error>,
    bmp::overflow_error<bmp::ignore_error>,
    bmp::evaluation_error<bmp::ignore_error>, bmp::promote_double<false>>;

constexpr double kSqrtHalf = 0.70710678118654752440;
constexpr double kSqrtTwo = 1.41421356237309504880;
constexpr double kLogSqrtTwoPi = 0.91893853320467274178;

// Upper tail of the standard normal over its density at t >= 5, by Laplace's
// continued fraction; 40 terms leave less than rounding error there.
inline double mills_ratio_tail(double t) {
  double denominator = t;
  for (int k = 40; k >= 1; --k) denominator = t + k / denominator;
  return 1.0 / denominator;
}

}  // namespace detail

// log Gamma(x), x > 0. std::lgamma would write a global variable.
inline double log_gamma(double x) {
  return boost::math::lgamma(x, detail::QuietPolicy());
}

// d/dx log Gamma(x), x > 0.
inline double digamma(double x) {
  return boost::math::digamma(x, detail::QuietPolicy());
}

// log Gamma_r(a), the multivariate gamma function; 2 a > r - 1.
inline double log_multivariate_gamma(double a, int r) {
  const double log_pi = 1.14472988584940017414;
  double sum = 0.25 * r * (r - 1) * log_pi;
  for (int j = 0; j < r; ++j) sum += log_gamma(a - 0.5 * j);
  return sum;
}

// d/da log Gamma_r(a). E log|W| = multivariate_digamma(df / 2, r) + r log 2 +
// log|V| for W ~ Wishart(df, V).
inline double multivariate_digamma(double a, int r) {
  double sum = 0.0;
  for (int j = 0; j < r; ++j) sum += digamma(a - 0.5 * j);
  return sum;
}

// log Phi(x).
inline double log_normal_cdf(double x) {
  using detail::kSqrtHalf;
  if (x > 0.0) return std::log1p(-0.5 * std::erfc(x * kSqrtHalf));
  if (x > -5.0) return std::log(0.5 * std::erfc(-x * kSqrtHalf));
  return std::log(detail::mills_ratio_tail(-x)) - 0.5 * x * x -
         detail::kLogSqrtTwoPi;
}

// phi(x) / Phi(x), the derivative of log Phi.
inline double inverse_mills(double x) {
  if (x <= -5.0) return 1.0 / detail::mills_ratio_tail(-x);
  return std::exp(-0.5 * x * x - detail::kLogSqrtTwoPi) /
         (0.5 * std::erfc(-x * detail::kSqrtHalf));
}

// The x with Phi(x) = p, 0 < p < 1.
inline double normal_quantile(double p) {
  return -detail::kSqrtTwo *
         boost::math::erfc_inv(2.0 * p, detail::QuietPolicy());
}

// log(1 + exp(x)).
inline double log1pexp(double x) {
  return std::max(x, 0.0) + std::log1p(std::exp(-std::abs(x)));
}

}  // namespace bayeskernel

#endif
