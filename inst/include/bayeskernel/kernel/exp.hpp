// variance exp(x) for arrays of x <= 0, exp within 2 units in the last place.
// A positive x, which is rounding of what should be 0, counts as 0; the result
// is 0 where exp(x) would be smaller than the smallest normal number, about
// x < -708, and NaN where x is. An element's value does not depend on its
// place.
#ifndef BAYESKERNEL_KERNEL_EXP_HPP
#define BAYESKERNEL_KERNEL_EXP_HPP

#include <Eigen/Core>
#include <cstdint>

#include "../math/simd.hpp"

#if BAYESKERNEL_HAS_AVX2
#include <immintrin.h>
#endif

namespace bayeskernel {
namespace detail {

// (x - |x|) / 2 is the smaller of x and 0, exactly, and keeps a NaN.
inline void narrow_exp(Eigen::Map<Eigen::Array<double, 4, 1>> x,
                       double variance) {
  x = variance * (0.5 * (x - x.abs())).exp();
}

#if BAYESKERNEL_HAS_AVX2

using simd::detail::Vector4;
using simd::detail::Vector8;

// x within [-709, 0], or NaN: min and max return their second argument when it
// is NaN.
BAYESKERNEL_WIDE inline void limit(Vector4& x) {
  x = _mm256_min_pd(_mm256_setzero_pd(), x);
  x = _mm256_max_pd(_mm256_set1_pd(-709.0), x);
}

BAYESKERNEL_WIDE inline void limit(Vector8& x) {
  const Vector8 most{}, least = most - 709.0;
  x = x > most ? most : x;
  x = x < least ? least : x;
}

// x = n log 2 + r, |r| <= log(2) / 2: 2^n times a polynomial in r. Adding
// 1.5 * 2^52 + 1023 rounds to an integer and leaves n + 1023, the exponent's
// bits of 2^n, in the lowest bits of the sum; at -709 they are 0, and so is
// the number that they make. log 2 is split so that n times its upper part is
// exact. The polynomial interpolates (exp(r) - 1 - r) / r^2 at the ten
// Chebyshev nodes of the interval; its error is 2e-17.
template <class Lanes>
BAYESKERNEL_WIDE inline void replace_by_exp(typename Lanes::Vector& x) {
  using Vector = typename Lanes::Vector;
  using Integer = typename Lanes::Integer;
  constexpr double kRound = 6755399441055744.0 + 1023.0;
  constexpr double kUpperLog2 = 0.6931471805598903;
  constexpr double kLowerLog2 = 5.497923018708371e-14;
  limit(x);
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

BAYESKERNEL_WIDE inline Vector4 wide_exp(Vector4 x) {
  replace_by_exp<simd::Lanes<4>>(x);
  return x;
}

#endif

}  // namespace detail
}  // namespace bayeskernel

#endif
