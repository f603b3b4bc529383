// Wide versions of the two loops that hold the hinge engine back: the weighted
// Gram and the squared norms |U x_i|^2. Compiled for AVX2 with a function
// attribute and chosen once by the CPU's features, so that a build with
// portable flags uses what the machine has. Eigen at those flags is SSE2.
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

// Rows of a matrix are padded to this many numbers.
constexpr Eigen::Index kPad = 8;

inline Eigen::Index padded(Eigen::Index p) {
  return (p + kPad - 1) / kPad * kPad;
}

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

// Squared norms of U x_i for R = 4 rows at once.
BAYESKERNEL_AVX2 inline void norm_rows(const double* u, Eigen::Index rows,
                                       Eigen::Index p, const double* x,
                                       double* s) {
  Vector4 total[4];
  for (int i = 0; i < 4; ++i) total[i] = Vector4{0.0, 0.0, 0.0, 0.0};
  for (Eigen::Index r = 0; r < rows; r += 8) {
    Vector4 low[4], high[4];
    for (int i = 0; i < 4; ++i) low[i] = high[i] = Vector4{0.0, 0.0, 0.0, 0.0};
    // U is lower triangular: rows r .. r + 7 end at column r + 7.
    const Eigen::Index end = r + 8 < p ? r + 8 : p;
    for (Eigen::Index c = 0; c < end; ++c) {
      const double* column = u + c * rows + r;
      const Vector4 u0 = *reinterpret_cast<const Vector4*>(column);
      const Vector4 u1 = *reinterpret_cast<const Vector4*>(column + 4);
#pragma GCC unroll 4
      for (int i = 0; i < 4; ++i) {
        low[i] += u0 * x[i * p + c];
        high[i] += u1 * x[i * p + c];
      }
    }
    for (int i = 0; i < 4; ++i) {
      total[i] += low[i] * low[i] + high[i] * high[i];
    }
  }
  for (int i = 0; i < 4; ++i) {
    s[i] += (total[i][0] + total[i][1]) + (total[i][2] + total[i][3]);
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

// s_i += |U x_i|^2 for U lower triangular, stored with padded(p) rows, zeros
// below row p. n p^2 / 2 multiply-adds.
BAYESKERNEL_AVX2 inline void squared_norms(const double* u, Eigen::Index p,
                                           const double* x, Eigen::Index n,
                                           double* s) {
  const Eigen::Index rows = padded(p);
  Eigen::Index i = 0;
  for (; i + 4 <= n; i += 4) detail::norm_rows(u, rows, p, x + i * p, s + i);
  for (; i < n; ++i) {
    double sum = 0.0;
    for (Eigen::Index r = 0; r < p; ++r) {
      double value = 0.0;
      for (Eigen::Index c = 0; c <= r; ++c) {
        value += u[c * rows + r] * x[i * p + c];
      }
      sum += value * value;
    }
    s[i] += sum;
  }
}

#else

inline bool has_avx2() { return false; }
inline void weighted_gram(const double*, const double*, Eigen::Index,
                          Eigen::Index, double*, Eigen::Index) {}
inline void squared_norms(const double*, Eigen::Index, const double*,
                          Eigen::Index, double*) {}

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
