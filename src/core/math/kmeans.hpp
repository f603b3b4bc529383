// k-means: which centre is nearest, and the steps of Lloyd (1982).
#pragma once

#include "eigen.hpp"
#include "parallel/executor.hpp"
#include "simd/simd.hpp"

namespace bayeskernel {
#if BAYESKERNEL_HAS_AVX2

namespace simd {
namespace detail {
typedef long long Integer4
    __attribute__((vector_size(32), may_alias, aligned(8)));

// Lanes of `value` and `index` where `next` is smaller.
BAYESKERNEL_AVX2 inline void keep_smaller(const Vector4& next, Integer4 at,
                                          Vector4& value, Integer4& index) {
  const Integer4 smaller = (Integer4)(next < value);
  value = (Vector4)(((Integer4)next & smaller) | ((Integer4)value & ~smaller));
  index = (at & smaller) | (index & ~smaller);
}

// For R rows, `stride` apart: argmin_j half_j - x'z_j, ties to the smaller j.
// Panels of eight centres; a lane sees every fourth centre, in order.
template <int R>
BAYESKERNEL_AVX2 inline void nearest_rows(const double* panels,
                                          const double* half, Index count,
                                          Index d, const double* x,
                                          Index stride, int* label) {
  Vector4 value[R];
  Integer4 index[R];
  for (int i = 0; i < R; ++i) {
    const double most = std::numeric_limits<double>::infinity();
    value[i] = Vector4{most, most, most, most};
    index[i] = Integer4{0, 0, 0, 0};
  }
  for (Index j = 0; j < count; j += 8) {
    Vector4 low[R], high[R];
    for (int i = 0; i < R; ++i) {
      low[i] = *reinterpret_cast<const Vector4*>(half + j);
      high[i] = *reinterpret_cast<const Vector4*>(half + j + 4);
    }
    for (Index k = 0; k < d; ++k, panels += 8) {
      const Vector4 z0 = *reinterpret_cast<const Vector4*>(panels);
      const Vector4 z1 = *reinterpret_cast<const Vector4*>(panels + 4);
#pragma GCC unroll 4
      for (int i = 0; i < R; ++i) {
        low[i] -= z0 * x[i * stride + k];
        high[i] -= z1 * x[i * stride + k];
      }
    }
    const Integer4 at = Integer4{0, 1, 2, 3} + j;
    for (int i = 0; i < R; ++i) {
      keep_smaller(low[i], at, value[i], index[i]);
      keep_smaller(high[i], at + 4, value[i], index[i]);
    }
  }
  for (int i = 0; i < R; ++i) {
    int lane = 0;
    for (int k = 1; k < 4; ++k) {
      const bool tie = value[i][k] == value[i][lane];
      if (value[i][k] < value[i][lane] ||
          (tie && index[i][k] < index[i][lane])) {
        lane = k;
      }
    }
    label[i] = static_cast<int>(index[i][lane]);
  }
}
}  // namespace detail

BAYESKERNEL_AVX2 inline void nearest(const double* panels, const double* half,
                                     Index count, Index d, const double* x,
                                     Index stride, Index n, int* label) {
  Index i = 0;
  for (; i + 4 <= n; i += 4, x += 4 * stride) {
    detail::nearest_rows<4>(panels, half, count, d, x, stride, label + i);
  }
  for (; i < n; ++i, x += stride) {
    detail::nearest_rows<1>(panels, half, count, d, x, stride, label + i);
  }
}
}  // namespace simd

#else

namespace simd {
inline void nearest(const double*, const double*, Index, Index, const double*,
                    Index, Index, int*) {}
}  // namespace simd

#endif

// Up to `capacity` centres, ready to be compared with many rows. As |x - z|^2
// = |x|^2 - 2 (x'z - |z|^2 / 2), only products are needed; z is measured from
// `origin`, a point amid the data, which keeps the digits when these lie far
// from 0.
class Centres {
 public:
  Centres(VectorXd origin, Index capacity);

  Index size() const { return size_; }

  void push_back(const VectorRef& z) { set(size_++, z); }

  void assign(const MatrixXd& z);

  // label_i of the columns of x; of two centres at one distance the first.
  // 2 n m d flops.
  template <class X>
  void nearest(const X& x, int* label) const {
    if (simd::enabled()) {
      simd::nearest(panels_.data(), half_.data(), size_, d_, x.data(),
                    x.outerStride(), x.cols(), label);
    } else {
      nearest_portable(x, label);
    }
  }

  // The same through Eigen's products.
  template <class X>
  void nearest_portable(const X& x, int* label) const {
    for (Index at = 0; at < x.cols(); at += kTile) {
      const Index n = std::min(kTile, x.cols() - at);
      nearest_in_tile(x.middleCols(at, n), label + at);
    }
  }

 private:
  static constexpr Index kWidth = 8;   // centres in a panel
  static constexpr Index kTile = 128;  // rows in a tile

  void set(Index j, const VectorRef& z);

  template <class X>
  void nearest_in_tile(const X& x, int* label) const {
    const Index n = x.cols();
    Eigen::Matrix<double, kWidth, Eigen::Dynamic, 0, kWidth, kTile> score;
    double least[kTile];
    std::fill(least, least + n, std::numeric_limits<double>::infinity());
    std::fill(label, label + n, 0);
    for (Index j = 0; j < size_; j += kWidth) {
      const MatrixMap panel(panels_.col(j / kWidth).data(), kWidth, d_);
      score.noalias() = panel * x;
      for (Index i = 0; i < n; ++i) {
        for (Index k = 0; k < kWidth; ++k) {
          const double value = half_[j + k] - score(k, i);
          if (value < least[i]) {
            least[i] = value;
            label[i] = static_cast<int>(j + k);
          }
        }
      }
    }
  }

  Index d_;
  Index size_ = 0;
  VectorXd origin_;
  MatrixXd panels_;  // eight centres a column, coordinate by coordinate
  VectorXd half_;    // |z_j|^2 / 2; infinite where there is no centre
};

// At most `steps` steps from `centres` (d x m), which they replace: every row,
// a column of x (d x n), goes to its nearest centre, every centre to the mean
// of its rows; one without rows stays. Ends when no row moves. 2 n m d flops a
// step; blocks of rows are shared out, the sums are in the order of the rows.
void lloyd(const MatrixRef& x, int steps, MatrixXd& centres,
           Executor& executor);
}  // namespace bayeskernel
