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

typedef double Vector4 __attribute__((vector_size(32), may_alias, aligned(8)));
typedef std::int64_t Integer4 __attribute__((vector_size(32), may_alias));

// x = n log 2 + r, |r| <= log(2) / 2: 2^n times a polynomial in r. Adding
// 1.5 * 2^52 + 1023 rounds to an integer and leaves n + 1023, the exponent's
// bits of 2^n, in the lowest bits of the sum; at -709 they are 0, and so is
// the number that they make. log 2 is split so that n times its upper part is
// exact. The polynomial interpolates (exp(r) - 1 - r) / r^2 at the ten
// Chebyshev nodes of the interval; its error is 2e-17.
BAYESKERNEL_AVX2 __attribute__((always_inline)) inline Vector4 wide_exp(
    Vector4 x) {
  constexpr double kRound = 6755399441055744.0 + 1023.0;
  constexpr double kUpperLog2 = 0.6931471805598903;
  constexpr double kLowerLog2 = 5.497923018708371e-14;
  // These two return their second argument when it is NaN.
  x = _mm256_min_pd(_mm256_setzero_pd(), x);
  x = _mm256_max_pd(_mm256_set1_pd(-709.0), x);
  const Vector4 shifted = x * 1.4426950408889634 + kRound;
  const Vector4 n = shifted - kRound;
  const Vector4 r = (x - n * kUpperLog2) - n * kLowerLog2;
  const Vector4 r2 = r * r;
  const Vector4 r4 = r2 * r2;
  const Vector4 low = (0.5000000000000001 + 0.16666666666666669 * r) +
                      r2 * (0.041666666666624164 + 0.008333333333330065 * r);
  const Vector4 middle =
      (0.001388888891719689 + 0.00019841269863040675 * r) +
      r2 * (2.480152132210459e-05 + 2.7557268480106926e-06 * r);
  const Vector4 high = 2.762007600563138e-07 + 2.5100375929185925e-08 * r;
  const Vector4 q = low + r4 * (middle + r4 * high);
  const Vector4 power = (Vector4)((Integer4)shifted << 52);
  return power * (1.0 + (r + r2 * q));
}

#endif

}  // namespace detail
}  // namespace bayeskernel

#endif
