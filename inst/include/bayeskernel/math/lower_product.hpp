// Products U x_i of a lower triangular U with many vectors, and their squared
// norms: wide where the machine is (math/simd.hpp), and then each column has
// the same bits however many columns are asked for at once.
// n p^2 / 2 multiply-adds.
#ifndef BAYESKERNEL_MATH_LOWER_PRODUCT_HPP
#define BAYESKERNEL_MATH_LOWER_PRODUCT_HPP

#include <Eigen/Core>
#include <algorithm>
#include <cstring>

#include "simd.hpp"

namespace bayeskernel {

#if BAYESKERNEL_HAS_AVX2

namespace simd {
namespace detail {

// U x for R vectors at once; u has `rows` (padded) rows.
template <int R>
BAYESKERNEL_AVX2 inline void lower_rows(const double* u, Eigen::Index rows,
                                        Eigen::Index p, const double* x,
                                        double* out, double* norm) {
  Vector4 total[R];
  for (int i = 0; i < R; ++i) total[i] = Vector4{0.0, 0.0, 0.0, 0.0};
  for (Eigen::Index r = 0; r < rows; r += 8) {
    Vector4 low[R], high[R];
    for (int i = 0; i < R; ++i) low[i] = high[i] = Vector4{0.0, 0.0, 0.0, 0.0};
    const Eigen::Index end = r + 8 < p ? r + 8 : p;
    for (Eigen::Index c = 0; c < end; ++c) {
      const double* column = u + c * rows + r;
      const Vector4 u0 = *reinterpret_cast<const Vector4*>(column);
      const Vector4 u1 = *reinterpret_cast<const Vector4*>(column + 4);
#pragma GCC unroll 4
      for (int i = 0; i < R; ++i) {
        low[i] += u0 * x[i * p + c];
        high[i] += u1 * x[i * p + c];
      }
    }
    const std::size_t bytes =
        static_cast<std::size_t>(std::min<Eigen::Index>(8, p - r)) *
        sizeof(double);
    for (int i = 0; i < R; ++i) {
      total[i] += low[i] * low[i] + high[i] * high[i];
      double* to = out + i * p + r;
      if (bytes == 64) {
        std::memcpy(to, &low[i], 32);
        std::memcpy(to + 4, &high[i], 32);
      } else {
        double both[8];
        std::memcpy(both, &low[i], 32);
        std::memcpy(both + 4, &high[i], 32);
        std::memcpy(to, both, bytes);
      }
    }
  }
  for (int i = 0; i < R; ++i) {
    norm[i] = (total[i][0] + total[i][1]) + (total[i][2] + total[i][3]);
  }
}

}  // namespace detail

BAYESKERNEL_AVX2 inline void lower_product(const double* u, Eigen::Index p,
                                           const double* x, Eigen::Index n,
                                           double* out, double* norm) {
  const Eigen::Index rows = padded(p);
  Eigen::Index i = 0;
  for (; i + 4 <= n; i += 4) {
    detail::lower_rows<4>(u, rows, p, x + i * p, out + i * p, norm + i);
  }
  for (; i < n; ++i) {
    detail::lower_rows<1>(u, rows, p, x + i * p, out + i * p, norm + i);
  }
}

}  // namespace simd

#endif

class LowerProduct {
 public:
  LowerProduct() = default;
  explicit LowerProduct(const MatrixXd& u)
      : p_(u.rows()), padded_(MatrixXd::Zero(simd::padded(p_), p_)) {
    padded_.topRows(p_) = u.triangularView<Eigen::Lower>();
  }

  // out (p x n) = U x, norm (n) its squared column norms; x and out apart.
  void apply(const double* x, Eigen::Index n, double* out,
             double* norm) const {
#if BAYESKERNEL_HAS_AVX2
    if (simd::enabled()) {
      simd::lower_product(padded_.data(), p_, x, n, out, norm);
      return;
    }
#endif
    Eigen::Map<MatrixXd> to(out, p_, n);
    to.noalias() = padded_.topRows(p_).triangularView<Eigen::Lower>() *
                   Eigen::Map<const MatrixXd>(x, p_, n);
    Eigen::Map<VectorXd>(norm, n) = to.colwise().squaredNorm().transpose();
  }

 private:
  using MatrixXd = Eigen::MatrixXd;
  using VectorXd = Eigen::VectorXd;
  Eigen::Index p_ = 0;
  MatrixXd padded_;
};

}  // namespace bayeskernel

#endif
