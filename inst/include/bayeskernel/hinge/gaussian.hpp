// q(theta, u) as a pass reads it: the mean, and the covariance through
// U = L^-1 with S_c = L L', the loadings and D_g^-1 (svm.md section 11).
#ifndef BAYESKERNEL_HINGE_GAUSSIAN_HPP
#define BAYESKERNEL_HINGE_GAUSSIAN_HPP

#include <Eigen/Core>

#include "../data/rows.hpp"
#include "statistics.hpp"
#include "system.hpp"

namespace bayeskernel {

class GaussianPosterior {
 public:
  GaussianPosterior(Index p, Index r, Index groups)
      : mean(p, r, groups),
        p_(p),
        r_(r),
        groups_(groups),
        whitener_(MatrixXd::Zero(p, p)),
        spread_(p, r * groups) {}

  ArrowVector mean;

  void set_covariance(const ArrowSystem& system) {
    system_ = &system;
    if (p_ == 0) return;
    whitener_.setIdentity();
    system.llt().matrixL().solveInPlace(whitener_);
    if (groups_ > 0) {
      spread_.noalias() =
          whitener_.triangularView<Eigen::Lower>() * system.loading();
    }
  }

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
      for (Index g = 0; g < groups_; ++g) sum += group_covariance(g);
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
    MatrixXd out = system_->group_inverse().middleCols(g * r_, r_);
    if (p_ > 0) {
      const auto v = spread_.middleCols(g * r_, r_);
      out.noalias() += v.transpose() * v;
    }
    return out;
  }

  // Var f for the rows of a tile; `work` holds 2 p x rows numbers.
  void tile_variances(const RowSource& rows, const TileSpan& span,
                      const Tile& tile, MatrixXd& work, double* s) const {
    const Index n = span.row_end - span.row_begin;
    for (Index i = 0; i < n; ++i) {
      s[i] = tile.residual.size() > 0 ? tile.residual[i] : 0.0;
    }
    if (groups_ > 0) add_group_variance(rows, span, tile, s);
    if (p_ == 0) return;
    switch (p_) {
      case 1: return small<1>(rows, span, tile, s);
      case 2: return small<2>(rows, span, tile, s);
      case 3: return small<3>(rows, span, tile, s);
      case 4: return small<4>(rows, span, tile, s);
      case 5: return small<5>(rows, span, tile, s);
      case 6: return small<6>(rows, span, tile, s);
      default: break;
    }
    if (work.rows() != p_ || work.cols() < n) work.resize(p_, n);
    auto white = work.leftCols(n);
    white.noalias() = whitener_.triangularView<Eigen::Lower>() * tile.x;
    for (Index g = span.group_begin; g < span.group_end; ++g) {
      const Index begin = rows.group_begin(g) - span.row_begin;
      const Index end = rows.group_begin(g + 1) - span.row_begin;
      for (Index i = begin; i < end; ++i) {
        for (Index k = 0; k < r_; ++k) {
          white.col(i) -= spread_.col(g * r_ + k) * tile.z(k, i);
        }
      }
    }
    Eigen::Map<VectorXd>(s, n) += white.colwise().squaredNorm().transpose();
  }

 private:
  // z' D_g^-1 z.
  void add_group_variance(const RowSource& rows, const TileSpan& span,
                          const Tile& tile, double* s) const {
    for (Index g = span.group_begin; g < span.group_end; ++g) {
      const Index begin = rows.group_begin(g) - span.row_begin;
      const Index end = rows.group_begin(g + 1) - span.row_begin;
      const double* inverse = system_->group_inverse().data() + g * r_ * r_;
      for (Index i = begin; i < end; ++i) {
        const double* z = tile.z.data() + i * r_;
        for (Index k = 0; k < r_; ++k) {
          double row = 0.0;
          for (Index j = 0; j < r_; ++j) row += inverse[k * r_ + j] * z[j];
          s[i] += row * z[k];
        }
      }
    }
  }

  // Few columns: U x - V_g z stays in registers.
  template <int P>
  void small(const RowSource& rows, const TileSpan& span, const Tile& tile,
             double* s) const {
    double u[P * (P + 1) / 2];
    int at = 0;
    for (int c = 0; c < P; ++c) {
      for (int k = c; k < P; ++k) u[at++] = whitener_(k, c);
    }
    const Index n = span.row_end - span.row_begin;
    Index g = span.group_begin;
    for (Index i = 0; i < n; ++i) {
      const double* x = tile.x.data() + i * P;
      double white[P] = {0.0};
      int k = 0;
      for (int c = 0; c < P; ++c) {
        for (int row = c; row < P; ++row) white[row] += u[k++] * x[c];
      }
      if (groups_ > 0) {
        while (rows.group_begin(g + 1) <= span.row_begin + i) ++g;
        const double* spread = spread_.data() + g * r_ * P;
        const double* z = tile.z.data() + i * r_;
        for (Index j = 0; j < r_; ++j, spread += P) {
          for (int row = 0; row < P; ++row) white[row] -= spread[row] * z[j];
        }
      }
      double sum = 0.0;
      for (int row = 0; row < P; ++row) sum += white[row] * white[row];
      s[i] += sum;
    }
  }

  Index p_, r_, groups_;
  MatrixXd whitener_;  // U
  MatrixXd spread_;    // V = U B D^-1, p x (r G)
  const ArrowSystem* system_ = nullptr;
};

}  // namespace bayeskernel

#endif
