// Symmetric positive definite matrices, of which lower triangles are read.
#pragma once

#include "eigen.hpp"

namespace bayeskernel {
// Throws NumericError "`what` is not positive
// definite". O(n^3).
MatrixXd spd_inverse(const MatrixRef& a, const char* what);

// log |a|. O(n^3).
double spd_log_det(const MatrixRef& a);
}  // namespace bayeskernel
