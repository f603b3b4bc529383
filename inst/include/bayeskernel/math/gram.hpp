// Weighted Gram tiles: A += X diag(w) X' for X (p x n), lower triangle.
// n p (p + 1) flops. One seam, so that wide kernels can take its place.
#ifndef BAYESKERNEL_MATH_GRAM_HPP
#define BAYESKERNEL_MATH_GRAM_HPP

#include <Eigen/Core>

namespace bayeskernel {

namespace detail {

// Few columns: the whole triangle stays in registers.
template <int P>
void weighted_gram_small(const double* x, const double* w, Eigen::Index n,
                         Eigen::Ref<Eigen::MatrixXd> gram) {
  double sum[P * (P + 1) / 2] = {0.0};
  for (Eigen::Index i = 0; i < n; ++i, x += P) {
    int k = 0;
    for (int c = 0; c < P; ++c) {
      const double wx = w[i] * x[c];
      for (int r = c; r < P; ++r) sum[k++] += wx * x[r];
    }
  }
  int k = 0;
  for (int c = 0; c < P; ++c) {
    for (int r = c; r < P; ++r) gram(r, c) += sum[k++];
  }
}

}  // namespace detail

// `scratch` holds at least p x n numbers after the first call.
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
      case 5: return detail::weighted_gram_small<5>(x.data(), w.data(), n, gram);
      case 6: return detail::weighted_gram_small<6>(x.data(), w.data(), n, gram);
      default: break;
    }
  }
  if (scratch.rows() != p || scratch.cols() < n) scratch.resize(p, n);
  scratch.leftCols(n).noalias() = x * w.asDiagonal();
  gram.triangularView<Eigen::Lower>() +=
      scratch.leftCols(n) * x.transpose();
}

}  // namespace bayeskernel

#endif
