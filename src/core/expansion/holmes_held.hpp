// Latents of a probit model with the coefficients integrated out (Holmes and
// Held 2006): z_i given the others is normal, cut to the interval of its class.
#pragma once

#include "eigen.hpp"
#include "expansion/collapsed_gaussian.hpp"
#include "rng/distributions.hpp"
#include "rng/stream.hpp"
#include "simd/aligned_buffer.hpp"
#include "simd/column_products.hpp"

namespace bayeskernel {
class HolmesHeld {
 public:
  struct Conditional {
    double mean;
    double variance;
  };

  // At most `capacity` columns.
  HolmesHeld(Index rows, Index capacity)
      : n_(rows), leverage_(rows), mean_(padded_size(capacity)) {}

  // Rows of the columns K, `stride` apart, the gains W = K Sigma, and mu, given
  // the latents that `gaussian` has for a response.
  void prepare(const double* columns, Index stride,
               const CollapsedGaussian& gaussian);

  // z_i = `z` given the others, after prepare(). A leverage that rounds to 1 or
  // beyond counts as the largest below it.
  Conditional conditional(Index i, double z) const {
    constexpr double kLeast = 1e-15;
    const double fitted =
        padded_dot(rows_.data() + i * width_, mean_.data(), width_);
    const double left = std::max(1.0 - leverage_[i], kLeast);
    return {(fitted - leverage_[i] * z) / left, 1.0 / left};
  }

  // Each z_i in turn, between lower(i) and upper(i), after prepare(): 2 n m
  // multiply-adds and n truncated normals.
  template <class Lower, class Upper>
  void sweep(Stream& stream, double* z, Lower&& lower, Upper&& upper) {
    for (Index i = 0; i < n_; ++i) {
      const Conditional given = conditional(i, z[i]);
      const double draw = truncated_normal(
          stream, given.mean, std::sqrt(given.variance), lower(i), upper(i));
      padded_add(draw - z[i], gains_.data() + i * width_, mean_.data(), width_);
      z[i] = draw;
    }
  }

 private:
  Index n_;
  Index width_ = 0;             // of a row: m, padded
  AlignedBuffer rows_, gains_;  // row after row
  AlignedBuffer leverage_, mean_;
};
}  // namespace bayeskernel
