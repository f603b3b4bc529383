#include "simd/column_products.hpp"

#if BAYESKERNEL_HAS_AVX2
#include <immintrin.h>
#endif

namespace bayeskernel {
#if BAYESKERNEL_HAS_AVX2

namespace simd {
namespace detail {
// The sums over the lanes of four vectors.
BAYESKERNEL_WIDE inline Vector4 lane_sums(const Vector4& a, const Vector4& b,
                                          const Vector4& c, const Vector4& d) {
  const __m256d ab = _mm256_hadd_pd(a, b), cd = _mm256_hadd_pd(c, d);
  return _mm256_add_pd(_mm256_permute2f128_pd(ab, cd, 0x20),
                       _mm256_permute2f128_pd(ab, cd, 0x31));
}

BAYESKERNEL_WIDE inline Vector4 half_sum(const Vector8& x) {
  return Vector4{x[0], x[1], x[2], x[3]} + Vector4{x[4], x[5], x[6], x[7]};
}

BAYESKERNEL_WIDE inline Vector4 lane_sums(const Vector8& a, const Vector8& b,
                                          const Vector8& c, const Vector8& d) {
  return lane_sums(half_sum(a), half_sum(b), half_sum(c), half_sum(d));
}

// The last four rows, where the columns are no multiple of a vector.
BAYESKERNEL_WIDE inline void add_half(Vector8& sum, const Vector4& x) {
  sum += Vector8{x[0], x[1], x[2], x[3], 0.0, 0.0, 0.0, 0.0};
}
BAYESKERNEL_WIDE inline void add_half(Vector4&, const Vector4&) {}

// out[r + 4 c] = a_r'b_c for R columns of a and C of b. R C sums for each of U
// vectors of rows at a time, so that enough of them are under way.
template <int R, int C, int U, class Lanes>
BAYESKERNEL_WIDE inline void dot_block(Lanes, const double* a, const double* b,
                                       Index stride, double* out) {
  using Half = simd::Lanes<4>;
  using Vector = typename Lanes::Vector;
  constexpr int kSet = 4 * C;
  Vector sum[U * kSet];
#pragma GCC unroll 32
  for (int k = 0; k < U * kSet; ++k) sum[k] = Vector{};
  const auto add = [&](Vector* to, Index i) BAYESKERNEL_WIDE {
    Vector right[C];
#pragma GCC unroll 6
    for (int c = 0; c < C; ++c) right[c] = view<Lanes>(b + c * stride + i);
#pragma GCC unroll 4
    for (int r = 0; r < R; ++r) {
      const Vector left = view<Lanes>(a + r * stride + i);
#pragma GCC unroll 6
      for (int c = 0; c < C; ++c) to[4 * c + r] += left * right[c];
    }
  };
  Index i = 0;
  for (; i + U * Lanes::width <= stride; i += U * Lanes::width) {
#pragma GCC unroll 4
    for (int u = 0; u < U; ++u) add(sum + u * kSet, i + u * Lanes::width);
  }
  if (U > 1) {
    for (; i + Lanes::width <= stride; i += Lanes::width) add(sum, i);
#pragma GCC unroll 32
    for (int k = kSet; k < U * kSet; ++k) sum[k % kSet] += sum[k];
  }
  if (Lanes::width > kLanes && i < stride) {
#pragma GCC unroll 4
    for (int r = 0; r < R; ++r) {
      const Vector4 left = view<Half>(a + r * stride + i);
#pragma GCC unroll 6
      for (int c = 0; c < C; ++c) {
        add_half(sum[4 * c + r], left * view<Half>(b + c * stride + i));
      }
    }
  }
#pragma GCC unroll 6
  for (int c = 0; c < C; ++c) {
    view<Half>(out + 4 * c) =
        lane_sums(sum[4 * c], sum[4 * c + 1], sum[4 * c + 2], sum[4 * c + 3]);
  }
}

// The same for `rows` <= R columns of a and `columns` <= C of b.
template <int R, int C, int U, class Lanes>
BAYESKERNEL_WIDE inline void dot_block(Lanes lanes, const double* a, Index rows,
                                       const double* b, Index columns,
                                       Index stride, double* out) {
  if constexpr (C > 1) {
    if (columns < C) {
      dot_block<R, C - 1, U>(lanes, a, rows, b, columns, stride, out);
      return;
    }
  }
  if constexpr (R > 1) {
    if (rows < R) {
      dot_block<R - 1, C, U>(lanes, a, rows, b, C, stride, out);
      return;
    }
  }
  dot_block<R, C, U>(lanes, a, b, stride, out);
}

template <class Lanes>
BAYESKERNEL_WIDE inline void column_gram(Lanes lanes, const double* k,
                                         Index stride, Index m, double* gram,
                                         Index gram_stride) {
  // AVX-512 has twice as many registers.
  constexpr int kColumns = Lanes::width == 8 ? 4 : 3;
  double block[4 * kColumns];
  for (Index c = 0; c < m; c += kColumns) {
    const Index columns = std::min<Index>(kColumns, m - c);
    for (Index r = c; r < m; r += 4) {
      const Index rows = std::min<Index>(4, m - r);
      dot_block<4, kColumns, 1>(lanes, k + r * stride, rows, k + c * stride,
                                columns, stride, block);
      for (Index j = 0; j < columns; ++j) {
        for (Index i = 0; i < rows; ++i) {
          gram[(c + j) * gram_stride + r + i] = block[4 * j + i];
          gram[(r + i) * gram_stride + c + j] = block[4 * j + i];
        }
      }
    }
  }
}

template <class Lanes>
BAYESKERNEL_WIDE inline void column_dots(Lanes lanes, const double* k,
                                         Index stride, Index m, const double* v,
                                         double* out) {
  Index c = 0;
  for (; c + 4 <= m; c += 4) {
    dot_block<4, 1, 2>(lanes, k + c * stride, v, stride, out + c);
  }
  if (c == m) return;
  double block[4];
  dot_block<3, 1, 4>(lanes, k + c * stride, m - c, v, 1, stride, block);
  std::copy_n(block, m - c, out + c);
}

template <class Lanes>
BAYESKERNEL_WIDE inline void subtract_columns(Lanes lanes, const double* k,
                                              Index stride, Index m,
                                              const double* b, double* out) {
  Index c = 0;
  for (; c + 4 <= m; c += 4, k += 4 * stride) {
    for_rows(lanes, 0, stride, [=](auto width, Index i) BAYESKERNEL_INLINE {
      using Width = decltype(width);
      view<Width>(out + i) -=
          (b[c] * view<Width>(k + i) + b[c + 1] * view<Width>(k + stride + i)) +
          (b[c + 2] * view<Width>(k + 2 * stride + i) +
           b[c + 3] * view<Width>(k + 3 * stride + i));
    });
  }
  for (; c < m; ++c, k += stride) {
    for_rows(lanes, 0, stride, [=](auto width, Index i) BAYESKERNEL_INLINE {
      using Width = decltype(width);
      view<Width>(out + i) -= b[c] * view<Width>(k + i);
    });
  }
}

template <class Lanes>
BAYESKERNEL_WIDE inline void add_multiple(Lanes lanes, double weight,
                                          const double* x, double* to,
                                          Index n) {
  for_rows(lanes, 0, n, [=](auto width, Index i) BAYESKERNEL_INLINE {
    view<decltype(width)>(to + i) += weight * view<decltype(width)>(x + i);
  });
}

template <class Lanes>
BAYESKERNEL_WIDE inline double dot(Lanes lanes, const double* a,
                                   const double* b, Index n) {
  double block[4];
  dot_block<1, 1, 4>(lanes, a, b, n, block);
  return block[0];
}

// Eight numbers of S x for R vectors x that are `width` apart.
template <int R>
BAYESKERNEL_AVX2 inline void symmetric_panel(const double* s, Index stride,
                                             Index m, const double* x,
                                             Index width, bool both,
                                             double* out) {
  Vector4 low[R], high[R];
  for (int r = 0; r < R; ++r) low[r] = high[r] = Vector4{0.0, 0.0, 0.0, 0.0};
  for (Index c = 0; c < m; ++c, s += stride) {
    const Vector4 s0 = view<Lanes<4>>(s), s1 = view<Lanes<4>>(s + 4);
#pragma GCC unroll 4
    for (int r = 0; r < R; ++r) {
      low[r] += s0 * x[r * width + c];
      high[r] += s1 * x[r * width + c];
    }
  }
  for (int r = 0; r < R; ++r) {
    view<Lanes<4>>(out + r * width) = low[r];
    if (both) view<Lanes<4>>(out + r * width + 4) = high[r];
  }
}
}  // namespace detail

BAYESKERNEL_AVX2 inline void symmetric_rows(const double* s, Index stride,
                                            Index m, const double* x,
                                            Index width, Index n, double* out) {
  Index i = 0;
  for (; i + 4 <= n; i += 4) {
    for (Index j = 0; j < width; j += 8) {
      detail::symmetric_panel<4>(s + j, stride, m, x + i * width, width,
                                 j + 4 < width, out + i * width + j);
    }
  }
  for (; i < n; ++i) {
    for (Index j = 0; j < width; j += 8) {
      detail::symmetric_panel<1>(s + j, stride, m, x + i * width, width,
                                 j + 4 < width, out + i * width + j);
    }
  }
}
}  // namespace simd

#endif

void column_gram(const double* k, Index stride, Index m, double* gram,
                 Index gram_stride, [[maybe_unused]] simd::Level level) {
#if BAYESKERNEL_HAS_AVX2
  if (level != simd::Level::narrow) {
    simd::run(level, [=](auto lanes) BAYESKERNEL_WIDE {
      simd::detail::column_gram(lanes, k, stride, m, gram, gram_stride);
    });
    return;
  }
#endif
  const MatrixMap columns(k, stride, m);
  Eigen::Map<MatrixXd, 0, Eigen::OuterStride<>> to(
      gram, m, m, Eigen::OuterStride<>(gram_stride));
  to.noalias() = columns.transpose() * columns;
}

void column_dots(const double* k, Index stride, Index m, const double* v,
                 double* out, [[maybe_unused]] simd::Level level) {
#if BAYESKERNEL_HAS_AVX2
  if (level != simd::Level::narrow) {
    simd::run(level, [=](auto lanes) BAYESKERNEL_WIDE {
      simd::detail::column_dots(lanes, k, stride, m, v, out);
    });
    return;
  }
#endif
  Eigen::Map<VectorXd>(out, m).noalias() =
      MatrixMap(k, stride, m).transpose() * VectorMap(v, stride);
}

void subtract_columns(const double* k, Index stride, Index m, const double* b,
                      double* out, [[maybe_unused]] simd::Level level) {
#if BAYESKERNEL_HAS_AVX2
  if (level != simd::Level::narrow) {
    simd::run(level, [=](auto lanes) BAYESKERNEL_WIDE {
      simd::detail::subtract_columns(lanes, k, stride, m, b, out);
    });
    return;
  }
#endif
  Eigen::Map<VectorXd>(out, stride).noalias() -=
      MatrixMap(k, stride, m) * VectorMap(b, m);
}

void symmetric_rows(const double* s, Index stride, Index m, const double* x,
                    Index width, Index n, double* out,
                    [[maybe_unused]] simd::Level level) {
#if BAYESKERNEL_HAS_AVX2
  if (level != simd::Level::narrow) {
    simd::symmetric_rows(s, stride, m, x, width, n, out);
    return;
  }
#endif
  using Eigen::Map;
  const Map<const MatrixXd, 0, Eigen::OuterStride<>> square(
      s, m, m, Eigen::OuterStride<>(stride));
  Map<MatrixXd> to(out, width, n);
  to.topRows(m).noalias() =
      square * Map<const MatrixXd>(x, width, n).topRows(m);
}

double padded_dot(const double* a, const double* b, Index n,
                  [[maybe_unused]] simd::Level level) {
#if BAYESKERNEL_HAS_AVX2
  if (level != simd::Level::narrow) {
    return simd::run(level, [=](auto lanes) BAYESKERNEL_WIDE {
      return simd::detail::dot(lanes, a, b, n);
    });
  }
#endif
  using Vector = VectorMap;
  return Vector(a, n).dot(Vector(b, n));
}

void padded_add(double weight, const double* x, double* to, Index n,
                [[maybe_unused]] simd::Level level) {
#if BAYESKERNEL_HAS_AVX2
  if (level != simd::Level::narrow) {
    simd::run(level, [=](auto lanes) BAYESKERNEL_WIDE {
      simd::detail::add_multiple(lanes, weight, x, to, n);
    });
    return;
  }
#endif
  Eigen::Map<VectorXd>(to, n) += weight * VectorMap(x, n);
}
}  // namespace bayeskernel
