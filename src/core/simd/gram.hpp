// Weighted Gram tiles: A += X diag(w) X' for X (p x n), lower triangle.
// n p (p + 1) flops. One seam, so that wide kernels can take its place.
#ifndef BAYESKERNEL_SIMD_GRAM_HPP
#define BAYESKERNEL_SIMD_GRAM_HPP

#include <Eigen/Core>

namespace bayeskernel {

// `scratch` holds at least p x n numbers after the first call, in any shape.
void weighted_gram(const Eigen::Ref<const Eigen::MatrixXd>& x,
                   const Eigen::Ref<const Eigen::VectorXd>& w,
                   Eigen::MatrixXd& scratch, Eigen::Ref<Eigen::MatrixXd> gram);

}  // namespace bayeskernel

#endif
