#include "math/cholesky.hpp"

#include "error.hpp"

namespace bayeskernel {
double jittered_cholesky(Eigen::Ref<MatrixXd> a, Eigen::LLT<MatrixXd>& llt) {
  llt.compute(a);
  const auto usable = [&] {
    return llt.info() == Eigen::Success &&
           llt.matrixLLT().diagonal().array().isFinite().all();
  };
  if (usable()) return 0.0;
  const double scale = a.diagonal().cwiseAbs().mean();
  if (!std::isfinite(scale)) {
    throw NumericError("a precision matrix has entries that are not finite");
  }
  double added = 0.0;
  double jitter = 1e-10 * scale;
  for (int attempt = 0; attempt < 4; ++attempt, jitter *= 100.0) {
    a.diagonal().array() += jitter - added;
    added = jitter;
    llt.compute(a);
    if (usable()) return added;
  }
  throw NumericError("a precision matrix is not positive definite");
}

double log_det(const Eigen::LLT<MatrixXd>& llt) {
  return 2.0 * llt.matrixLLT().diagonal().array().log().sum();
}
}  // namespace bayeskernel
