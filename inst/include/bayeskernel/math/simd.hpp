// Wide arithmetic, and the weighted Gram by it: compiled for AVX2 with a
// function attribute and chosen once by the CPU's features, so that a build
// with portable flags uses what the machine has. Eigen at those flags is SSE2.
#ifndef BAYESKERNEL_MATH_SIMD_HPP
#define BAYESKERNEL_MATH_SIMD_HPP

#include <Eigen/Core>
#include <cstdlib>
#include <cstring>

#if defined(__x86_64__) && (defined(__GNUC__) || defined(__clang__))
#define BAYESKERNEL_HAS_AVX2 1
#define BAYESKERNEL_AVX2 __attribute__((target("avx2,fma")))
#else
#define BAYESKERNEL_HAS_AVX2 0
#endif

namespace bayeskernel {
namespace simd {

#if BAYESKERNEL_HAS_AVX2

inline bool has_avx2() {
  return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
}

namespace detail {

typedef double Vector4 __attribute__((vector_size(32), may_alias, aligned(8)));

// sum_i a_i[0..8) b_i[0..C) over n rows, a and b p apart: 2 C accumulators.
template <int C>
BAYESKERNEL_AVX2 inline void outer_panel(const double* a, const double* b,
                                         const double* w, Eigen::Index n,
                                         Eigen::Index stride, double* out) {
  Vector4 low[C], high[C];
  for (int c = 0; c < C; ++c) low[c] = high[c] = Vector4{0.0, 0.0, 0.0, 0.0};
  for (Eigen::Index i = 0; i < n; ++i, a += stride, b += stride) {
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

// Lower triangle of gram += X diag(w) X', X p x n with columns p apart; reads
// up to 7 numbers past the end of X. n p^2 multiply-adds.
BAYESKERNEL_AVX2 inline void weighted_gram(const double* x, const double* w,
                                           Eigen::Index p, Eigen::Index n,
                                           double* gram,
                                           Eigen::Index gram_stride) {
  double panel[8 * 6];
  for (Eigen::Index c = 0; c < p; c += 6) {
    const Eigen::Index columns = p - c < 6 ? p - c : 6;
    for (Eigen::Index r = c / 8 * 8; r < p; r += 8) {
      switch (columns) {
        case 1: detail::outer_panel<1>(x + r, x + c, w, n, p, panel); break;
        case 2: detail::outer_panel<2>(x + r, x + c, w, n, p, panel); break;
        case 3: detail::outer_panel<3>(x + r, x + c, w, n, p, panel); break;
        case 4: detail::outer_panel<4>(x + r, x + c, w, n, p, panel); break;
        case 5: detail::outer_panel<5>(x + r, x + c, w, n, p, panel); break;
        default: detail::outer_panel<6>(x + r, x + c, w, n, p, panel); break;
      }
      const Eigen::Index rows = p - r < 8 ? p - r : 8;
      for (Eigen::Index k = 0; k < columns; ++k) {
        for (Eigen::Index j = 0; j < rows; ++j) {
          if (r + j < c + k) continue;
          gram[(c + k) * gram_stride + r + j] += panel[8 * k + j];
        }
      }
    }
  }
}

#else

inline bool has_avx2() { return false; }
inline void weighted_gram(const double*, const double*, Eigen::Index,
                          Eigen::Index, double*, Eigen::Index) {}

#endif

// Whether to use the wide versions; BAYESKERNEL_SIMD=off forces the others.
inline bool enabled() {
  static const bool yes = [] {
    const char* wish = std::getenv("BAYESKERNEL_SIMD");
    return has_avx2() && !(wish != nullptr && std::strcmp(wish, "off") == 0);
  }();
  return yes;
}

}  // namespace simd
}  // namespace bayeskernel

#endif
