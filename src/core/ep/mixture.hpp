// Moments of a mixture of Gaussian posteriors, added up point by point.
#pragma once

#include "eigen.hpp"
#include "ep/fit.hpp"
#include "ep/leave_one_out.hpp"
#include "ep/row_evidence.hpp"
#include "linear/system.hpp"
#include "parallel/executor.hpp"
#include "simd/lower_product.hpp"

namespace bayeskernel {
// What is reported of q(theta, u): moments, and the two that make its
// covariance: Cov(theta, u_g) = -Sigma loading_g, Var u_g = schur_g +
// loading_g' Sigma loading_g.
struct LinearMoments {
  VectorXd theta_mean;
  MatrixXd theta_cov;
  MatrixXd group_mean;        // r x G
  MatrixXd group_cov, schur;  // r x (r G)
  MatrixXd loading;           // p x (r G)
};

LinearMoments linear_moments(const EpFit& fit, bool groups = true);

// Of rows: E f, Var f and log leave-one-out probability; the first two also
// given the other rows; E log p(y | f), empty where it is not known.
struct RowMoments {
  VectorXd mean, variance, leave_one_out;
  LeftOutMoments left_out;
  VectorXd expected;
};

RowMoments row_moments(const EpFit& fit, const RowEvidence& evidence);
inline RowMoments row_moments(const EpFit& fit) {
  return row_moments(fit, RowEvidenceRule(fit)());
}

// The first point is the reference about which moments are taken.
class PosteriorMixture {
 public:
  // Weights relative to exp(reference). `sigma`: the covariance of theta.
  void add(const EpFit& fit, const MatrixXd& sigma, double weight);

  // The rows of the same point, after or before it.
  void add_rows(const EpFit& fit, double weight);

  double total() const { return total_; }

  LinearMoments linear() const;

  // Empty where no rows were added.
  RowMoments rows() const;

 private:
  // cross += weight (d e' - Sigma loading), group_cov += weight (Var u_g + e
  // e').
  void add_groups(const ArrowSystem& system, const MatrixXd& sigma,
                  const VectorXd& d, const MatrixXd& e, double weight,
                  Executor& executor);

  double total_ = 0.0;
  LinearMoments origin_;  // its covariances are the sums, two are not known
  VectorXd theta_;
  MatrixXd group_, cross_;
  VectorXd row_origin_, log_z_origin_, mean_, square_, kept_, held_out_;
  VectorXd expected_;
  LeftOutMoments left_out_;  // sums
};
}  // namespace bayeskernel
