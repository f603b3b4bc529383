// q(w_c) = N(s_c V_c, V_c) of the rows of W, V_c = (G + A_c)^-1, where G = K K'
// and s_c = E y_c K' (Damoulas and Girolami 2009, eq. 9 and 10): by the factor
// of I + D G D, D = A_c^(-1/2), whose eigenvalues are at least 1. Where even
// that loses its digits, by the QR decomposition of [K' D; I], which does not
// square the condition.
#ifndef BAYESKERNEL_MULTINOMIAL_REGRESSION_HPP
#define BAYESKERNEL_MULTINOMIAL_REGRESSION_HPP

#include <cmath>
#include <vector>

#include "eigen.hpp"
#include "error.hpp"
#include "simd/dense_factor.hpp"

namespace bayeskernel {

// V = U'U for the regressors that are active; the others have w = 0.
class RegressionFactor {
 public:
  // `design` is read when the decomposition is needed, and may then be empty:
  // that is an error. O(M^3 / 3).
  void compute(const MatrixXd& gram, const Eigen::Ref<const VectorXd>& alpha,
               const std::vector<Index>& active, const MatrixXd& design) {
    active_ = active;
    const Index m = static_cast<Index>(active.size());
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

  // One that was kept: U of the active of `regressors`.
  void restore(const Eigen::Ref<const MatrixXd>& u, std::vector<Index> active,
               Index regressors);

  bool by_qr() const { return by_qr_; }
  const std::vector<Index>& active() const { return active_; }
  const MatrixXd& u() const { return u_; }
  const VectorXd& variance() const { return variance_; }
  double log_det() const { return log_det_; }  // of V

  // V, with zeros for regressors that are not active. M^3 / 3 multiply-adds.
  MatrixXd covariance() const;

  // The mean for s = y K', or from y itself after the decomposition.
  VectorXd mean(const Eigen::Ref<const VectorXd>& s,
                const Eigen::Ref<const VectorXd>& y) const;

  // U'z for the active regressors, 0 for the others.
  VectorXd scatter(const VectorXd& z) const;

 private:
  // R' takes the place of the Cholesky factor, up to signs.
  void decompose(const MatrixXd& design);

  std::vector<Index> active_;
  VectorXd d_, variance_;
  MatrixXd work_, u_, q_;
  double log_det_ = 0.0;
  bool by_qr_ = false;
};

}  // namespace bayeskernel

#endif
