// The group effects u_g of a linear system, eliminated: per group D_g (sums and
// prior), B_g and what follows from them, never an object of size p + G r.
// Cost of factor(): G (p r^2 + r^3), of a subtraction G p^2 r. Many groups are
// taken in strips that depend on their number alone.
#ifndef BAYESKERNEL_LINEAR_GROUPS_HPP
#define BAYESKERNEL_LINEAR_GROUPS_HPP

#include <Eigen/Cholesky>
#include <Eigen/Core>
#include <algorithm>
#include <cmath>

#include "rows/rows.hpp"
#include "error.hpp"
#include "math/cholesky.hpp"
#include "simd/gram.hpp"
#include "parallel/executor.hpp"
#include "rows/sums.hpp"

namespace bayeskernel {

class EliminatedGroups {
 public:
  // `executor`: runs the strips; null: one after another.
  EliminatedGroups(Index p, Index r, Index groups, Executor* executor = nullptr)
      : p_(p),
        r_(r),
        groups_(groups),
        executor_(executor),
        strip_(std::max(kStrip, (groups + kMostStrips - 1) / kMostStrips)),
        loading_(p, r * groups),
        inverse_(r, r * groups),
        root_(r, r * groups),
        small_(r) {}

  Index count() const { return groups_; }

  // D_g = group_gram_g + prior, D_g^-1 and B_g D_g^-1.
  void factor(const Curvature& curvature, const MatrixXd& prior) {
    VectorXd log_det = VectorXd::Zero(strips());
    for_strips([&](Index strip, Index first, Index count) {
      log_det[strip] = factor(curvature, prior, first, first + count);
    });
    log_det_ = log_det.sum();
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
    if (strips() == 1) {
      subtract_from(curvature, 0, groups_, gram);
      return;
    }
    MatrixXd sums = MatrixXd::Zero(p_, p_ * strips());
    for_strips([&](Index strip, Index first, Index count) {
      subtract_from(curvature, first, count,
                    sums.middleCols(strip * p_, p_));
    });
    for (Index strip = 0; strip < strips(); ++strip) {
      gram.triangularView<Eigen::Lower>() += sums.middleCols(strip * p_, p_);
    }
  }

  // x -= sum B_g D_g^-1 rhs_g.
  void subtract_from(const ArrowVector& rhs, VectorXd& x) const {
    if (groups_ == 0 || p_ == 0) return;
    if (strips() == 1) {
      x.noalias() -= loading_ * rhs.effects();
      return;
    }
    MatrixXd sums(p_, strips());
    for_strips([&](Index strip, Index first, Index count) {
      sums.col(strip).noalias() =
          loading_.middleCols(first * r_, count * r_) *
          rhs.effects().segment(first * r_, count * r_);
    });
    for (Index strip = 0; strip < strips(); ++strip) x -= sums.col(strip);
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
    for_strips([&](Index, Index first, Index count) {
      point.effects().segment(first * r_, count * r_).noalias() -=
          loading_.middleCols(first * r_, count * r_).transpose() * point.x;
    });
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

  Index strips() const { return (groups_ + strip_ - 1) / strip_; }

  // body(strip, its first group, their number).
  template <class Body>
  void for_strips(Body&& body) const {
    const auto run = [&](Index strip) {
      const Index first = strip * strip_;
      body(strip, first, std::min(strip_, groups_ - first));
    };
    if (executor_ != nullptr && strips() > 1) {
      executor_->run(strips(), run);
    } else {
      for (Index strip = 0; strip < strips(); ++strip) run(strip);
    }
  }

  // sum log |D_g|.
  double log_det() const { return log_det_; }
  // B_g D_g^-1, p x (r G).
  const MatrixXd& loading() const { return loading_; }
  // D_g^-1, r x (r G).
  const MatrixXd& inverse() const { return inverse_; }

 private:
  // The groups begin .. end - 1; sum log |D_g|.
  double factor(const Curvature& curvature, const MatrixXd& prior, Index begin,
                Index end) {
    double sum = 0.0;
    if (r_ == 1) {
      for (Index g = begin; g < end; ++g) {
        const double d = curvature.group_gram(0, g) + prior(0, 0);
        if (!(d > 0.0)) throw NumericError("a group precision is not positive");
        inverse_(0, g) = 1.0 / d;
        root_(0, g) = std::sqrt(inverse_(0, g));
        sum += std::log(d);
        loading_.col(g) = curvature.cross.col(g) * inverse_(0, g);
      }
      return sum;
    }
    Eigen::LLT<MatrixXd> llt(r_);
    for (Index g = begin; g < end; ++g) {
      llt.compute(curvature.group_gram.middleCols(g * r_, r_) + prior);
      if (llt.info() != Eigen::Success) {
        throw NumericError("a group precision is not positive definite");
      }
      sum += bayeskernel::log_det(llt);
      auto root = root_.middleCols(g * r_, r_);
      root.setIdentity();
      llt.matrixU().solveInPlace(root);  // D^-1 = root root'
      inverse_.middleCols(g * r_, r_).noalias() = root * root.transpose();
      loading_.middleCols(g * r_, r_).noalias() =
          curvature.cross.middleCols(g * r_, r_) *
          inverse_.middleCols(g * r_, r_);
    }
    return sum;
  }

  // The same of `count` groups.
  void subtract_from(const Curvature& curvature, Index first, Index count,
                     Eigen::Ref<MatrixXd> gram) const {
    if (r_ > 1) {
      gram.triangularView<Eigen::Lower>() -=
          loading_.middleCols(first * r_, count * r_) *
          curvature.cross.middleCols(first * r_, count * r_).transpose();
      return;
    }
    constexpr Index kAtOnce = 256;
    MatrixXd scratch;
    for (Index g = first; g < first + count; g += kAtOnce) {
      const Index some = std::min(kAtOnce, first + count - g);
      weighted_gram(curvature.cross.middleCols(g, some),
                    -inverse_.row(0).segment(g, some).transpose(), scratch,
                    gram);
    }
  }

  static constexpr Index kStrip = 4096, kMostStrips = 16;

  Index p_, r_, groups_;
  Executor* executor_;
  Index strip_;  // groups
  MatrixXd loading_, inverse_, root_;
  VectorXd small_;
  double log_det_ = 0.0;
};

}  // namespace bayeskernel

#endif
