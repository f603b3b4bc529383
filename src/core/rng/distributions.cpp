#include "rng/distributions.hpp"

#include <boost/random/gamma_distribution.hpp>

namespace bayeskernel {
std::ptrdiff_t index_below(double u, std::ptrdiff_t n) {
  const double product = u * static_cast<double>(n);
  return std::min(static_cast<std::ptrdiff_t>(product), n - 1);
}

double gamma(Stream& stream, double shape, double rate) {
  return boost::random::gamma_distribution<double>(shape)(stream) / rate;
}

double log_gamma_variate(Stream& stream, double shape) {
  if (shape >= 1.0) return std::log(gamma(stream, shape, 1.0));
  const double power = stream.exponential() / shape;
  return std::log(gamma(stream, shape + 1.0, 1.0)) - power;
}

double hinge_latent(double r, double y2, double u) {
  const double larger = r + 0.5 * (y2 + std::sqrt(y2 * (4.0 * r + y2)));
  const double draw = u * (larger + r) <= larger ? larger : r * (r / larger);
  return std::max(draw, kLatentFloor);
}

double hinge_latent(Stream& stream, double r) {
  const double z = stream.normal();
  return hinge_latent(r, z * z, stream.uniform());
}

namespace detail {
double truncated_normal_tail(Stream& stream, double lower, double upper) {
  const double cut = std::expm1(-lower * (upper - lower));
  for (;;) {
    const double step = -std::log1p(stream.uniform() * cut) / lower;
    if (2.0 * stream.exponential() >= step * step) {
      return std::min(lower + step, upper);
    }
  }
}
}  // namespace detail

double truncated_normal(Stream& stream, double mean, double sd, double lower,
                        double upper) {
  const double z =
      truncated_normal(stream, (lower - mean) / sd, (upper - mean) / sd);
  return std::min(std::max(mean + sd * z, lower), upper);
}

double truncated_normal(Stream& stream, double lower, double upper) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  if (!(lower <= upper && lower < kInfinity && upper > -kInfinity)) {
    throw NumericError("a latent variable has no finite interval");
  }
  if (upper < 0.0) return -truncated_normal(stream, -upper, -lower);
  if (lower >= 1.0) {
    return detail::truncated_normal_tail(stream, lower, upper);
  }
  if (upper - lower > 1.5) {
    for (;;) {
      const double z = stream.normal();
      const double x = lower >= 0.0 ? std::abs(z) : z;
      if (x >= lower && x <= upper) return x;
    }
  }
  const double nearest = std::max(lower, 0.0);
  for (;;) {
    const double x = lower + (upper - lower) * stream.uniform();
    if (2.0 * stream.exponential() >= x * x - nearest * nearest) {
      return std::min(x, upper);
    }
  }
}
}  // namespace bayeskernel
