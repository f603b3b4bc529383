// Inner products between columns of two matrices, 8 x 4 at a time, and exp of
// what becomes of them. Every entry is summed over d in order, by the same
// instructions wherever it stands, so that it does not depend on how columns
// are cut into calls, and the distance of a column to itself is exactly zero.
// One type for any processor and one for AVX2, with the same functions.
//
// Columns are packed in groups of four: d rows of four numbers. Cost of an
// entry: d multiply-adds and one exp.
#pragma once

#include "eigen.hpp"
#include "simd/exp.hpp"
#include "simd/simd.hpp"

namespace bayeskernel {
namespace detail {
constexpr Index kGroup = 4;

// Up to four columns of a d x n matrix; a missing one repeats the first, for
// values that nobody reads.
struct FourColumns {
  const double* column[kGroup];

  FourColumns(const double* x, Index d, Index count) {
    for (Index c = 0; c < kGroup; ++c) column[c] = x + (c < count ? c * d : 0);
  }
};

// How a leaf sees a column: (x - shift) * inverse.
struct Scaling {
  Index d;
  const double* shift;
  const double* inverse;
};

struct NarrowTile {
  using Four = Eigen::Array<double, 4, 1>;
  using Load = Eigen::Map<const Four>;
  using Store = Eigen::Map<Four>;

  // The scaled columns of a group and half their squared norms.
  static void pack(const FourColumns& x, const Scaling& scaling, double* out,
                   double* half_norm);

  // out (8 x 4, columns `stride` apart): z_j'x_i - (half_z_j + half_x_i) for
  // two groups of z that follow one another and one group of x.
  static void run(Index d, const double* z, const double* half_z,
                  const double* x, const double* half_x, double* out,
                  Index stride);

  static void half(Index d, const double* z, const double* half_z,
                   const double* x, const double* half_x, double* out,
                   Index stride);

  // values <- variance exp(values), values <= 0 but for rounding.
  static void exp(double* values, Index n, double variance);
};

#if BAYESKERNEL_HAS_AVX2

struct WideTile {
  BAYESKERNEL_AVX2 static void pack(const FourColumns& x,
                                    const Scaling& scaling, double* out,
                                    double* half_norm) {
    const double* const* column = x.column;
    Vector4 sum = {0.0, 0.0, 0.0, 0.0};
    for (Index k = 0; k < scaling.d; ++k) {
      const Vector4 raw = {column[0][k], column[1][k], column[2][k],
                           column[3][k]};
      const Vector4 v = (raw - scaling.shift[k]) * scaling.inverse[k];
      *reinterpret_cast<Vector4*>(out + kGroup * k) = v;
      sum += v * v;
    }
    *reinterpret_cast<Vector4*>(half_norm) = 0.5 * sum;
  }

  BAYESKERNEL_AVX2 static void run(Index d, const double* z,
                                   const double* half_z, const double* x,
                                   const double* half_x, double* out,
                                   Index stride) {
    Vector4 low[4], high[4];
    for (int i = 0; i < 4; ++i) low[i] = high[i] = Vector4{0.0, 0.0, 0.0, 0.0};
    const double* z_high = z + kGroup * d;
    for (Index k = 0; k < kGroup * d; k += kGroup) {
      const Vector4 z0 = *reinterpret_cast<const Vector4*>(z + k);
      const Vector4 z1 = *reinterpret_cast<const Vector4*>(z_high + k);
#pragma GCC unroll 4
      for (int i = 0; i < 4; ++i) {
        low[i] += z0 * x[k + i];
        high[i] += z1 * x[k + i];
      }
    }
    const Vector4 half0 = *reinterpret_cast<const Vector4*>(half_z);
    const Vector4 half1 = *reinterpret_cast<const Vector4*>(half_z + 4);
#pragma GCC unroll 4
    for (int i = 0; i < 4; ++i) {
      Vector4* column = reinterpret_cast<Vector4*>(out + i * stride);
      column[0] = low[i] - (half0 + half_x[i]);
      column[1] = high[i] - (half1 + half_x[i]);
    }
  }

  BAYESKERNEL_AVX2 static void exp(double* values, Index n, double variance) {
    Index i = 0;
    for (; i + 4 <= n; i += 4) {
      Vector4* four = reinterpret_cast<Vector4*>(values + i);
      *four = variance * wide_exp(*four);
    }
    if (i == n) return;
    double rest[4] = {};
    std::copy(values + i, values + n, rest);
    Vector4* four = reinterpret_cast<Vector4*>(rest);
    *four = variance * wide_exp(*four);
    std::copy(rest, rest + (n - i), values + i);
  }
};

#endif
}  // namespace detail
}  // namespace bayeskernel
