#include "linear/system.hpp"

#include "math/cholesky.hpp"

namespace bayeskernel {
void ArrowSystem::factor(const Curvature& curvature, const Prior& prior,
                         const std::vector<MatrixXd>& block_precision) {
  log_det_ = 0.0;
  MatrixXd schur = curvature.gram;
  prior.add_precision(block_precision, schur);
  if (groups_.count() > 0) {
    groups_.factor(curvature, prior.eliminated_precision(block_precision));
    groups_.subtract_from(curvature, schur);
    log_det_ += groups_.log_det();
  }
  if (p_ > 0) {
    jitter_ = jittered_cholesky(schur, llt_);
    log_det_ += bayeskernel::log_det(llt_);
  }
}

void ArrowSystem::solve(const ArrowVector& rhs, ArrowVector& out) {
  out.x = rhs.x;
  groups_.subtract_from(rhs, out.x);
  if (p_ > 0) llt_.solveInPlace(out.x);
  groups_.back_substitute(rhs, out);
}

const Eigen::LLT<MatrixXd>& ArrowSystem::llt() const { return llt_; }
}  // namespace bayeskernel
