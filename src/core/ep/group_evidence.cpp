#include "ep/group_evidence.hpp"

#include "likelihood/likelihood.hpp"
#include "linear/gaussian.hpp"
#include "rows/sweep.hpp"

namespace bayeskernel {
bool GroupEvidence::at_mean_applies(const EpFit& fit) {
  const RowSource& rows = fit.rows();
  const bool labels =
      fit.family() == Family::logit || fit.family() == Family::probit;
  return labels && rows.groups() > 0 && rows.z_columns() >= 1 &&
         rows.z_columns() <= 2 && fit.completions() == nullptr &&
         (fit.sites.mean.size() > 0 || fit.remote_messages() != nullptr);
}

auto GroupEvidence::operator()(bool axes) -> Missed {
  VectorXd at;
  if (fit_->remote_messages() != nullptr) {
    at = fit_->remote_messages()->group_evidence(axes);
  } else {
    set(fit_->posterior(), axes);
    at = shard(rows_.shard_begin(0), rows_.shard_begin(1));
    for (Index s = 1; s < rows_.shards(); ++s) {
      at += shard(rows_.shard_begin(s), rows_.shard_begin(s + 1));
    }
  }
  const Index p = at.size() / 2;
  Missed out{at[0], 0.0};
  for (Index k = 0; k < p; ++k) {
    out.axes += std::log(
        (4.0 + std::exp(at[1 + k] - at[0]) + std::exp(at[1 + p + k] - at[0])) /
        6.0);
  }
  return out;
}

void GroupEvidence::set(const GaussianPosterior& q, bool axes) {
  q_ = &q;
  const Index p = axes ? rows_.x_columns() : 0;
  axes_ = std::sqrt(3.0) * q.whitener().topRows(p).transpose();
  group_axes_ = MatrixXd::Zero(rows_.z_columns() * rows_.groups(), p);
  if (p > 0) {
    group_axes_.noalias() = -q.eliminated().loading().transpose() * axes_;
  }
}

VectorXd GroupEvidence::shard(Index begin, Index end) {
  const Index first = rows_.chunk_begin(begin);
  block_ = MatrixXd::Zero(2 * axes_.cols() + 1, rows_.chunk_begin(end) - first);
  const Sweep sweep{rows_, executor_, nullptr};
  sweep.run(begin, end, [&](Index block, Index) {
    Scratch scratch;
    for (const TileSpan& span : rows_.block_tiles(block)) {
      // A group of thousands of rows knows its effect.
      if (rows_.is_part(span)) continue;
      const Tile tile = rows_.tile(span, scratch.buffer);
      scratch.shift = axes_.transpose() * tile.x;
      rows_.for_groups(span, [&](Index g, Index from, Index to) {
        // One row and its site are exact together.
        if (to - from > 1) {
          add_group(span, tile, g, from, to, scratch,
                    block_.col(block - first));
        }
      });
    }
  });
  VectorXd out = block_.col(0);
  for (Index k = 1; k < block_.cols(); ++k) out += block_.col(k);
  return out;
}

double GroupEvidence::add_messages(Index first, const GroupNodes& rule,
                                   Scratch& scratch) const {
  const Index n = scratch.level.cols();
  scratch.kappa.resize(n);
  scratch.b.resize(n);
  double scale = 0.0;
  for (Index i = 0; i < n; ++i) {
    const auto [kappa, b] = message(first + i);
    scratch.kappa[i] = kappa;
    scratch.b[i] = b;
    scale += log_scale(first + i);
  }
  // (kappa f / 2 - b) f, f = across + level.
  const auto kappa = scratch.kappa.asDiagonal();
  scratch.level_power.noalias() = scratch.level * kappa;
  scratch.level_power.rowwise() -= scratch.b.transpose();
  scratch.sum.noalias() =
      rule.node.transpose() *
      (scratch.along * scratch.level_power.transpose()).eval();
  scratch.level_power.rowwise() -= scratch.b.transpose();
  scratch.sum.rowwise() += 0.5 * scratch.level.cwiseProduct(scratch.level_power)
                                     .rowwise()
                                     .sum()
                                     .transpose();
  scratch.sum.colwise() += rule.log_weight.matrix() +
                           0.5 * scratch.across.cwiseAbs2() * scratch.kappa;
  return scale;
}

void GroupEvidence::add_rows(const Tile& tile, Index begin,
                             Scratch& scratch) const {
  const Index n = scratch.level.cols();
  scratch.product.setOnes(scratch.sum.rows(), scratch.sum.cols());
  const bool logit = family_ == Family::logit;
  if (logit) {
    const auto minus = (-tile.y.segment(begin, n)).asDiagonal();
    scratch.across_power.noalias() = scratch.across * minus;
    scratch.level_power.noalias() = scratch.level * minus;
    for (MatrixXd* power : {&scratch.across_power, &scratch.level_power}) {
      power->array() = power->array().exp();
    }
  }
  double reach = 0.0;  // of the logarithm of the product
  Index first = 0;
  for (Index i = 0; i < n; ++i) {
    const double most = 1.0 + scratch.across.col(i).cwiseAbs().maxCoeff() +
                        scratch.level.col(i).cwiseAbs().maxCoeff();
    const double w = tile.weight[begin + i];
    const double residual = tile.residual_of(begin + i);
    const bool factor =
        logit && w == 1.0 && residual == 0.0 && !(most > kFarthest);
    if (reach > 0.0 && (!factor || reach + most > kFarthest)) {
      multiply(first, i, scratch);
      first = i;
      scratch.sum.array() -= scratch.product.array().log();
      scratch.product.setOnes();
      reach = 0.0;
    }
    if (factor) {
      reach += most;
    } else {
      add_row(tile.y[begin + i], w, residual, i, scratch);
      first = i + 1;
    }
  }
  multiply(first, n, scratch);
}

void GroupEvidence::multiply(Index first, Index last, Scratch& scratch) {
  for (Index k = 0; k < scratch.product.cols(); ++k) {
    for (Index q = 0; q < scratch.product.rows(); q += kBatch) {
      Batch product = scratch.product.col(k).segment<kBatch>(q);
      for (Index i = first; i < last; ++i) {
        product *=
            1.0 + scratch.level_power(k, i) *
                      scratch.across_power.col(i).segment<kBatch>(q).array();
      }
      scratch.product.col(k).segment<kBatch>(q) = product;
    }
  }
}

void GroupEvidence::add_row(double y, double w, double residual, Index i,
                            Scratch& scratch) const {
  for (Index k = 0; k < scratch.sum.cols(); ++k) {
    scratch.f = scratch.across.col(i).array() + scratch.level(k, i);
    const Nodes& f = scratch.f;
    auto sum = scratch.sum.col(k).array();
    if (residual > 0.0) {
      for (Index q = 0; q < f.size(); ++q) {
        sum[q] += tilted_(y, w, f[q], residual, 1.0).log_z;
      }
    } else {
      MarginArray<kBatch> at;
      for (Index q = 0; q < f.size(); q += kBatch) {
        margin_terms<kBatch>(family_, y * f.segment<kBatch>(q), at);
        sum.segment<kBatch>(q) += w * at.value;
      }
    }
  }
}

auto GroupEvidence::message(Index i) const -> Message {
  const SiteRows& sites = sites_;
  const double s = sites.variance[i], v = sites.cavity_variance[i];
  return {(v - s) / (s * v), sites.mean[i] / s - sites.cavity_mean[i] / v};
}

double GroupEvidence::log_scale(Index i) const {
  const SiteRows& sites = sites_;
  const double m = sites.mean[i], s = sites.variance[i];
  const auto [kappa, b] = message(i);
  const double cavity = cavity_fraction(kappa, s);
  return sites.log_z[i] - 0.5 * std::log(cavity) +
         0.5 * ((kappa * m - 2.0 * b) * m + b * b * s) / cavity;
}
}  // namespace bayeskernel
