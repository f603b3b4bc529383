// exp for vectors of any width (simd/simd.hpp), compiled for the target of the
// function that it becomes a part of.
#pragma once

#include "simd/simd.hpp"

namespace bayeskernel {
namespace simd {
// x, which lies within [-709, 700] or is NaN, becomes exp(x): within 2 units in
// the last place above -708, 0 or the smallest numbers below, NaN where x is.
//
// x = n log 2 + r, |r| <= log(2) / 2: 2^n times a polynomial in r. Adding
// 1.5 * 2^52 + 1023 rounds to an integer and leaves n + 1023, the exponent's
// bits of 2^n, in the lowest bits of the sum; at -709 they are 0, and so is
// the number that they make. log 2 is split so that n times its upper part is
// exact. The polynomial interpolates (exp(r) - 1 - r) / r^2 at the ten
// Chebyshev nodes of the interval; its error is 2e-17.
template <class Lanes>
BAYESKERNEL_INLINE inline void exp_in_range(typename Lanes::Vector& x) {
  using Vector = typename Lanes::Vector;
  using Integer = typename Lanes::Integer;
  constexpr double kRound = 6755399441055744.0 + 1023.0;
  constexpr double kUpperLog2 = 0.6931471805598903;
  constexpr double kLowerLog2 = 5.497923018708371e-14;
  const Vector shifted = x * 1.4426950408889634 + kRound;
  const Vector n = shifted - kRound;
  const Vector r = (x - n * kUpperLog2) - n * kLowerLog2;
  const Vector r2 = r * r;
  const Vector r4 = r2 * r2;
  const Vector low = (0.5000000000000001 + 0.16666666666666669 * r) +
                     r2 * (0.041666666666624164 + 0.008333333333330065 * r);
  const Vector middle =
      (0.001388888891719689 + 0.00019841269863040675 * r) +
      r2 * (2.480152132210459e-05 + 2.7557268480106926e-06 * r);
  const Vector high = 2.762007600563138e-07 + 2.5100375929185925e-08 * r;
  const Vector q = low + r4 * (middle + r4 * high);
  const Vector power = (Vector)((Integer)shifted << 52);
  x = power * (1.0 + (r + r2 * q));
}

// x becomes exp(x): exp(700) above 700.
template <class Lanes>
BAYESKERNEL_INLINE inline void replace_by_exp(typename Lanes::Vector& x) {
  using Vector = typename Lanes::Vector;
  if constexpr (Lanes::width == 2) {
    for (int k = 0; k < 2; ++k) x[k] = std::exp(x[k] < 700.0 ? x[k] : 700.0);
  } else {
    const Vector most = x * 0.0 + 700.0, least = -709.0 + x * 0.0;
    x = x > most ? most : x;
    x = x < least ? least : x;
    exp_in_range<Lanes>(x);
  }
}
}  // namespace simd
}  // namespace bayeskernel
