#include "multinomial/regression.hpp"

#include <Eigen/QR>
#include <algorithm>
#include <utility>
#include <vector>

#include "eigen.hpp"
#include "error.hpp"
#include "simd/dense_factor.hpp"

namespace bayeskernel {

void RegressionFactor::restore(const Eigen::Ref<const MatrixXd>& u,
                               std::vector<Index> active, Index regressors) {
  if (u.rows() != u.cols() || u.rows() != static_cast<Index>(active.size()) ||
      !u.allFinite()) {
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
  const Index m = static_cast<Index>(active_.size());
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

VectorXd RegressionFactor::mean(const Eigen::Ref<const VectorXd>& s,
                                const Eigen::Ref<const VectorXd>& y) const {
  const Index m = static_cast<Index>(active_.size());
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
  const Index m = static_cast<Index>(active_.size()), n = design.cols();
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

}  // namespace bayeskernel
