// The standard normal distribution: density phi, cdf Phi, their logarithms and
// ratio, accurate in the tails; nothing throws, NaN gives NaN.
#pragma once

#include "eigen.hpp"
#include "simd/simd.hpp"

namespace bayeskernel {
namespace detail {
constexpr double kSqrtHalf = 0.70710678118654752440;
constexpr double kSqrtTwo = 1.41421356237309504880;
constexpr double kSqrtTwoPi = 2.50662827463100050242;
constexpr double kLogSqrtTwoPi = 0.91893853320467274178;

// Upper tail over density at t >= 5, by Laplace's continued fraction; 40 terms
// leave less than rounding error there.
double mills_ratio_tail(double t);

// {1 - Phi(a)} / phi(a), a >= 0, of a number or of several side by side: one
// rational function, of degrees 9 and 10, by least squares in the relative
// error with Lawson's weights; relative error below 2e-15.
template <class T>
BAYESKERNEL_INLINE inline void replace_by_mills(T& a) {
  const T s = a * a;
  const T even =
      (((25.371087238666625 * s + 2546.427379933723) * s + 56608.26340756131) *
           s +
       322861.2148283268) *
          s +
      254022.73227429323;
  const T odd = (((s + 318.39278712784903) * s + 14168.110427998352) * s +
                 162279.7762405582) *
                    s +
                407945.55051985447;
  const T even_below =
      ((((s + 319.3927871281736) * s + 14484.503219866448) * s +
        175821.10919513102) *
           s +
       545002.3890733864) *
          s +
      202680.8161746184;
  const T odd_below =
      (((25.371087238665968 * s + 2571.798467116985) * s + 59103.9483716297) *
           s +
       374630.1426265807) *
          s +
      487209.3504046536;
  a = (even + a * odd) / (even_below + a * odd_below);
}
}  // namespace detail

inline double normal_density(double x) {
  return std::exp(-0.5 * x * x) / detail::kSqrtTwoPi;
}

// Phi(x), also where it is far below 1.
inline double normal_cdf(double x) {
  return 0.5 * std::erfc(-x * detail::kSqrtHalf);
}

// Phi(x) for a block of values, with packed arithmetic: the rational function
// of Hart (1968, no. 5666) times exp(-x^2 / 2) for |x| < 7, absolute error
// below 3e-16; erfc beyond.
void normal_cdf(const ArrayXd& x, ArrayXd& z, ArrayXd& out);

// log Phi(x).
double log_normal_cdf(double x);

// log(Phi(b) - Phi(a)), a < b, from the tail that is nearer.
double log_normal_interval(double a, double b);

// Upper tail over density, {1 - Phi(z)} / phi(z), for z >= 0.
double mills_ratio(double z);

// The standard normal given that it is below x, seen from x.
struct BelowNormal {
  double log_cdf;    // log Phi(x)
  double slope;      // its derivative, lambda = phi(x) / Phi(x)
  double curvature;  // minus its second derivative, lambda (lambda + x)
  double excess;     // lambda + x: x minus the mean of what is left
  double variance;   // 1 - lambda (lambda + x)
};

// lambda + x and the variance cancel far below 0: there the series of Mills'
// ratio.
BelowNormal below_normal(double x);

// The x with Phi(x) = p, 0 < p < 1.
double normal_quantile(double p);
}  // namespace bayeskernel
