// Cholesky factors with escalating jitter that is reported, never hidden.
// O(n^3 / 3).
#ifndef BAYESKERNEL_MATH_CHOLESKY_HPP
#define BAYESKERNEL_MATH_CHOLESKY_HPP

#include <Eigen/Cholesky>
#include <Eigen/Core>
#include <cmath>

#include "error.hpp"

namespace bayeskernel {

// Factors the lower triangle of `a` into `llt`. If that fails, adds
// 1e-10 mean(diag) to the diagonal, then 100 times more, at most four times.
// Returns the jitter that was added; throws NumericError when none helps.
inline double jittered_cholesky(Eigen::Ref<Eigen::MatrixXd> a,
                                Eigen::LLT<Eigen::MatrixXd>& llt) {
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

inline double log_det(const Eigen::LLT<Eigen::MatrixXd>& llt) {
  return 2.0 * llt.matrixLLT().diagonal().array().log().sum();
}

}  // namespace bayeskernel

#endif
