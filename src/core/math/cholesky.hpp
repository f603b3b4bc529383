// Cholesky factors with escalating jitter that is reported, never hidden.
// O(n^3 / 3).
#pragma once

#include "eigen.hpp"

namespace bayeskernel {
// Factors the lower triangle of `a` into `llt`. If that fails, adds
// 1e-10 mean(diag) to the diagonal, then 100 times more, at most four times.
// Returns the jitter that was added; throws NumericError when none helps.
double jittered_cholesky(Eigen::Ref<MatrixXd> a, Eigen::LLT<MatrixXd>& llt);

double log_det(const Eigen::LLT<MatrixXd>& llt);
}  // namespace bayeskernel
