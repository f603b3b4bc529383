#include "linear/groups.hpp"

#include "error.hpp"
#include "math/cholesky.hpp"
#include "rows/nonzero_columns.hpp"

namespace bayeskernel {
void EliminatedGroups::factor(const Curvature& curvature,
                              const MatrixXd& prior) {
  VectorXd log_det = VectorXd::Zero(strips());
  for_strips([&](Index strip, Index first, Index count) {
    log_det[strip] = factor(curvature, prior, first, first + count);
  });
  log_det_ = log_det.sum();
}

void EliminatedGroups::adopt(const MatrixRef& loading,
                             const MatrixRef& inverse) {
  loading_ = loading;
  inverse_ = inverse;
}

void EliminatedGroups::subtract_from(const Curvature& curvature,
                                     MatrixXd& gram) const {
  if (groups_ == 0 || p_ == 0) return;
  if (strips() == 1) {
    subtract_from(curvature, 0, groups_, gram);
    return;
  }
  MatrixXd sums = MatrixXd::Zero(p_, p_ * strips());
  for_strips([&](Index strip, Index first, Index count) {
    subtract_from(curvature, first, count, sums.middleCols(strip * p_, p_));
  });
  for (Index strip = 0; strip < strips(); ++strip) {
    gram.triangularView<Eigen::Lower>() += sums.middleCols(strip * p_, p_);
  }
}

void EliminatedGroups::subtract_from(const ArrowVector& rhs,
                                     VectorXd& x) const {
  if (groups_ == 0 || p_ == 0) return;
  if (strips() == 1) {
    x.noalias() -= loading_ * rhs.effects();
    return;
  }
  MatrixXd sums(p_, strips());
  for_strips([&](Index strip, Index first, Index count) {
    sums.col(strip).noalias() = loading_.middleCols(first * r_, count * r_) *
                                rhs.effects().segment(first * r_, count * r_);
  });
  for (Index strip = 0; strip < strips(); ++strip) x -= sums.col(strip);
}

void EliminatedGroups::back_substitute(const ArrowVector& rhs,
                                       ArrowVector& point) const {
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

void EliminatedGroups::add_variance(const RowSource& rows, const TileSpan& span,
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

double EliminatedGroups::factor(const Curvature& curvature,
                                const MatrixXd& prior, Index begin, Index end) {
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

void EliminatedGroups::subtract_from(const Curvature& curvature, Index first,
                                     Index count,
                                     Eigen::Ref<MatrixXd> gram) const {
  NonzeroColumns active;
  active.find(curvature.cross.middleCols(first * r_, r_));
  if (active.few()) {
    constexpr Index kNear = 32;
    for (Index g = first; g < first + count; g += kNear) {
      const Index at = g * r_, some = std::min(kNear, first + count - g) * r_;
      active.find(curvature.cross.middleCols(at, some));
      const auto loading = loading_.middleCols(at, some);
      if (active.few()) {
        active.add_lower(-active.rows_of(loading) * active.x().transpose(),
                         gram);
      } else {
        gram.triangularView<Eigen::Lower>() -=
            loading * curvature.cross.middleCols(at, some).transpose();
      }
    }
    return;
  }
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
                  -inverse_.row(0).segment(g, some).transpose(), scratch, gram);
  }
}
}  // namespace bayeskernel
