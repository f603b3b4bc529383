// The group effects u_g of a linear system, eliminated: per group D_g (sums and
// prior), B_g and what follows from them, never an object of size p + G r.
// Cost of factor(): G (p r^2 + r^3), of a subtraction G p^2 r. Many groups are
// taken in strips that depend on their number alone.
#pragma once

#include "eigen.hpp"
#include "parallel/executor.hpp"
#include "rows/rows.hpp"
#include "rows/sums.hpp"
#include "simd/gram.hpp"

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
  void factor(const Curvature& curvature, const MatrixXd& prior);

  // What moments of rows need of groups that were factored elsewhere.
  void adopt(const MatrixRef& loading, const MatrixRef& inverse);

  // gram -= sum B_g D_g^-1 B_g', lower triangle.
  void subtract_from(const Curvature& curvature, MatrixXd& gram) const;

  // x -= sum B_g D_g^-1 rhs_g.
  void subtract_from(const ArrowVector& rhs, VectorXd& x) const;

  // u_g = D_g^-1 (rhs_g - B_g' theta), with theta = point.x.
  void back_substitute(const ArrowVector& rhs, ArrowVector& point) const;

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
                    const Tile& tile, double* s) const;

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
                Index end);

  // The same of `count` groups.
  void subtract_from(const Curvature& curvature, Index first, Index count,
                     Eigen::Ref<MatrixXd> gram) const;

  static constexpr Index kStrip = 4096, kMostStrips = 16;

  Index p_, r_, groups_;
  Executor* executor_;
  Index strip_;  // groups
  MatrixXd loading_, inverse_, root_;
  VectorXd small_;
  double log_det_ = 0.0;
};
}  // namespace bayeskernel
