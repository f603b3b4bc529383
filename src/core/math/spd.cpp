#include "math/spd.hpp"

#include <string>

#include "error.hpp"
#include "math/cholesky.hpp"

namespace bayeskernel {
MatrixXd spd_inverse(const MatrixRef& a, const char* what) {
  const Eigen::LLT<MatrixXd> llt(a);
  if (llt.info() != Eigen::Success) {
    throw NumericError(std::string(what) + " is not positive definite");
  }
  return llt.solve(MatrixXd::Identity(a.rows(), a.cols()));
}

double spd_log_det(const MatrixRef& a) {
  return log_det(Eigen::LLT<MatrixXd>(a));
}
}  // namespace bayeskernel
