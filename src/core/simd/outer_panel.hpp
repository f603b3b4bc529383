// Sums of outer products of 8 numbers with a few: what the Gram of rows and the
// factors of large matrices are made of.
#pragma once

#include <cstring>

#include "simd/simd.hpp"

#if BAYESKERNEL_HAS_AVX2

namespace bayeskernel {
namespace simd {
namespace detail {
// sum_i a_i[0..8) b_i[0..C) over n rows, a and b p apart: 2 C accumulators.
template <int C>
BAYESKERNEL_AVX2 inline void outer_panel(const double* a, const double* b,
                                         const double* w, Index n, Index stride,
                                         double* out) {
  Vector4 low[C], high[C];
  for (int c = 0; c < C; ++c) low[c] = high[c] = Vector4{0.0, 0.0, 0.0, 0.0};
  for (Index i = 0; i < n; ++i, a += stride, b += stride) {
    const Vector4 a0 = w[i] * *reinterpret_cast<const Vector4*>(a);
    const Vector4 a1 = w[i] * *reinterpret_cast<const Vector4*>(a + 4);
#pragma GCC unroll 8
    for (int c = 0; c < C; ++c) {
      low[c] += a0 * b[c];
      high[c] += a1 * b[c];
    }
  }
  for (int c = 0; c < C; ++c) {
    std::memcpy(out + 8 * c, &low[c], 32);
    std::memcpy(out + 8 * c + 4, &high[c], 32);
  }
}
}  // namespace detail
}  // namespace simd
}  // namespace bayeskernel

#endif
