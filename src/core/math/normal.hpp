// The standard normal distribution: density phi, cdf Phi, their logarithms and
// ratio, accurate in the tails; nothing throws, NaN gives NaN.
#ifndef BAYESKERNEL_MATH_NORMAL_HPP
#define BAYESKERNEL_MATH_NORMAL_HPP

#include <Eigen/Core>
#include <cmath>

namespace bayeskernel {

namespace detail {

constexpr double kSqrtHalf = 0.70710678118654752440;
constexpr double kSqrtTwo = 1.41421356237309504880;
constexpr double kSqrtTwoPi = 2.50662827463100050242;
constexpr double kLogSqrtTwoPi = 0.91893853320467274178;

// Upper tail over density at t >= 5, by Laplace's continued fraction; 40 terms
// leave less than rounding error there.
double mills_ratio_tail(double t);

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
void normal_cdf(const Eigen::ArrayXd& x, Eigen::ArrayXd& z,
                Eigen::ArrayXd& out);

// log Phi(x).
double log_normal_cdf(double x);

// log(Phi(b) - Phi(a)), a < b, from the tail that is nearer.
double log_normal_interval(double a, double b);

// Upper tail over density, {1 - Phi(z)} / phi(z), for z >= 0: one rational
// function, of degrees 9 and 10, by least squares in the relative error with
// Lawson's weights; relative error below 2e-15 everywhere.
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

#endif
