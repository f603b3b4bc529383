// q(theta, u) as a pass reads it: the mean, and the covariance through
// U = L^-1 with S_c = L L', the loadings and D_g^-1.
#ifndef BAYESKERNEL_LINEAR_GAUSSIAN_HPP
#define BAYESKERNEL_LINEAR_GAUSSIAN_HPP

#include <Eigen/Core>
#include <algorithm>

#include "rows/rows.hpp"
#include "simd/dense_factor.hpp"
#include "simd/lower_product.hpp"
#include "rows/sums.hpp"
#include "linear/system.hpp"

namespace bayeskernel {

class GaussianPosterior {
 public:
  GaussianPosterior(Index p, Index r, Index groups)
      : mean(p, r, groups),
        p_(p),
        r_(r),
        groups_(groups),
        whitener_(MatrixXd::Zero(p, p)) {}

  ArrowVector mean;

  void set_covariance(const ArrowSystem& system) {
    system_ = &system;
    eliminated_ = &system.groups();
    if (p_ == 0) return;
    invert_lower_into(system.llt().matrixLLT(), whitener_);
    product_.set(whitener_);
    if (groups_ > 0 && (p_ <= 4 || !simd::enabled())) {
      spread_ = spread(0, groups_);
    }
  }

  // The covariance U'U of theta, U lower triangular; without groups.
  void set_whitener(const Eigen::Ref<const MatrixXd>& whitener) {
    whitener_ = whitener;
    product_.set(whitener_);
  }
  const MatrixXd& whitener() const { return whitener_; }

  // What moments of rows are read from where the system is another's: U, the
  // groups, and V where they are read from that, empty if it is not known.
  void set_covariance(const Eigen::Ref<const MatrixXd>& whitener,
                      const Eigen::Ref<const MatrixXd>& spread,
                      const EliminatedGroups& groups) {
    set_whitener(whitener);
    eliminated_ = &groups;
    if (spread.size() > 0) {
      spread_ = spread;
    } else if (groups_ > 0 && reads_spread()) {
      spread_.noalias() =
          whitener_.triangularView<Eigen::Lower>() * groups.loading();
    }
  }
  // V, p x (r G), and whether moments are read from it, else from the loadings.
  const MatrixXd& spread() const { return spread_; }
  bool reads_spread() const { return p_ <= 4 || !simd::enabled(); }
  const EliminatedGroups& eliminated() const { return *eliminated_; }

  double log_det() const { return -system_->log_det(); }

  MatrixXd theta_covariance() const {
    return whitener_.transpose() * whitener_;
  }
  VectorXd theta_variance() const {
    return whitener_.colwise().squaredNorm().transpose();
  }

  // sum over the members of a block of E(v v').
  MatrixXd second_moment(const Block& block) const {
    const Index r = block.width;
    MatrixXd sum = MatrixXd::Zero(r, r);
    if (block.eliminated) {
      sum.noalias() += mean.group * mean.group.transpose();
      MatrixXd parts = MatrixXd::Zero(r, r * eliminated_->strips());
      for_group_covariances([&](Index strip, Index, const MatrixXd& own) {
        parts.middleCols(strip * r, r) += own;
      });
      for (Index strip = 0; strip < eliminated_->strips(); ++strip) {
        sum += parts.middleCols(strip * r, r);
      }
    } else if (r == 1) {
      sum(0, 0) =
          mean.x.segment(block.first, block.members).squaredNorm() +
          whitener_.middleCols(block.first, block.members).squaredNorm();
    } else {
      for (Index m = 0; m < block.members; ++m) {
        const Index at = block.first + m * r;
        const auto v = mean.x.segment(at, r);
        const auto u = whitener_.middleCols(at, r);
        sum.noalias() += v * v.transpose();
        sum.noalias() += u.transpose() * u;
      }
    }
    return sum;
  }

  // D_g^-1 + H_g Sigma H_g'.
  MatrixXd group_covariance(Index g) const {
    MatrixXd out = eliminated_->inverse().middleCols(g * r_, r_);
    if (p_ > 0) {
      const MatrixXd v = spread(g, 1);
      out.noalias() += v.transpose() * v;
    }
    return out;
  }

  // That of every group, r x (r G).
  MatrixXd group_covariances() const {
    MatrixXd out(r_, r_ * groups_);
    for_group_covariances([&](Index, Index g, const MatrixXd& own) {
      out.middleCols(g * r_, r_) = own;
    });
    return out;
  }

  // Var f for the rows of a tile; `work` holds 2 p x rows numbers.
  void tile_variances(const RowSource& rows, const TileSpan& span,
                      const Tile& tile, MatrixXd& work, double* s) const {
    const Index n = span.row_end - span.row_begin;
    for (Index i = 0; i < n; ++i) {
      s[i] = tile.residual_of(i);
    }
    if (groups_ > 0) eliminated_->add_variance(rows, span, tile, s);
    if (p_ == 0) return;
    switch (p_) {
      case 1: return small<1>(rows, span, tile, s);
      case 2: return small<2>(rows, span, tile, s);
      case 3: return small<3>(rows, span, tile, s);
      case 4: return small<4>(rows, span, tile, s);
      default: break;
    }
    if (work.rows() != p_ || work.cols() < n) work.resize(p_, n);
    auto white = work.leftCols(n);
    if (simd::enabled() || groups_ == 0) {
      const double* x = tile.x.data();
      if (groups_ > 0) {
        white = tile.x;
        subtract_groups(rows, span, tile, eliminated_->loading(), work);
        x = work.data();
      }
      product_.add_norms(x, n, work, s);
      return;
    }
    white.noalias() = whitener_.triangularView<Eigen::Lower>() * tile.x;
    subtract_groups(rows, span, tile, spread_, work);
    Eigen::Map<VectorXd>(s, n) += white.colwise().squaredNorm().transpose();
  }

 private:
  // V = U B D^-1 of `count` groups.
  MatrixXd spread(Index first, Index count) const {
    return whitener_.triangularView<Eigen::Lower>() *
           system_->loading().middleCols(first * r_, count * r_);
  }

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

  // Column i of `to` loses the columns of `from` of its group, times z_i.
  void subtract_groups(const RowSource& rows, const TileSpan& span,
                       const Tile& tile, const MatrixXd& from,
                       MatrixXd& to) const {
    rows.for_groups(span, [&](Index g, Index begin, Index end) {
      for (Index i = begin; i < end; ++i) {
        for (Index k = 0; k < r_; ++k) {
          to.col(i) -= from.col(g * r_ + k) * tile.z(k, i);
        }
      }
    });
  }

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
        const double* spread = spread_.data() + g * r_ * P;
        for (Index j = 0; j < r_; ++j, spread += P) {
          white -= z[j] * RowMap(spread);
        }
        s[i] += white.squaredNorm();
      }
    });
  }

  Index p_, r_, groups_;
  MatrixXd whitener_;  // U
  LowerProduct product_;
  MatrixXd spread_;    // V of all groups, where tiles ask for it
  const ArrowSystem* system_ = nullptr;
  const EliminatedGroups* eliminated_ = nullptr;
};

}  // namespace bayeskernel

#endif
