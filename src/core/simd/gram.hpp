// Weighted Gram tiles: A += X diag(w) X' for X (p x n), lower triangle.
// n p (p + 1) flops. One seam, so that wide kernels can take its place.
#ifndef BAYESKERNEL_SIMD_GRAM_HPP
#define BAYESKERNEL_SIMD_GRAM_HPP

#include <Eigen/Core>
#include <algorithm>

#include "simd/simd.hpp"

namespace bayeskernel {

namespace detail {

// Few columns: the square stays in registers (fixed sizes unroll at -O2).
template <int P>
void weighted_gram_small(const double* x, const double* w, Eigen::Index n,
                         Eigen::Ref<Eigen::MatrixXd> gram) {
  using Row = Eigen::Matrix<double, P, 1>;
  Eigen::Matrix<double, P, P> sum = Eigen::Matrix<double, P, P>::Zero();
  for (Eigen::Index i = 0; i < n; ++i, x += P) {
    const Row row = Eigen::Map<const Row>(x);
    const Row weighted = w[i] * row;
    sum.noalias() += weighted.lazyProduct(row.transpose());
  }
  gram.template triangularView<Eigen::Lower>() += sum;
}

}  // namespace detail

// `scratch` holds at least p x n numbers after the first call, in any shape.
template <class X>
void weighted_gram(const X& x, const Eigen::Ref<const Eigen::VectorXd>& w,
                   Eigen::MatrixXd& scratch, Eigen::Ref<Eigen::MatrixXd> gram) {
  const Eigen::Index p = x.rows(), n = x.cols();
  if (p == 0 || n == 0) return;
  if (x.outerStride() == p) {
    switch (p) {
      case 1: return detail::weighted_gram_small<1>(x.data(), w.data(), n, gram);
      case 2: return detail::weighted_gram_small<2>(x.data(), w.data(), n, gram);
      case 3: return detail::weighted_gram_small<3>(x.data(), w.data(), n, gram);
      case 4: return detail::weighted_gram_small<4>(x.data(), w.data(), n, gram);
      default: break;
    }
    // Packing costs n p, which few rows do not gain.
    if (simd::enabled() && p >= 96) {
      const Eigen::Index size = simd::packed_gram_size(p, n);
      if (scratch.size() < size) scratch.resize(size, 1);
      simd::packed_gram(x.data(), w.data(), p, n, scratch.data(), gram.data(),
                        gram.outerStride());
      return;
    }
    // The last rows go the narrow way: the wide one reads 7 numbers further.
    const Eigen::Index tail = std::min(n, (7 + p) / p);
    if (simd::enabled()) {
      simd::weighted_gram(x.data(), w.data(), p, n - tail, gram.data(),
                          gram.outerStride());
      for (Eigen::Index i = n - tail; i < n; ++i) {
        gram.selfadjointView<Eigen::Lower>().rankUpdate(x.col(i), w[i]);
      }
      return;
    }
  }
  if (scratch.rows() != p || scratch.cols() < n) scratch.resize(p, n);
  scratch.leftCols(n).noalias() = x * w.asDiagonal();
  gram.triangularView<Eigen::Lower>() +=
      scratch.leftCols(n) * x.transpose();
}

}  // namespace bayeskernel

#endif
