// Gamma functions and the logistic curve. Nothing throws: an argument outside
// the domain gives NaN or an infinity.
#ifndef BAYESKERNEL_MATH_SPECIAL_HPP
#define BAYESKERNEL_MATH_SPECIAL_HPP

#include <algorithm>
#include <boost/math/special_functions/digamma.hpp>
#include <boost/math/special_functions/gamma.hpp>
#include <boost/math/special_functions/trigamma.hpp>
#include <cmath>

#include "math/normal.hpp"

namespace bayeskernel {

inline double expit(double x) { return 1.0 / (1.0 + std::exp(-x)); }

// log expit(x).
inline double log_expit(double x) {
  return std::min(x, 0.0) - std::log1p(std::exp(-std::abs(x)));
}

// log Gamma(x), x > 0. std::lgamma would write a global variable.
inline double log_gamma(double x) {
  return boost::math::lgamma(x, detail::QuietPolicy());
}

// d/dx log Gamma(x), x > 0.
inline double digamma(double x) {
  return boost::math::digamma(x, detail::QuietPolicy());
}

// Its derivative.
inline double trigamma(double x) {
  return boost::math::trigamma(x, detail::QuietPolicy());
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

}  // namespace bayeskernel

#endif
