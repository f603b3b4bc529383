// The group effects u_g of a linear system, eliminated: per group D_g (sums and
// prior), B_g and what follows from them, never an object of size p + G r.
// Cost of factor(): G (p r^2 + r^3), of a subtraction G p^2 r.
#ifndef BAYESKERNEL_HINGE_GROUPS_HPP
#define BAYESKERNEL_HINGE_GROUPS_HPP

#include <Eigen/Cholesky>
#include <Eigen/Core>
#include <algorithm>
#include <cmath>

#include "../data/rows.hpp"
#include "../error.hpp"
#include "../math/cholesky.hpp"
#include "../math/gram.hpp"
#include "sums.hpp"

namespace bayeskernel {

class EliminatedGroups {
 public:
  EliminatedGroups(Index p, Index r, Index groups)
      : p_(p),
        r_(r),
        groups_(groups),
        loading_(p, r * groups),
        inverse_(r, r * groups),
        root_(r, r * groups),
        scratch_(r, r),
        small_(r) {}

  Index count() const { return groups_; }

  // D_g = group_gram_g + prior, D_g^-1 and B_g D_g^-1.
  void factor(const Curvature& curvature, const MatrixXd& prior) {
    log_det_ = 0.0;
    if (r_ == 1) {
      for (Index g = 0; g < groups_; ++g) {
        const double d = curvature.group_gram(0, g) + prior(0, 0);
        if (!(d > 0.0)) throw NumericError("a group precision is not positive");
        inverse_(0, g) = 1.0 / d;
        root_(0, g) = std::sqrt(inverse_(0, g));
        log_det_ += std::log(d);
        loading_.col(g) = curvature.cross.col(g) * inverse_(0, g);
      }
      return;
    }
    for (Index g = 0; g < groups_; ++g) {
      scratch_ = curvature.group_gram.middleCols(g * r_, r_) + prior;
      llt_.compute(scratch_);
      if (llt_.info() != Eigen::Success) {
        throw NumericError("a group precision is not positive definite");
      }
      log_det_ += bayeskernel::log_det(llt_);
      auto root = root_.middleCols(g * r_, r_);
      root.setIdentity();
      llt_.matrixU().solveInPlace(root);  // D^-1 = root root'
      inverse_.middleCols(g * r_, r_).noalias() = root * root.transpose();
      loading_.middleCols(g * r_, r_).noalias() =
          curvature.cross.middleCols(g * r_, r_) *
          inverse_.middleCols(g * r_, r_);
    }
  }

  // What moments of rows need of groups that were factored elsewhere.
  void adopt(const Eigen::Ref<const MatrixXd>& loading,
             const Eigen::Ref<const MatrixXd>& inverse) {
    loading_ = loading;
    inverse_ = inverse;
  }

  // gram -= sum B_g D_g^-1 B_g', lower triangle.
  void subtract_from(const Curvature& curvature, MatrixXd& gram) const {
    if (groups_ == 0 || p_ == 0) return;
    if (r_ > 1) {
      gram.triangularView<Eigen::Lower>() -=
          loading_ * curvature.cross.transpose();
      return;
    }
    constexpr Index kStrip = 256;
    MatrixXd scratch;
    for (Index g = 0; g < groups_; g += kStrip) {
      const Index count = std::min(kStrip, groups_ - g);
      weighted_gram(curvature.cross.middleCols(g, count),
                    -inverse_.row(0).segment(g, count).transpose(), scratch,
                    gram);
    }
  }

  // x -= sum B_g D_g^-1 rhs_g.
  void subtract_from(const ArrowVector& rhs, VectorXd& x) const {
    if (groups_ > 0 && p_ > 0) x.noalias() -= loading_ * rhs.effects();
  }

  // u_g = D_g^-1 (rhs_g - B_g' theta), with theta = point.x.
  void back_substitute(const ArrowVector& rhs, ArrowVector& point) const {
    if (groups_ == 0) return;
    if (r_ == 1) {
      point.group.array() = rhs.group.array() * inverse_.array();
    } else {
      for (Index g = 0; g < groups_; ++g) {
        point.group.col(g).noalias() =
            inverse_.middleCols(g * r_, r_) * rhs.group.col(g);
      }
    }
    if (p_ == 0) return;
    point.effects().noalias() -= loading_.transpose() * point.x;
  }

  // point.group += N(0, D_g^-1), r standard normals for each group in turn.
  template <class Normal>
  void add_noise(Normal&& normal, ArrowVector& point) {
    if (r_ == 1) {
      for (Index g = 0; g < groups_; ++g) {
        point.group(0, g) += normal() * root_(0, g);
      }
      return;
    }
    for (Index g = 0; g < groups_; ++g) {
      for (Index k = 0; k < r_; ++k) small_[k] = normal();
      point.group.col(g).noalias() +=
          root_.middleCols(g * r_, r_).triangularView<Eigen::Upper>() * small_;
    }
  }

  // s += z' D_g^-1 z for the rows of a tile.
  void add_variance(const RowSource& rows, const TileSpan& span,
                    const Tile& tile, double* s) const {
    rows.for_groups(span, [&](Index g, Index begin, Index end) {
      const double* inverse = inverse_.data() + g * r_ * r_;
      for (Index i = begin; i < end; ++i) {
        const double* z = tile.z.data() + i * r_;
        for (Index k = 0; k < r_; ++k) {
          double row = 0.0;
          for (Index j = 0; j < r_; ++j) row += inverse[k * r_ + j] * z[j];
          s[i] += row * z[k];
        }
      }
    });
  }

  // sum log |D_g|.
  double log_det() const { return log_det_; }
  // B_g D_g^-1, p x (r G).
  const MatrixXd& loading() const { return loading_; }
  // D_g^-1, r x (r G).
  const MatrixXd& inverse() const { return inverse_; }

 private:
  Index p_, r_, groups_;
  MatrixXd loading_, inverse_, root_, scratch_;
  VectorXd small_;
  Eigen::LLT<MatrixXd> llt_;
  double log_det_ = 0.0;
};

}  // namespace bayeskernel

#endif
