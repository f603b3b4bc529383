// Gamma functions and the logistic curve. Nothing throws: an argument outside
// the domain gives NaN or an infinity.
#pragma once

#include <algorithm>
#include <cmath>

namespace bayeskernel {
inline double expit(double x) { return 1.0 / (1.0 + std::exp(-x)); }

// log expit(x).
inline double log_expit(double x) {
  return std::min(x, 0.0) - std::log1p(std::exp(-std::abs(x)));
}

// log Gamma(x), x > 0. std::lgamma would write a global variable.
double log_gamma(double x);

// d/dx log Gamma(x), x > 0.
double digamma(double x);

// Its derivative.
double trigamma(double x);

// log Gamma_r(a), the multivariate gamma function; 2 a > r - 1.
double log_multivariate_gamma(double a, int r);

// d/da log Gamma_r(a). E log|W| = multivariate_digamma(df / 2, r) + r log 2 +
// log|V| for W ~ Wishart(df, V).
double multivariate_digamma(double a, int r);
}  // namespace bayeskernel
