// The Polya-Gamma law PG(w, c): omega with E exp(-t omega) =
// {cosh(c / 2) / cosh sqrt(c^2 / 4 + t / 2)}^w.
#pragma once

#include <algorithm>
#include <cmath>
#include <limits>

#include "error.hpp"
#include "rng/stream.hpp"

namespace bayeskernel {
struct PolyaGammaMoments {
  double mean, variance;
};

PolyaGammaMoments polya_gamma_moments(double w, double c);

namespace detail {
constexpr double kPi = 3.14159265358979323846;

// PG(1, c) by the alternating series of Polson, Scott and Windle (2013), after
// Devroye (2009): 4 omega has a proposal of two pieces, an inverse Gaussian law
// below kCut and an exponential above; fewer than one in 1000 is refused.
class PolyaGammaOne {
 public:
  explicit PolyaGammaOne(double c);

  double operator()(Stream& stream) const;

 private:
  static constexpr double kCut = 0.64;

  static double coefficient(int n, double x);

  // Mean 1 / z, shape 1, below kCut.
  double inverse_gaussian(Stream& stream) const;

  double z_, rate_, probability_above_;
};

// Gamma(shape, 1) for many draws of one shape: Marsaglia & Tsang (2000, ACM
// Trans. Math. Softw. 26, 363-372), at a seventh of the time of Boost's, which
// would hold the sampler back.
class RepeatedGamma {
 public:
  explicit RepeatedGamma(double shape)
      : inverse_(shape < 1.0 ? 1.0 / shape : 0.0),
        d_((shape < 1.0 ? shape + 1.0 : shape) - 1.0 / 3.0),
        c_(1.0 / std::sqrt(9.0 * d_)) {}

  double operator()(Stream& stream) const;

 private:
  double cube(Stream& stream) const;

  double inverse_, d_, c_;
};

// With so many terms the Laplace transform is within 2e-5 for w >= 0.02 and
// |c| <= 20, within 1e-6 for w >= 1 and |c| <= 5.
inline int polya_gamma_terms(double w) {
  return w >= 1.0 ? 8 : w >= 0.3 ? 16 : w >= 0.1 ? 32 : w >= 0.05 ? 64 : 128;
}

// The first terms of the law's infinite sum of gamma variables, and for the
// others one gamma variable with their mean and variance.
double polya_gamma_sum(Stream& stream, double w, double c, int terms);
}  // namespace detail

// PG(w, c), w > 0: exact draws added up for small whole w, else a sum at a cost
// that does not depend on w.
double polya_gamma(Stream& stream, double w, double c);
}  // namespace bayeskernel
