// The Gaussian linear system of the hinge engine, solved with the group
// effects eliminated.
//   precision  [ S_xx  B ] ,  B = (B_1 .. B_G),  D = diag(D_1 .. D_G)
//              [ B'    D ]
// Schur complement S_c = S_xx - sum_g B_g D_g^-1 B_g'.
// Cost of a factorisation: G (p^2 r + p r^2 + r^3) + p^3 / 3.
#pragma once

#include "eigen.hpp"
#include "linear/groups.hpp"
#include "parallel/executor.hpp"
#include "prior/blocks.hpp"
#include "rows/sums.hpp"

namespace bayeskernel {
class ArrowSystem {
 public:
  // `executor`: factors and solves groups; null: serially, with the same bits.
  ArrowSystem(Index p, Index r, Index groups, Executor* executor = nullptr)
      : p_(p), groups_(p, r, groups, executor) {}

  // Factors sum kappa (x,z)(x,z)' + prior precision.
  void factor(const Curvature& curvature, const Prior& prior,
              const std::vector<MatrixXd>& block_precision);

  // out = precision^-1 rhs; out may not alias rhs.
  void solve(const ArrowVector& rhs, ArrowVector& out);

  // One draw from N(precision^-1 rhs, precision^-1); `normal` gives standard
  // normals: p of them for theta, then r for each group in turn.
  template <class Normal>
  void sample(const ArrowVector& rhs, Normal&& normal, ArrowVector& out) {
    out.x = rhs.x;
    groups_.subtract_from(rhs, out.x);
    if (p_ > 0) {
      llt_.matrixL().solveInPlace(out.x);
      for (Index k = 0; k < p_; ++k) out.x[k] += normal();
      llt_.matrixU().solveInPlace(out.x);
    }
    groups_.back_substitute(rhs, out);
    groups_.add_noise(normal, out);
  }

  // log |precision|.
  double log_det() const { return log_det_; }
  // What the last factorisation had to add to the diagonal.
  double jitter() const { return jitter_; }
  const Eigen::LLT<MatrixXd>& llt() const;
  const EliminatedGroups& groups() const { return groups_; }
  // B_g D_g^-1, p x (r G).
  const MatrixXd& loading() const { return groups_.loading(); }
  // D_g^-1, r x (r G).
  const MatrixXd& group_inverse() const { return groups_.inverse(); }

 private:
  Index p_;
  EliminatedGroups groups_;
  Eigen::LLT<MatrixXd> llt_;
  double log_det_ = 0.0;
  double jitter_ = 0.0;
};
}  // namespace bayeskernel
