// Draws of the precisions of bark(): those of the kernels, of blocks of columns
// and of the noise through the coefficients, and moves of the latter two
// without them.
//
// Ouyang (2008), section 3.2.5: coefficients by eq. 3.20.
#pragma once

#include "bark/basis.hpp"
#include "bark/prior.hpp"
#include "bark/state.hpp"
#include "bark/steps.hpp"
#include "eigen.hpp"
#include "expansion/collapsed_gaussian.hpp"
#include "mcmc/metropolis.hpp"
#include "mcmc/slice.hpp"
#include "prior/variance_prior.hpp"
#include "rng/stream.hpp"
#include "simd/aligned_buffer.hpp"

namespace bayeskernel {
class PrecisionDraws {
 public:
  PrecisionDraws(BarkState& state, BarkTally& tally)
      : s_(state), tally_(tally), coefficients_(state.gaussian.stride()) {}

  // Stays here until the next one.
  const double* draw_coefficients(Stream& stream);

  // b, then every varphi and, with it, phi; b is forgotten.
  void refresh(Stream& stream);

  // tau of each block with all coefficients integrated out: where its effects
  // are near 0 the draws given these would keep it there.
  void move_blocks(Stream& stream);

  // epsilon with all coefficients: their precisions times epsilon^2 stay, so
  // that prior and Jacobian leave a factor of epsilon^2 to the power of the
  // hyperprior's shape, and its exponential.
  void move_epsilon(Stream& stream);

  void move_phi(Stream& stream);

 private:
  // Given b the precisions are independent: each stays where its draw is out
  // of bounds.
  void replace_varphi(Index unit, double value);

  // Below lies 1e-12 of the prior.
  bool allows_block(double variance) const {
    return variance > 1e-24 && s_.holds(variance);
  }

  // Of each block given its coefficients.
  void draw_blocks(Stream& stream, const double* b);

  static bool in_range(double square) {
    return square > 1e-100 && square < 1e100;
  }

  // epsilon^2 given the precisions, U independent Ga(alpha / 2, alpha
  // epsilon^2 / 2): conjugate.
  void draw_epsilon(Stream& stream);

  // A column's coefficient is split over its atoms, given the sum.
  void refresh_atoms(Stream& stream, double shape, double rate,
                     const double* b);

  // Shape (alpha + 1) / 2, which is 1 for Cauchy coefficients.
  static double draw_precision(Stream& stream, double shape, double rate);

  void refresh_phi(Stream& stream, const double* b);

  BarkState& s_;
  BarkTally& tally_;
  AlignedBuffer coefficients_;
  std::vector<double> parts_;
};
}  // namespace bayeskernel
