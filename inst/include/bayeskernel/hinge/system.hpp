// The Gaussian linear system of the hinge engine, solved with the group
// effects eliminated: never an object of size p + G r (svm.md section 11).
//   precision  [ S_xx  B ] ,  B = (B_1 .. B_G),  D = diag(D_1 .. D_G)
//              [ B'    D ]
// Schur complement S_c = S_xx - sum_g B_g D_g^-1 B_g'.
// Cost of a factorisation: G (p^2 r + p r^2 + r^3) + p^3 / 3.
#ifndef BAYESKERNEL_HINGE_SYSTEM_HPP
#define BAYESKERNEL_HINGE_SYSTEM_HPP

#include <Eigen/Cholesky>
#include <Eigen/Core>
#include <cmath>

#include "../error.hpp"
#include "../math/cholesky.hpp"
#include "blocks.hpp"
#include "statistics.hpp"

namespace bayeskernel {

class ArrowSystem {
 public:
  ArrowSystem(Index p, Index r, Index groups)
      : p_(p),
        r_(r),
        groups_(groups),
        schur_(p, p),
        loading_(p, r * groups),
        inverse_(r, r * groups),
        root_(r, r * groups),
        group_scratch_(r, r),
        small_(r) {}

  // Factors sum kappa (x,z)(x,z)' + prior precision.
  void factor(const Curvature& curvature, const Prior& prior,
              const std::vector<MatrixXd>& block_precision) {
    log_det_ = 0.0;
    schur_ = curvature.gram;
    prior.add_precision(block_precision, schur_);
    if (groups_ > 0) eliminate(curvature, eliminated_precision(prior, block_precision));
    if (p_ > 0) {
      jitter_ = jittered_cholesky(schur_, llt_);
      log_det_ += bayeskernel::log_det(llt_);
    }
  }

  // out = precision^-1 rhs; out may not alias rhs.
  void solve(const ArrowVector& rhs, ArrowVector& out) {
    out.x = rhs.x;
    if (groups_ > 0 && p_ > 0) {
      out.x.noalias() -=
          loading_ * Eigen::Map<const VectorXd>(rhs.group.data(), r_ * groups_);
    }
    if (p_ > 0) llt_.solveInPlace(out.x);
    back_substitute(rhs, out);
  }

  // One draw from N(precision^-1 rhs, precision^-1); `normal` gives standard
  // normals: p of them for theta, then r for each group in turn.
  template <class Normal>
  void sample(const ArrowVector& rhs, Normal&& normal, ArrowVector& out) {
    out.x = rhs.x;
    if (groups_ > 0 && p_ > 0) {
      out.x.noalias() -=
          loading_ * Eigen::Map<const VectorXd>(rhs.group.data(), r_ * groups_);
    }
    if (p_ > 0) {
      llt_.matrixL().solveInPlace(out.x);
      for (Index k = 0; k < p_; ++k) out.x[k] += normal();
      llt_.matrixU().solveInPlace(out.x);
    }
    back_substitute(rhs, out);
    if (r_ == 1) {
      for (Index g = 0; g < groups_; ++g) {
        out.group(0, g) += normal() * root_(0, g);
      }
      return;
    }
    for (Index g = 0; g < groups_; ++g) {
      for (Index k = 0; k < r_; ++k) small_[k] = normal();
      out.group.col(g).noalias() +=
          root_.middleCols(g * r_, r_).triangularView<Eigen::Upper>() * small_;
    }
  }

  // log |precision|.
  double log_det() const { return log_det_; }
  // What the last factorisation had to add to the diagonal.
  double jitter() const { return jitter_; }
  const Eigen::LLT<MatrixXd>& llt() const { return llt_; }
  // B_g D_g^-1, p x (r G); its transpose is H_g of svm.md.
  const MatrixXd& loading() const { return loading_; }
  // D_g^-1, r x (r G).
  const MatrixXd& group_inverse() const { return inverse_; }

 private:
  static const MatrixXd& eliminated_precision(
      const Prior& prior, const std::vector<MatrixXd>& block_precision) {
    for (std::size_t l = 0; l < prior.blocks.size(); ++l) {
      if (prior.blocks[l].eliminated) return block_precision[l];
    }
    throw ArgumentError("groups without a block of their own");
  }

  void eliminate(const Curvature& curvature, const MatrixXd& prior) {
    if (r_ == 1) {
      for (Index g = 0; g < groups_; ++g) {
        const double d = curvature.group_gram(0, g) + prior(0, 0);
        if (!(d > 0.0)) throw NumericError("a group precision is not positive");
        inverse_(0, g) = 1.0 / d;
        root_(0, g) = std::sqrt(inverse_(0, g));
        log_det_ += std::log(d);
        loading_.col(g) = curvature.cross.col(g) * inverse_(0, g);
      }
    } else {
      for (Index g = 0; g < groups_; ++g) {
        group_scratch_ = curvature.group_gram.middleCols(g * r_, r_) + prior;
        group_llt_.compute(group_scratch_);
        if (group_llt_.info() != Eigen::Success) {
          throw NumericError("a group precision is not positive definite");
        }
        log_det_ += bayeskernel::log_det(group_llt_);
        auto root = root_.middleCols(g * r_, r_);
        root.setIdentity();
        group_llt_.matrixU().solveInPlace(root);  // D^-1 = root root'
        inverse_.middleCols(g * r_, r_).noalias() = root * root.transpose();
        loading_.middleCols(g * r_, r_).noalias() =
            curvature.cross.middleCols(g * r_, r_) *
            inverse_.middleCols(g * r_, r_);
      }
    }
    if (p_ > 0) {
      schur_.triangularView<Eigen::Lower>() -=
          loading_ * curvature.cross.transpose();
    }
  }

  // u_g = D_g^-1 (rhs_g - B_g' theta).
  void back_substitute(const ArrowVector& rhs, ArrowVector& out) {
    if (groups_ == 0) return;
    if (r_ == 1) {
      out.group.array() = rhs.group.array() * inverse_.array();
    } else {
      for (Index g = 0; g < groups_; ++g) {
        out.group.col(g).noalias() =
            inverse_.middleCols(g * r_, r_) * rhs.group.col(g);
      }
    }
    if (p_ == 0) return;
    Eigen::Map<VectorXd>(out.group.data(), r_ * groups_).noalias() -=
        loading_.transpose() * out.x;
  }

  Index p_, r_, groups_;
  MatrixXd schur_, loading_, inverse_, root_, group_scratch_;
  VectorXd small_;
  Eigen::LLT<MatrixXd> llt_, group_llt_;
  double log_det_ = 0.0;
  double jitter_ = 0.0;
};

}  // namespace bayeskernel

#endif
