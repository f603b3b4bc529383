#include "rng/distributions.hpp"

#include <algorithm>
#include <boost/random/gamma_distribution.hpp>
#include <cmath>
#include <cstddef>

#include "error.hpp"
#include "rng/stream.hpp"

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

}  // namespace bayeskernel
