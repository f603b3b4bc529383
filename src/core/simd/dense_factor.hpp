// Cholesky factor and inverse of a triangle for matrices of some hundred rows
// and more, in products that the wide kernels of this folder carry out; for
// smaller ones Eigen does it all. n^3 / 6 multiply-adds each.
#ifndef BAYESKERNEL_SIMD_DENSE_FACTOR_HPP
#define BAYESKERNEL_SIMD_DENSE_FACTOR_HPP

#include <Eigen/Core>

namespace bayeskernel {

// The lower triangle of `a` becomes its Cholesky factor; the upper one means
// nothing afterwards. False when `a` is not positive definite.
bool factor_lower(Eigen::MatrixXd& a);

// The inverse of the lower triangle of `l` into `out`, which is zero above it
// and apart from `l`. Beside these in memory are some n^2 numbers at most.
void invert_lower_into(const Eigen::Ref<const Eigen::MatrixXd>& l,
                       Eigen::Ref<Eigen::MatrixXd> out);

// The inverse of the lower triangle of `l`, zeros above it.
Eigen::MatrixXd invert_lower(const Eigen::Ref<const Eigen::MatrixXd>& l);

}  // namespace bayeskernel

#endif
