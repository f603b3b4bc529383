// Moves of a chain along a scale: the effects of a block and their standard
// deviation, or all coefficients and all standard deviations, are multiplied
// by one factor c, drawn given the rest with the latent a integrated out. The
// sampler's own steps move such scales slowly: variances follow effects and
// effects follow a. Log density of t = log c (a group of transformations with
// its Jacobian, Liu & Sabatti 2000, Biometrika 87, 353-369), drawn by slice
// sampling with stepping out (Neal 2003, Ann. Statist. 31, 705-767):
//   -2 sum omega max(1 - y (rest + c part), 0)
//   - 2 A t - B / (sigma^2 c^2)                 a block IG(A, B)
//   - nu r t - tr(S Psi^-1) / (2 c^2)           a block IW(nu, S)
//   + q t - precision c^2 |theta|^2 / 2         q columns of known precision
// A scattered block counts as one IG(A, B): its effects that are exactly 0 (out
// of the model, their own values integrated out) take no part.
#ifndef BAYESKERNEL_HINGE_SCALE_MOVE_HPP
#define BAYESKERNEL_HINGE_SCALE_MOVE_HPP

#include <Eigen/Core>
#include <cmath>
#include <vector>

#include "../data/sweep.hpp"
#include "../rng/stream.hpp"
#include "blocks.hpp"
#include "latent_values.hpp"

namespace bayeskernel {

// Columns of theta, anywhere, whose effects are sigma times something known,
// sigma^2 ~ IG(shape, rate).
struct ScatteredBlock {
  std::vector<Index> columns;
  double shape = 0.01, rate = 0.01;
};

// The prior's part of that of a learned block at the precision where t = 0.
inline double log_scale_density(const Block& block, const MatrixXd& precision,
                                double t) {
  const double c = std::exp(t);
  if (block.kind == Block::Kind::iid) {
    return -(2.0 * block.shape * t + block.rate * precision(0, 0) / (c * c));
  }
  return -(block.df * static_cast<double>(block.width) * t +
           0.5 * block.scale.cwiseProduct(precision).sum() / (c * c));
}

// One draw of t from 0 by slice sampling.
template <class F>
double slice_log_scale(F&& log_density, Stream& stream) {
  constexpr double kWidth = 0.25;
  constexpr int kSteps = 40;
  const double level = log_density(0.0) - stream.exponential();
  double low = -kWidth * stream.uniform();
  double high = low + kWidth;
  for (int k = 0; k < kSteps && log_density(low) > level; ++k) low -= kWidth;
  for (int k = 0; k < kSteps && log_density(high) > level; ++k) {
    high += kWidth;
  }
  while (high - low > 1e-12) {
    const double t = low + (high - low) * stream.uniform();
    if (log_density(t) > level) return t;
    (t < 0.0 ? low : high) = t;
  }
  return 0.0;
}

class ScaleMove {
 public:
  ScaleMove(const RowSource& rows, const Prior& prior, Executor& executor,
            const ScatteredBlock* scattered = nullptr)
      : sweep_{rows, executor, nullptr},
        prior_(prior),
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

  // One per learned variance, and one for everything at once.
  std::uint64_t moves() const {
    const std::uint64_t single =
        learned_.size() + (scattered_ != nullptr ? 1 : 0);
    return single > 0 ? single + 1 : 0;
  }

  // Move `turn` of moves(). One pass over the rows and O(n) per evaluation.
  void run(std::uint64_t turn, Stream& stream, ArrowVector& point,
           std::vector<MatrixXd>& precision,
           double* scattered_precision = nullptr) {
    Moved moved;
    moved.everything = turn + 1 == moves();
    moved.scattered = scattered_ != nullptr &&
                      (moved.everything || turn == learned_.size());
    if (!moved.everything && !moved.scattered) moved.block = learned_[turn];
    select(moved, point);
    if (part_.x.isZero(0.0) && part_.group.isZero(0.0)) return;
    split(moved, point);
    const auto log_density = [&](double t) {
      return log_prior(moved, t, precision, scattered_precision) -
             2.0 * loss(std::exp(t));
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

 private:
  static constexpr std::size_t kNone = static_cast<std::size_t>(-1);

  struct Moved {
    bool everything = false;
    bool scattered = false;
    std::size_t block = kNone;

    bool includes(std::size_t l) const { return everything || l == block; }
  };

  // part_ = the coefficients that the move scales.
  void select(const Moved& moved, const ArrowVector& point) {
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
      part_.x.segment(block.first, count) =
          point.x.segment(block.first, count);
    }
  }

  // 1 - y f = shortfall - (c - 1) slope.
  void split(const Moved& moved, const ArrowVector& point) {
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
        slope = y * (slope - tile.offset.array());
        shortfall = 1.0 - y * shortfall;
        weight_.segment(span.row_begin, n) = tile.weight;
      }
    });
  }

  // sum omega max(1 - y f, 0) at factor c, from what split() has kept.
  double loss(double c) {
    const RowSource& rows = sweep_.rows;
    sweep_.executor.run(rows.blocks(), [&](Index block) {
      const Index begin = rows.tiles()[rows.block_begin(block)].row_begin;
      const Index end = rows.tiles()[rows.block_begin(block + 1) - 1].row_end;
      loss_[block] =
          (weight_.segment(begin, end - begin).array() *
           (shortfall_.segment(begin, end - begin).array() -
            (c - 1.0) * slope_.segment(begin, end - begin).array())
               .max(0.0))
              .sum();
    });
    double sum = 0.0;
    for (const double value : loss_) sum += value;
    return sum;
  }

  double log_prior(const Moved& moved, double t,
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
            block.eliminated
                ? part_.group.squaredNorm()
                : part_.x.segment(block.first, block.members).squaredNorm();
        value += static_cast<double>(block.members * block.width) * t -
                 0.5 * block.precision * c * c * squares;
      }
    }
    if (moved.scattered) {
      value -= 2.0 * scattered_->shape * t +
               scattered_->rate * *scattered_precision / (c * c);
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

  Sweep sweep_;
  const Prior& prior_;
  const ScatteredBlock* scattered_;
  std::vector<double> loss_;
  std::vector<std::size_t> learned_;
  VectorXd shortfall_, slope_, weight_;
  ArrowVector part_;
};

}  // namespace bayeskernel

#endif
