// Univariate draws. Parameters must be valid: shapes, rates, means and
// scales positive. Each is tested against its exact CDF.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>

#include "error.hpp"
#include "rng/stream.hpp"

namespace bayeskernel {
// floor(u n) for u in (0, 1), below n even where the product rounds up.
std::ptrdiff_t index_below(double u, std::ptrdiff_t n);

// An integer of 0..n-1.
inline std::ptrdiff_t uniform_index(Stream& stream, std::ptrdiff_t n) {
  return index_below(stream.uniform(), n);
}

// Density rate^shape / Gamma(shape) x^(shape - 1) exp(-rate x). Below shape
// 0.1 or so a draw may underflow to 0: then use log_gamma_variate.
double gamma(Stream& stream, double shape, double rate);

// The logarithm of a Gamma(shape, 1) draw, finite for every shape:
// G(a) = G(a + 1) U^(1/a) in law.
double log_gamma_variate(Stream& stream, double shape);

constexpr double kLatentFloor = 1e-12;

// The latent scale a ~ GIG(1/2, 1, r^2) of a hinge row from y2, the square of
// a standard normal, and u, uniform. No division by r, so
// r = 0 gives y2, a chi-square with one degree of freedom.
double hinge_latent(double r, double y2, double u);

double hinge_latent(Stream& stream, double r);

namespace detail {
// Beyond one standard deviation: an exponential of rate `lower`, cut at
// `upper`, accepted with probability exp(-(x - lower)^2 / 2); at least 0.65 of
// the proposals are (Robert 1995).
double truncated_normal_tail(Stream& stream, double lower, double upper);
}  // namespace detail

// Standard normal given lower <= x <= upper; either end may be infinite and
// the interval may lie arbitrarily far out. The three rejection schemes accept
// 0.3 or more of their proposals. Bounds without a number between them, NaN
// among them, would never be met.
double truncated_normal(Stream& stream, double lower, double upper);

// N(mean, sd^2) given lower <= x <= upper.
double truncated_normal(Stream& stream, double mean, double sd, double lower,
                        double upper);
}  // namespace bayeskernel
