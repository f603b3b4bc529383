// Cholesky factor and inverse of a triangle for matrices of some hundred rows
// and more, in products that the wide kernels of this folder carry out; for
// smaller ones Eigen does it all. n^3 / 6 multiply-adds each.
#pragma once

#include "eigen.hpp"

namespace bayeskernel {
// The lower triangle of `a` becomes its Cholesky factor; the upper one means
// nothing afterwards. False when `a` is not positive definite.
bool factor_lower(MatrixXd& a);

// The inverse of the lower triangle of `l` into `out`, which is zero above it
// and apart from `l`. Beside these in memory are some n^2 numbers at most.
void invert_lower_into(const MatrixRef& l, Eigen::Ref<MatrixXd> out);

// The inverse of the lower triangle of `l`, zeros above it.
MatrixXd invert_lower(const MatrixRef& l);
}  // namespace bayeskernel
