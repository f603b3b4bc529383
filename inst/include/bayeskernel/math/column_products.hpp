// Products of a tall matrix K (n x m, column after column) with itself and
// with vectors. Columns are `stride` apart, a multiple of 4, and filled up
// with zeros; vectors of length n are filled up likewise. Wide where the
// machine is (math/simd.hpp).
#ifndef BAYESKERNEL_MATH_COLUMN_PRODUCTS_HPP
#define BAYESKERNEL_MATH_COLUMN_PRODUCTS_HPP

#include <Eigen/Core>
#include <algorithm>

#include "simd.hpp"

#if BAYESKERNEL_HAS_AVX2
#include <immintrin.h>
#endif

namespace bayeskernel {

constexpr Eigen::Index kLanes = 4;

inline Eigen::Index padded_size(Eigen::Index n) {
  return (n + kLanes - 1) / kLanes * kLanes;
}

#if BAYESKERNEL_HAS_AVX2

namespace simd {
namespace detail {

using Eigen::Index;

BAYESKERNEL_AVX2 __attribute__((always_inline)) inline Vector4 load4(
    const double* x) {
  return *reinterpret_cast<const Vector4*>(x);
}

// The sums over the lanes of four vectors.
BAYESKERNEL_AVX2 __attribute__((always_inline)) inline Vector4 lane_sums(
    Vector4 a, Vector4 b, Vector4 c, Vector4 d) {
  const __m256d ab = _mm256_hadd_pd(a, b), cd = _mm256_hadd_pd(c, d);
  return _mm256_add_pd(_mm256_permute2f128_pd(ab, cd, 0x20),
                       _mm256_permute2f128_pd(ab, cd, 0x31));
}

// out[r + 4 c] = a_r'b_c for R columns of a and C of b: R C accumulators.
template <int R, int C>
BAYESKERNEL_AVX2 inline void dot_block(const double* a, const double* b,
                                       Index stride, double* out) {
  Vector4 sum[4 * C];
  for (int k = 0; k < 4 * C; ++k) sum[k] = Vector4{0.0, 0.0, 0.0, 0.0};
  for (Index i = 0; i < stride; i += kLanes) {
    Vector4 right[C];
#pragma GCC unroll 4
    for (int c = 0; c < C; ++c) right[c] = load4(b + c * stride + i);
#pragma GCC unroll 4
    for (int r = 0; r < R; ++r) {
      const Vector4 left = load4(a + r * stride + i);
#pragma GCC unroll 4
      for (int c = 0; c < C; ++c) sum[4 * c + r] += left * right[c];
    }
  }
#pragma GCC unroll 4
  for (int c = 0; c < C; ++c) {
    const Vector4 four =
        lane_sums(sum[4 * c], sum[4 * c + 1], sum[4 * c + 2], sum[4 * c + 3]);
    *reinterpret_cast<Vector4*>(out + 4 * c) = four;
  }
}

template <int R>
BAYESKERNEL_AVX2 inline void dot_blocks(const double* a, const double* b,
                                        Index stride, Index columns,
                                        double* out) {
  switch (columns) {
    case 1:
      dot_block<R, 1>(a, b, stride, out);
      break;
    case 2:
      dot_block<R, 2>(a, b, stride, out);
      break;
    default:
      dot_block<R, 3>(a, b, stride, out);
      break;
  }
}

BAYESKERNEL_AVX2 inline void dot_blocks(const double* a, Index rows,
                                        const double* b, Index columns,
                                        Index stride, double* out) {
  switch (rows) {
    case 1:
      dot_blocks<1>(a, b, stride, columns, out);
      break;
    case 2:
      dot_blocks<2>(a, b, stride, columns, out);
      break;
    case 3:
      dot_blocks<3>(a, b, stride, columns, out);
      break;
    default:
      dot_blocks<4>(a, b, stride, columns, out);
      break;
  }
}

}  // namespace detail

BAYESKERNEL_AVX2 inline void column_gram(const double* k, Eigen::Index stride,
                                         Eigen::Index m, double* gram,
                                         Eigen::Index gram_stride) {
  double block[4 * 3];
  for (Eigen::Index c = 0; c < m; c += 3) {
    const Eigen::Index columns = std::min<Eigen::Index>(3, m - c);
    for (Eigen::Index r = c; r < m; r += 4) {
      const Eigen::Index rows = std::min<Eigen::Index>(4, m - r);
      detail::dot_blocks(k + r * stride, rows, k + c * stride, columns, stride,
                         block);
      for (Eigen::Index j = 0; j < columns; ++j) {
        for (Eigen::Index i = 0; i < rows; ++i) {
          gram[(c + j) * gram_stride + r + i] = block[4 * j + i];
          gram[(r + i) * gram_stride + c + j] = block[4 * j + i];
        }
      }
    }
  }
}

BAYESKERNEL_AVX2 inline void column_dots(const double* k, Eigen::Index stride,
                                         Eigen::Index m, const double* v,
                                         double* out) {
  double block[4];
  for (Eigen::Index c = 0; c < m; c += 4) {
    const Eigen::Index columns = std::min<Eigen::Index>(4, m - c);
    detail::dot_blocks(k + c * stride, columns, v, 1, stride, block);
    std::copy_n(block, columns, out + c);
  }
}

BAYESKERNEL_AVX2 inline void subtract_columns(const double* k,
                                              Eigen::Index stride,
                                              Eigen::Index m, const double* b,
                                              double* out) {
  using detail::load4;
  Eigen::Index c = 0;
  for (; c + 4 <= m; c += 4, k += 4 * stride) {
    for (Eigen::Index i = 0; i < stride; i += kLanes) {
      *reinterpret_cast<detail::Vector4*>(out + i) =
          load4(out + i) -
          ((b[c] * load4(k + i) + b[c + 1] * load4(k + stride + i)) +
           (b[c + 2] * load4(k + 2 * stride + i) +
            b[c + 3] * load4(k + 3 * stride + i)));
    }
  }
  for (; c < m; ++c, k += stride) {
    for (Eigen::Index i = 0; i < stride; i += kLanes) {
      *reinterpret_cast<detail::Vector4*>(out + i) =
          load4(out + i) - b[c] * load4(k + i);
    }
  }
}

namespace detail {

// Eight numbers of S x for R vectors x that are `width` apart.
template <int R>
BAYESKERNEL_AVX2 inline void symmetric_panel(const double* s, Index stride,
                                             Index m, const double* x,
                                             Index width, bool both,
                                             double* out) {
  Vector4 low[R], high[R];
  for (int r = 0; r < R; ++r) low[r] = high[r] = Vector4{0.0, 0.0, 0.0, 0.0};
  for (Index c = 0; c < m; ++c, s += stride) {
    const Vector4 s0 = load4(s), s1 = load4(s + 4);
#pragma GCC unroll 4
    for (int r = 0; r < R; ++r) {
      low[r] += s0 * x[r * width + c];
      high[r] += s1 * x[r * width + c];
    }
  }
  for (int r = 0; r < R; ++r) {
    *reinterpret_cast<Vector4*>(out + r * width) = low[r];
    if (both) *reinterpret_cast<Vector4*>(out + r * width + 4) = high[r];
  }
}

}  // namespace detail

BAYESKERNEL_AVX2 inline void symmetric_rows(const double* s,
                                            Eigen::Index stride, Eigen::Index m,
                                            const double* x, Eigen::Index width,
                                            Eigen::Index n, double* out) {
  Eigen::Index i = 0;
  for (; i + 4 <= n; i += 4) {
    for (Eigen::Index j = 0; j < width; j += 8) {
      detail::symmetric_panel<4>(s + j, stride, m, x + i * width, width,
                                 j + 4 < width, out + i * width + j);
    }
  }
  for (; i < n; ++i) {
    for (Eigen::Index j = 0; j < width; j += 8) {
      detail::symmetric_panel<1>(s + j, stride, m, x + i * width, width,
                                 j + 4 < width, out + i * width + j);
    }
  }
}

BAYESKERNEL_AVX2 inline double dot(const double* a, const double* b,
                                   Eigen::Index n) {
  detail::Vector4 sum{0.0, 0.0, 0.0, 0.0};
  for (Eigen::Index i = 0; i < n; i += kLanes) {
    sum += detail::load4(a + i) * detail::load4(b + i);
  }
  return (sum[0] + sum[1]) + (sum[2] + sum[3]);
}

BAYESKERNEL_AVX2 inline void add_multiple(double weight, const double* x,
                                          double* to, Eigen::Index n) {
  for (Eigen::Index i = 0; i < n; i += kLanes) {
    *reinterpret_cast<detail::Vector4*>(to + i) =
        detail::load4(to + i) + weight * detail::load4(x + i);
  }
}

}  // namespace simd

#endif

// gram (m x m, both triangles) = K'K. n m^2 / 2 multiply-adds.
inline void column_gram(const double* k, Eigen::Index stride, Eigen::Index m,
                        double* gram, Eigen::Index gram_stride) {
#if BAYESKERNEL_HAS_AVX2
  if (simd::enabled()) {
    simd::column_gram(k, stride, m, gram, gram_stride);
    return;
  }
#endif
  const Eigen::Map<const Eigen::MatrixXd> columns(k, stride, m);
  Eigen::Map<Eigen::MatrixXd, 0, Eigen::OuterStride<>> to(
      gram, m, m, Eigen::OuterStride<>(gram_stride));
  to.noalias() = columns.transpose() * columns;
}

// out (m) = K'v. n m multiply-adds.
inline void column_dots(const double* k, Eigen::Index stride, Eigen::Index m,
                        const double* v, double* out) {
#if BAYESKERNEL_HAS_AVX2
  if (simd::enabled()) {
    simd::column_dots(k, stride, m, v, out);
    return;
  }
#endif
  Eigen::Map<Eigen::VectorXd>(out, m).noalias() =
      Eigen::Map<const Eigen::MatrixXd>(k, stride, m).transpose() *
      Eigen::Map<const Eigen::VectorXd>(v, stride);
}

// out (n) -= K b. n m multiply-adds.
inline void subtract_columns(const double* k, Eigen::Index stride,
                             Eigen::Index m, const double* b, double* out) {
#if BAYESKERNEL_HAS_AVX2
  if (simd::enabled()) {
    simd::subtract_columns(k, stride, m, b, out);
    return;
  }
#endif
  Eigen::Map<Eigen::VectorXd>(out, stride).noalias() -=
      Eigen::Map<const Eigen::MatrixXd>(k, stride, m) *
      Eigen::Map<const Eigen::VectorXd>(b, m);
}

// out_i = S x_i for n vectors of length m, `width` apart (m filled up with
// zeros to a multiple of 4); S m x m, symmetric, columns `stride` apart, a
// multiple of 8. What out holds beyond m means nothing. n m^2 multiply-adds.
inline void symmetric_rows(const double* s, Eigen::Index stride, Eigen::Index m,
                           const double* x, Eigen::Index width, Eigen::Index n,
                           double* out) {
#if BAYESKERNEL_HAS_AVX2
  if (simd::enabled()) {
    simd::symmetric_rows(s, stride, m, x, width, n, out);
    return;
  }
#endif
  using Eigen::Map;
  using Eigen::MatrixXd;
  const Map<const MatrixXd, 0, Eigen::OuterStride<>> square(
      s, m, m, Eigen::OuterStride<>(stride));
  Map<MatrixXd> to(out, width, n);
  to.topRows(m).noalias() =
      square * Map<const MatrixXd>(x, width, n).topRows(m);
}

// Of two vectors of padded length n.
inline double padded_dot(const double* a, const double* b, Eigen::Index n) {
#if BAYESKERNEL_HAS_AVX2
  if (simd::enabled()) return simd::dot(a, b, n);
#endif
  using Vector = Eigen::Map<const Eigen::VectorXd>;
  return Vector(a, n).dot(Vector(b, n));
}

// to += weight x, of padded length n.
inline void padded_add(double weight, const double* x, double* to,
                       Eigen::Index n) {
#if BAYESKERNEL_HAS_AVX2
  if (simd::enabled()) {
    simd::add_multiple(weight, x, to, n);
    return;
  }
#endif
  Eigen::Map<Eigen::VectorXd>(to, n) +=
      weight * Eigen::Map<const Eigen::VectorXd>(x, n);
}

}  // namespace bayeskernel

#endif
