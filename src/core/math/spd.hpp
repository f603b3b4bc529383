// Symmetric positive definite matrices, of which lower triangles are read.
#ifndef BAYESKERNEL_MATH_SPD_HPP
#define BAYESKERNEL_MATH_SPD_HPP

#include "eigen.hpp"

namespace bayeskernel {

// Throws NumericError "`what` is not positive
// definite". O(n^3).
MatrixXd spd_inverse(const Eigen::Ref<const MatrixXd>& a, const char* what);

// log |a|. O(n^3).
double spd_log_det(const Eigen::Ref<const MatrixXd>& a);

}  // namespace bayeskernel

#endif
