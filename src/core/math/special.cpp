#include "math/special.hpp"

#include <boost/math/special_functions/digamma.hpp>
#include <boost/math/special_functions/gamma.hpp>
#include <boost/math/special_functions/trigamma.hpp>

#include "math/boost_policy.hpp"

namespace bayeskernel {
double log_gamma(double x) {
  return boost::math::lgamma(x, detail::QuietPolicy());
}

double digamma(double x) {
  return boost::math::digamma(x, detail::QuietPolicy());
}

double trigamma(double x) {
  return boost::math::trigamma(x, detail::QuietPolicy());
}

double log_multivariate_gamma(double a, int r) {
  const double log_pi = 1.14472988584940017414;
  double sum = 0.25 * r * (r - 1) * log_pi;
  for (int j = 0; j < r; ++j) sum += log_gamma(a - 0.5 * j);
  return sum;
}

double multivariate_digamma(double a, int r) {
  double sum = 0.0;
  for (int j = 0; j < r; ++j) sum += digamma(a - 0.5 * j);
  return sum;
}
}  // namespace bayeskernel
