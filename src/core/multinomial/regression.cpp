#include "multinomial/regression.hpp"

#include <Eigen/QR>

namespace bayeskernel {
void RegressionFactor::restore(const MatrixRef& u, std::vector<Index> active,
                               Index regressors) {
  if (u.rows() != u.cols() || u.rows() != count_of(active) || !u.allFinite()) {
    throw ArgumentError("the posterior of the fit is damaged");
  }
  active_ = std::move(active);
  u_ = u;
  variance_ = VectorXd::Zero(regressors);
  for (Index k = 0; k < u.cols(); ++k) {
    variance_[active_[k]] = u.col(k).squaredNorm();
  }
}

MatrixXd RegressionFactor::covariance() const {
  const Index m = count_of(active_);
  MatrixXd own = MatrixXd::Zero(m, m);
  own.selfadjointView<Eigen::Lower>().rankUpdate(u_.transpose());
  MatrixXd out = MatrixXd::Zero(variance_.size(), variance_.size());
  for (Index k = 0; k < m; ++k) {
    for (Index j = 0; j < m; ++j) {
      out(active_[j], active_[k]) = own(std::max(j, k), std::min(j, k));
    }
  }
  return out;
}

VectorXd RegressionFactor::mean(const VectorRef& s, const VectorRef& y) const {
  const Index m = count_of(active_);
  VectorXd own(m);
  if (by_qr_) {
    own.noalias() = q_.transpose() * y;
  } else {
    for (Index k = 0; k < m; ++k) own[k] = s[active_[k]];
    own = u_.triangularView<Eigen::Lower>() * own;
  }
  return scatter(own);
}

VectorXd RegressionFactor::scatter(const VectorXd& z) const {
  const VectorXd own = u_.triangularView<Eigen::Lower>().transpose() * z;
  VectorXd out = VectorXd::Zero(variance_.size());
  for (Index k = 0; k < own.size(); ++k) out[active_[k]] = own[k];
  return out;
}

void RegressionFactor::decompose(const MatrixXd& design) {
  const Index m = count_of(active_), n = design.cols();
  if (n == 0) {
    throw NumericError("the design is too badly scaled for its cross-products");
  }
  MatrixXd tall(n + m, m);
  for (Index k = 0; k < m; ++k) {
    tall.col(k).head(n) = design.row(active_[k]).transpose() * d_[k];
  }
  tall.bottomRows(m).setIdentity();
  Eigen::HouseholderQR<Eigen::Ref<MatrixXd>> qr(tall);
  work_ = tall.topRows(m).triangularView<Eigen::Upper>().transpose();
  MatrixXd thin = MatrixXd::Identity(n + m, m);
  thin.applyOnTheLeft(qr.householderQ());
  q_ = thin.topRows(n);
}

void RegressionFactor::compute(const MatrixXd& gram, const VectorRef& alpha,
                               const std::vector<Index>& active,
                               const MatrixXd& design) {
  active_ = active;
  const Index m = count_of(active);
  d_.resize(m);
  for (Index k = 0; k < m; ++k) d_[k] = 1.0 / std::sqrt(alpha[active[k]]);
  work_.resize(m, m);
  for (Index k = 0; k < m; ++k) {
    const double* column = gram.data() + active[k] * gram.rows();
    for (Index j = k; j < m; ++j) {
      work_(j, k) = column[active[j]] * d_[j] * d_[k];
    }
    work_(k, k) += 1.0;
  }
  constexpr double kWorst = 1e12;
  const bool mild = m == 0 || work_.diagonal().maxCoeff() < kWorst;
  by_qr_ = !mild || !factor_lower(work_);
  if (by_qr_) decompose(design);
  log_det_ = 2.0 * (d_.array().log().sum() -
                    work_.diagonal().cwiseAbs().array().log().sum());
  u_ = invert_lower(work_) * d_.asDiagonal();
  variance_ = VectorXd::Zero(gram.rows());
  for (Index k = 0; k < m; ++k) {
    variance_[active[k]] = u_.col(k).tail(m - k).squaredNorm();
  }
  if (!std::isfinite(log_det_) || !variance_.allFinite()) {
    throw NumericError("a posterior covariance is not finite");
  }
}
}  // namespace bayeskernel
