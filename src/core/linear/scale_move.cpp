#include "linear/scale_move.hpp"

#include "linear/latent_values.hpp"
#include "mcmc/slice.hpp"

namespace bayeskernel {
double log_scale_density(const Block& block, const MatrixXd& precision,
                         double t) {
  if (block.kind == Block::Kind::iid) {
    return block.variance().log_scale_density(precision(0, 0), t);
  }
  return block.covariance().log_scale_density(precision, t);
}

ScaleMove::ScaleMove(const RowSource& rows, const Prior& prior,
                     Executor& executor, Family family,
                     const ScatteredBlock* scattered)
    : sweep_{rows, executor, nullptr},
      prior_(prior),
      family_(family),
      scattered_(scattered),
      loss_(rows.blocks()) {
  for (std::size_t l = 0; l < prior.blocks.size(); ++l) {
    if (prior.blocks[l].kind != Block::Kind::held) learned_.push_back(l);
  }
  if (moves() == 0) return;
  shortfall_.resize(rows.rows());
  slope_.resize(rows.rows());
  weight_.resize(rows.rows());
  part_ = ArrowVector(prior.columns(), rows.z_columns(), rows.groups());
}

std::uint64_t ScaleMove::moves() const {
  const std::uint64_t single =
      learned_.size() + (scattered_ != nullptr ? 1 : 0);
  return single > 0 ? single + 1 : 0;
}

void ScaleMove::run(std::uint64_t turn, Stream& stream, ArrowVector& point,
                    std::vector<MatrixXd>& precision, double noise,
                    double* scattered_precision) {
  Moved moved;
  moved.everything = turn + 1 == moves();
  moved.scattered =
      scattered_ != nullptr && (moved.everything || turn == learned_.size());
  if (!moved.everything && !moved.scattered) moved.block = learned_[turn];
  select(moved, point);
  if (part_.x.isZero(0.0) && part_.group.isZero(0.0)) return;
  split(moved, point);
  const double unit = family_ == Family::hinge      ? 2.0
                      : family_ == Family::gaussian ? 0.5 * noise
                                                    : 1.0;
  const auto log_density = [&](double t) {
    return log_prior(moved, t, precision, scattered_precision) -
           unit * loss(std::exp(t));
  };
  const double t = slice_log_scale(log_density, stream);
  const double c = std::exp(t);
  point.x += (c - 1.0) * part_.x;
  point.group += (c - 1.0) * part_.group;
  for (const std::size_t l : learned_) {
    if (moved.includes(l)) precision[l] /= c * c;
  }
  if (moved.scattered) *scattered_precision /= c * c;
}

void ScaleMove::select(const Moved& moved, const ArrowVector& point) {
  if (moved.everything) {
    part_ = point;
    return;
  }
  part_.x.setZero();
  part_.group.setZero();
  if (moved.scattered) {
    for (const Index k : scattered_->columns) part_.x[k] = point.x[k];
    return;
  }
  const Block& block = prior_.blocks[moved.block];
  if (block.eliminated) {
    part_.group = point.group;
  } else {
    const Index count = block.members * block.width;
    part_.x.segment(block.first, count) = point.x.segment(block.first, count);
  }
}

void ScaleMove::split(const Moved& moved, const ArrowVector& point) {
  const RowSource& rows = sweep_.rows;
  sweep_.run([&](Index block, Index) {
    MatrixXd buffer;
    for (const TileSpan& span : rows.block_tiles(block)) {
      const Index n = span.rows();
      const Tile tile = rows.tile(span, buffer);
      auto shortfall = shortfall_.segment(span.row_begin, n).array();
      auto slope = slope_.segment(span.row_begin, n).array();
      latent_values(rows, span, tile, point, shortfall.data());
      if (moved.everything) {
        slope = shortfall;
      } else {
        latent_values(rows, span, tile, part_, slope.data());
      }
      const auto y = tile.y.array();
      if (family_ == Family::gaussian) {
        slope -= tile.offset.array();
        shortfall = y - shortfall;
      } else {
        slope = y * (slope - tile.offset.array());
        shortfall = (family_ == Family::hinge ? 1.0 : 0.0) - y * shortfall;
      }
      weight_.segment(span.row_begin, n) = tile.weight;
    }
  });
}

double ScaleMove::loss(double c) {
  const RowSource& rows = sweep_.rows;
  sweep_.executor.run(rows.blocks(), [&](Index block) {
    const Index begin = rows.tiles()[rows.block_begin(block)].row_begin;
    const Index end = rows.tiles()[rows.block_begin(block + 1) - 1].row_end;
    const auto w = weight_.segment(begin, end - begin).array();
    const auto gap = shortfall_.segment(begin, end - begin).array() -
                     (c - 1.0) * slope_.segment(begin, end - begin).array();
    switch (family_) {
      case Family::hinge:
        loss_[block] = (w * gap.max(0.0)).sum();
        break;
      case Family::gaussian:
        loss_[block] = (w * gap.square()).sum();
        break;
      default: {
        auto loan = pool_.borrow();
        Scratch& scratch = *loan;
        scratch.gap = gap;
        loss_[block] = label_loss(w, scratch);
      }
    }
  });
  double sum = 0.0;
  for (const double value : loss_) sum += value;
  return sum;
}

double ScaleMove::log_prior(const Moved& moved, double t,
                            const std::vector<MatrixXd>& precision,
                            const double* scattered_precision) const {
  double value = 0.0;
  const double c = std::exp(t);
  for (std::size_t l = 0; l < prior_.blocks.size(); ++l) {
    if (!moved.includes(l)) continue;
    const Block& block = prior_.blocks[l];
    if (block.kind != Block::Kind::held) {
      value += log_scale_density(block, precision[l], t);
    } else {
      const double squares =
          block.eliminated ? block.precision * part_.group.squaredNorm()
                           : block.held_precision()
                                 .cwiseProduct(block.second_moment(part_.x))
                                 .sum();
      value += static_cast<double>(block.members * block.width) * t -
               0.5 * c * c * squares;
    }
  }
  if (moved.scattered) {
    value += scattered_->variance().log_scale_density(*scattered_precision, t);
  }
  if (moved.everything) {
    for (Index k = 0; k < prior_.columns(); ++k) {
      if (prior_.precision[k] <= 0.0) continue;
      const double d = c * part_.x[k] - prior_.mean[k];
      value += t - 0.5 * prior_.precision[k] * d * d;
    }
  }
  return value;
}
}  // namespace bayeskernel
