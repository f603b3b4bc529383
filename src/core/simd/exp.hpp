// variance exp(x) for arrays of x <= 0, exp within 2 units in the last place.
// A positive x, which is rounding of what should be 0, counts as 0; the result
// is 0 where exp(x) would be smaller than the smallest normal number, about
// x < -708, and NaN where x is. An element's value does not depend on its
// place.
#pragma once

#include "simd/lanes_exp.hpp"

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

// x becomes exp of the smaller of x and 0.
template <class Lanes>
BAYESKERNEL_WIDE inline void replace_by_exp(typename Lanes::Vector& x) {
  limit(x);
  simd::exp_in_range<Lanes>(x);
}

BAYESKERNEL_WIDE inline Vector4 wide_exp(Vector4 x) {
  replace_by_exp<simd::Lanes<4>>(x);
  return x;
}

#endif
}  // namespace detail
}  // namespace bayeskernel
