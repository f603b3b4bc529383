#include "linear/gaussian.hpp"

#include "simd/dense_factor.hpp"

namespace bayeskernel {
GaussianPosterior::GaussianPosterior(Index p, Index r, Index groups)
    : mean(p, r, groups),
      p_(p),
      r_(r),
      groups_(groups),
      whitener_(MatrixXd::Zero(p, p)) {}

void GaussianPosterior::set_covariance(const ArrowSystem& system) {
  system_ = &system;
  eliminated_ = &system.groups();
  if (p_ == 0) return;
  invert_lower_into(system.llt().matrixLLT(), whitener_);
  product_.set(whitener_);
  if (groups_ > 0 && (p_ <= 4 || !simd::enabled())) {
    whitened_loading_ = whitened_loading(0, groups_);
  }
}

void GaussianPosterior::set_whitener(const MatrixRef& whitener) {
  whitener_ = whitener;
  product_.set(whitener_);
}

void GaussianPosterior::set_covariance(const MatrixRef& whitener,
                                       const MatrixRef& whitened_loading,
                                       const EliminatedGroups& groups) {
  set_whitener(whitener);
  eliminated_ = &groups;
  if (whitened_loading.size() > 0) {
    whitened_loading_ = whitened_loading;
  } else if (groups_ > 0 && reads_whitened_loading()) {
    whitened_loading_.noalias() =
        whitener_.triangularView<Eigen::Lower>() * groups.loading();
  }
}

MatrixXd GaussianPosterior::theta_covariance() const {
  return whitener_.transpose() * whitener_;
}

VectorXd GaussianPosterior::theta_variance() const {
  return whitener_.colwise().squaredNorm().transpose();
}

MatrixXd GaussianPosterior::second_moment(const Block& block) const {
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
    sum(0, 0) = mean.x.segment(block.first, block.members).squaredNorm() +
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

MatrixXd GaussianPosterior::group_covariance(Index g) const {
  MatrixXd out = eliminated_->inverse().middleCols(g * r_, r_);
  if (p_ > 0) {
    const MatrixXd v = whitened_loading(g, 1);
    out.noalias() += v.transpose() * v;
  }
  return out;
}

MatrixXd GaussianPosterior::group_covariances() const {
  MatrixXd out(r_, r_ * groups_);
  for_group_covariances([&](Index, Index g, const MatrixXd& own) {
    out.middleCols(g * r_, r_) = own;
  });
  return out;
}

void GaussianPosterior::tile_variances(const RowSource& rows,
                                       const TileSpan& span, const Tile& tile,
                                       MatrixXd& work, double* s,
                                       const NonzeroColumns& active) const {
  const Index n = span.row_end - span.row_begin;
  for (Index i = 0; i < n; ++i) {
    s[i] = tile.residual_of(i);
  }
  if (groups_ > 0) eliminated_->add_variance(rows, span, tile, s);
  if (p_ == 0) return;
  switch (p_) {
    case 1:
      return small<1>(rows, span, tile, s);
    case 2:
      return small<2>(rows, span, tile, s);
    case 3:
      return small<3>(rows, span, tile, s);
    case 4:
      return small<4>(rows, span, tile, s);
    default:
      break;
  }
  if (active.few() && add_active(rows, span, tile, active, s)) return;
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
  subtract_groups(rows, span, tile, whitened_loading_, work);
  Eigen::Map<VectorXd>(s, n) += white.colwise().squaredNorm().transpose();
}

bool GaussianPosterior::add_active(const RowSource& rows, const TileSpan& span,
                                   const Tile& tile,
                                   const NonzeroColumns& active,
                                   double* s) const {
  MatrixXd v = active.x();
  bool covered = true;
  if (groups_ > 0) {
    rows.for_groups(span, [&](Index g, Index begin, Index end) {
      const auto loading = eliminated_->loading().middleCols(g * r_, r_);
      for (Index k = 0; k < r_; ++k) {
        covered = covered && active.cover(loading.col(k).data(), p_);
      }
      v.middleCols(begin, end - begin).noalias() -=
          active.rows_of(loading) * tile.z.middleCols(begin, end - begin);
    });
  }
  if (!covered) return false;
  const MatrixXd root = active.columns_of(whitener_);
  const MatrixXd sigma = root.transpose() * root;
  Eigen::Map<VectorXd>(s, v.cols()) +=
      (sigma * v).cwiseProduct(v).colwise().sum().transpose();
  return true;
}

MatrixXd GaussianPosterior::whitened_loading(Index first, Index count) const {
  return whitener_.triangularView<Eigen::Lower>() *
         system_->loading().middleCols(first * r_, count * r_);
}

void GaussianPosterior::subtract_groups(const RowSource& rows,
                                        const TileSpan& span, const Tile& tile,
                                        const MatrixXd& from,
                                        MatrixXd& to) const {
  rows.for_groups(span, [&](Index g, Index begin, Index end) {
    for (Index i = begin; i < end; ++i) {
      for (Index k = 0; k < r_; ++k) {
        to.col(i) -= from.col(g * r_ + k) * tile.z(k, i);
      }
    }
  });
}
}  // namespace bayeskernel
