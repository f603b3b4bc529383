// q(theta, u) as a pass reads it: the mean, and the covariance through
// U = L^-1 with S_c = L L', the loadings and D_g^-1.
#pragma once

#include "eigen.hpp"
#include "linear/groups.hpp"
#include "linear/system.hpp"
#include "prior/blocks.hpp"
#include "rows/nonzero_columns.hpp"
#include "rows/rows.hpp"
#include "rows/sums.hpp"
#include "simd/lower_product.hpp"
#include "simd/simd.hpp"

namespace bayeskernel {
class GaussianPosterior {
 public:
  GaussianPosterior(Index p, Index r, Index groups);

  ArrowVector mean;

  void set_covariance(const ArrowSystem& system);

  // The covariance U'U of theta, U lower triangular; without groups.
  void set_whitener(const MatrixRef& whitener);
  const MatrixXd& whitener() const { return whitener_; }

  // What moments of rows are read from where the system is another's: U, the
  // groups, and V where they are read from that, empty if it is not known.
  void set_covariance(const MatrixRef& whitener,
                      const MatrixRef& whitened_loading,
                      const EliminatedGroups& groups);
  // V, p x (r G), and whether moments are read from it, else from the loadings.
  const MatrixXd& whitened_loading() const { return whitened_loading_; }
  bool reads_whitened_loading() const { return p_ <= 4 || !simd::enabled(); }
  const EliminatedGroups& eliminated() const { return *eliminated_; }

  double log_det() const { return -system_->log_det(); }

  MatrixXd theta_covariance() const;
  VectorXd theta_variance() const;

  // sum over the members of a block of E(v v').
  MatrixXd second_moment(const Block& block) const;

  // D_g^-1 + H_g Sigma H_g'.
  MatrixXd group_covariance(Index g) const;

  // That of every group, r x (r G).
  MatrixXd group_covariances() const;

  // Var f for the rows of a tile; `work` holds 2 p x rows numbers.
  void tile_variances(const RowSource& rows, const TileSpan& span,
                      const Tile& tile, MatrixXd& work, double* s,
                      const NonzeroColumns& active = NonzeroColumns()) const;

 private:
  // V = U B D^-1 of `count` groups.
  MatrixXd whitened_loading(Index first, Index count) const;

  // visit(strip, g, covariance) for every group of every strip, some at a time.
  template <class Visit>
  void for_group_covariances(Visit&& visit) const {
    eliminated_->for_strips([&](Index strip, Index begin, Index size) {
      constexpr Index kAtOnce = 256;
      MatrixXd own, white(p_, kAtOnce * r_);
      VectorXd norms(kAtOnce * r_);
      for (Index first = begin; first < begin + size; first += kAtOnce) {
        const Index count = std::min(kAtOnce, begin + size - first);
        if (p_ > 0) {
          product_.apply(eliminated_->loading().data() + first * r_ * p_,
                         count * r_, white.data(), norms.data());
        }
        for (Index g = 0; g < count; ++g) {
          own = eliminated_->inverse().middleCols((first + g) * r_, r_);
          if (p_ > 0) {
            const auto v = white.middleCols(g * r_, r_);
            own.noalias() += v.transpose() * v;
          }
          visit(strip, first + g, own);
        }
      }
    });
  }

  // What few active columns add to s; whether the groups' loadings allow it.
  bool add_active(const RowSource& rows, const TileSpan& span, const Tile& tile,
                  const NonzeroColumns& active, double* s) const;

  // Column i of `to` loses the columns of `from` of its group, times z_i.
  void subtract_groups(const RowSource& rows, const TileSpan& span,
                       const Tile& tile, const MatrixXd& from,
                       MatrixXd& to) const;

  // Few columns: U x - V_g z stays in registers.
  template <int P>
  void small(const RowSource& rows, const TileSpan& span, const Tile& tile,
             double* s) const {
    using Row = Eigen::Matrix<double, P, 1>;
    using RowMap = Eigen::Map<const Row>;
    const Eigen::Matrix<double, P, P> u = whitener_;
    const Index n = span.row_end - span.row_begin;
    const double* x = tile.x.data();
    if (groups_ == 0) {
      for (Index i = 0; i < n; ++i, x += P) {
        const Row white = u.lazyProduct(RowMap(x));
        s[i] += white.squaredNorm();
      }
      return;
    }
    const double* z = tile.z.data();
    rows.for_groups(span, [&](Index g, Index begin, Index end) {
      for (Index i = begin; i < end; ++i, x += P, z += r_) {
        Row white = u.lazyProduct(RowMap(x));
        const double* whitened_loading = whitened_loading_.data() + g * r_ * P;
        for (Index j = 0; j < r_; ++j, whitened_loading += P) {
          white -= z[j] * RowMap(whitened_loading);
        }
        s[i] += white.squaredNorm();
      }
    });
  }

  Index p_, r_, groups_;
  MatrixXd whitener_;  // U
  LowerProduct product_;
  MatrixXd whitened_loading_;  // V of all groups, where tiles ask for it
  const ArrowSystem* system_ = nullptr;
  const EliminatedGroups* eliminated_ = nullptr;
};
}  // namespace bayeskernel
