// Inverses of symmetric positive definite matrices.
#ifndef BAYESKERNEL_MATH_SPD_HPP
#define BAYESKERNEL_MATH_SPD_HPP

#include "eigen.hpp"

namespace bayeskernel {

// From the lower triangle; throws NumericError "`what` is not positive
// definite". O(n^3).
MatrixXd spd_inverse(const Eigen::Ref<const MatrixXd>& a, const char* what);

}  // namespace bayeskernel

#endif
