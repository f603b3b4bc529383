// Weighted Gram tiles: A += X diag(w) X' for X (p x n), lower triangle.
// n p (p + 1) flops. One seam, so that wide kernels can take its place.
#pragma once

#include "eigen.hpp"

namespace bayeskernel {
// `scratch` holds at least p x n numbers after the first call, in any shape.
void weighted_gram(const MatrixRef& x, const VectorRef& w, MatrixXd& scratch,
                   Eigen::Ref<MatrixXd> gram);
}  // namespace bayeskernel
