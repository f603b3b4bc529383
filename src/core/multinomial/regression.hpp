// q(w_c) = N(s_c V_c, V_c) of the rows of W, V_c = (G + A_c)^-1, where G = K K'
// and s_c = E y_c K' (Damoulas and Girolami 2009, eq. 9 and 10): by the factor
// of I + D G D, D = A_c^(-1/2), whose eigenvalues are at least 1. Where even
// that loses its digits, by the QR decomposition of [K' D; I], which does not
// square the condition.
#pragma once

#include "eigen.hpp"
#include "error.hpp"
#include "simd/dense_factor.hpp"

namespace bayeskernel {
// V = U'U for the regressors that are active; the others have w = 0.
class RegressionFactor {
 public:
  // `design` is read when the decomposition is needed, and may then be empty:
  // that is an error. O(M^3 / 3).
  void compute(const MatrixXd& gram, const VectorRef& alpha,
               const std::vector<Index>& active, const MatrixXd& design);

  // One that was kept: U of the active of `regressors`.
  void restore(const MatrixRef& u, std::vector<Index> active, Index regressors);

  bool by_qr() const { return by_qr_; }
  const std::vector<Index>& active() const { return active_; }
  const MatrixXd& u() const { return u_; }
  const VectorXd& variance() const { return variance_; }
  double log_det() const { return log_det_; }  // of V

  // V, with zeros for regressors that are not active. M^3 / 3 multiply-adds.
  MatrixXd covariance() const;

  // The mean for s = y K', or from y itself after the decomposition.
  VectorXd mean(const VectorRef& s, const VectorRef& y) const;

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
