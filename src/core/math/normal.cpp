#include "math/normal.hpp"

#include <boost/math/special_functions/erf.hpp>

#include "math/boost_policy.hpp"

namespace bayeskernel {
namespace detail {
double mills_ratio_tail(double t) {
  double denominator = t;
  for (int k = 40; k >= 1; --k) denominator = t + k / denominator;
  return 1.0 / denominator;
}
}  // namespace detail

void normal_cdf(const ArrayXd& x, ArrayXd& z, ArrayXd& out) {
  z = x.abs();
  out = ((((((3.52624965998911e-02 * z + 0.700383064443688) * z +
             6.37396220353165) *
                z +
            33.912866078383) *
               z +
           112.079291497871) *
              z +
          221.213596169931) *
             z +
         220.206867912376) *
        (-0.5 * z.square()).exp() /
        (((((((8.83883476483184e-02 * z + 1.75566716318264) * z +
              16.064177579207) *
                 z +
             86.7807322029461) *
                z +
            296.564248779674) *
               z +
           637.333633378831) *
              z +
          793.826512519948) *
             z +
         440.413735824752);
  for (Index i = 0; i < x.size(); ++i) {
    if (z[i] >= 7.0) {
      out[i] = normal_cdf(x[i]);
    } else if (x[i] > 0.0) {
      out[i] = 1.0 - out[i];
    }
  }
}

double log_normal_cdf(double x) {
  if (x > 0.0) return std::log1p(-normal_cdf(-x));
  if (x > -5.0) return std::log(normal_cdf(x));
  return std::log(detail::mills_ratio_tail(-x)) - 0.5 * x * x -
         detail::kLogSqrtTwoPi;
}

double log_normal_interval(double a, double b) {
  if (a > 0.0) return log_normal_interval(-b, -a);
  const double upper = log_normal_cdf(b);
  if (std::isinf(a)) return upper;
  return upper + std::log1p(-std::exp(log_normal_cdf(a) - upper));
}

double mills_ratio(double z) {
  if (z > 1e12) return 1.0 / z;
  detail::replace_by_mills(z);
  return z;
}

BelowNormal below_normal(double x) {
  BelowNormal out;
  if (x >= 0.0) {
    const double density = normal_density(x);
    const double tail = density * mills_ratio(x);
    out.log_cdf = std::log1p(-tail);
    out.slope = density / (1.0 - tail);
  } else {
    const double mills = mills_ratio(-x);
    out.log_cdf = std::log(mills) - 0.5 * x * x - detail::kLogSqrtTwoPi;
    out.slope = 1.0 / mills;
  }
  if (x > -30.0) {
    out.excess = out.slope + x;
    out.curvature = out.slope * out.excess;
    out.variance = 1.0 - out.curvature;
  } else {
    const double u = 1.0 / (x * x);
    out.excess = -(1.0 + u * (-2.0 + u * (10.0 + u * (-74.0 + u * 706.0)))) / x;
    out.variance =
        u * (1.0 + u * (-6.0 + u * (50.0 + u * (-518.0 + u * 6354.0))));
    out.curvature = 1.0 - out.variance;
  }
  return out;
}

double normal_quantile(double p) {
  return -detail::kSqrtTwo *
         boost::math::erfc_inv(2.0 * p, detail::QuietPolicy());
}
}  // namespace bayeskernel
