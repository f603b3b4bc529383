// Moves of a chain along a scale: the effects of a block and their standard
// deviation, or all coefficients and all standard deviations, are multiplied
// by one factor c, drawn given the rest with the latents integrated out. The
// sampler's own steps move such scales slowly: variances follow effects and
// effects follow latents. Log density of t = log c (a group of transformations with
// its Jacobian, Liu & Sabatti 2000, Biometrika 87, 353-369), drawn by slice
// sampling:
//   sum omega log p(y | rest + c part)         any family
//   - 2 A t - B / (sigma^2 c^2)                 a block IG(A, B)
//   + t - (nu + 1)/2 log(1 + sigma^2 c^2/nu s^2) a block half t(nu, s)
//   - nu r t - tr(S Psi^-1) / (2 c^2)           a block IW(nu, S)
//   and with log sums in the trace's place       where its Psi is of half t ones
//   + q t - precision c^2 |theta|^2 / 2         q columns of known precision
// A scattered block counts as one IG(A, B): its effects that are exactly 0 (out
// of the model, their own values integrated out) take no part.
#ifndef BAYESKERNEL_LINEAR_SCALE_MOVE_HPP
#define BAYESKERNEL_LINEAR_SCALE_MOVE_HPP

#include <Eigen/Core>
#include <algorithm>
#include <cmath>
#include <vector>

#include "mcmc/slice.hpp"
#include "rows/sweep.hpp"
#include "likelihood/family.hpp"
#include "math/normal.hpp"
#include "math/special.hpp"
#include "parallel/scratch_pool.hpp"
#include "rng/stream.hpp"
#include "prior/blocks.hpp"
#include "linear/latent_values.hpp"

namespace bayeskernel {

// Columns of theta, anywhere, whose effects are sigma times something known,
// sigma^2 ~ IG(shape, rate), or sigma ~ `half_t`.
struct ScatteredBlock {
  std::vector<Index> columns;
  double shape = 0.01, rate = 0.01;
  HalfT half_t;

  VariancePrior variance() const { return {shape, rate, half_t}; }
};

// The prior's part of that of a learned block at the precision where t = 0.
inline double log_scale_density(const Block& block, const MatrixXd& precision,
                                double t) {
  if (block.kind == Block::Kind::iid) {
    return block.variance().log_scale_density(precision(0, 0), t);
  }
  return block.covariance().log_scale_density(precision, t);
}

class ScaleMove {
 public:
  ScaleMove(const RowSource& rows, const Prior& prior, Executor& executor,
            Family family, const ScatteredBlock* scattered = nullptr)
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

  // One per learned variance, and one for everything at once.
  std::uint64_t moves() const {
    const std::uint64_t single =
        learned_.size() + (scattered_ != nullptr ? 1 : 0);
    return single > 0 ? single + 1 : 0;
  }

  // Move `turn` of moves(). One pass over the rows and O(n) per evaluation.
  // `noise`: 1 / v of a Gaussian likelihood.
  void run(std::uint64_t turn, Stream& stream, ArrowVector& point,
           std::vector<MatrixXd>& precision, double noise = 1.0,
           double* scattered_precision = nullptr) {
    Moved moved;
    moved.everything = turn + 1 == moves();
    moved.scattered = scattered_ != nullptr &&
                      (moved.everything || turn == learned_.size());
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

  // What the loss of a row is a function of: 1 - y f (hinge), -y f (probit,
  // logit) or y - f (gaussian) is shortfall - (c - 1) slope.
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

  // The sum of omega times the loss at factor c, from what split() has kept.
  double loss(double c) {
    const RowSource& rows = sweep_.rows;
    sweep_.executor.run(rows.blocks(), [&](Index block) {
      const Index begin = rows.tiles()[rows.block_begin(block)].row_begin;
      const Index end = rows.tiles()[rows.block_begin(block + 1) - 1].row_end;
      const auto w = weight_.segment(begin, end - begin).array();
      const auto gap =
          shortfall_.segment(begin, end - begin).array() -
          (c - 1.0) * slope_.segment(begin, end - begin).array();
      switch (family_) {
        case Family::hinge: loss_[block] = (w * gap.max(0.0)).sum(); break;
        case Family::gaussian: loss_[block] = (w * gap.square()).sum(); break;
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

  struct Scratch {
    Eigen::ArrayXd gap, work, value;
  };

  // -sum w log p at the margins -gap of a probit or a logit likelihood. The
  // logarithm of a product takes the place of many, where powers are 1.
  template <class Weight>
  double label_loss(const Weight& w, Scratch& scratch) const {
    auto& [gap, work, value] = scratch;
    const Index n = gap.size();
    const bool logit = family_ == Family::logit;
    if (!(w == 1.0).all()) {
      double sum = 0.0;
      for (Index i = 0; i < n; ++i) {
        if (w[i] == 0.0) continue;
        sum -= w[i] * (logit ? log_expit(-gap[i]) : log_normal_cdf(-gap[i]));
      }
      return sum;
    }
    double sum = 0.0;
    if (logit) {
      // log(1 + e^g) = max(g, 0) + log(1 + e^-|g|), factors of at most 2.
      constexpr Index kFactors = 512;
      value = 1.0 + (-gap.abs()).exp();
      for (Index i = 0; i < n; i += kFactors) {
        sum += std::log(value.segment(i, std::min(kFactors, n - i)).prod());
      }
      return sum + gap.max(0.0).sum();
    }
    constexpr Index kFactors = 8;
    constexpr double kLeast = 1e-30;
    gap = -gap;
    normal_cdf(gap, work, value);
    for (Index i = 0; i < n; ++i) {
      if (value[i] >= kLeast) continue;
      sum -= log_normal_cdf(gap[i]);
      value[i] = 1.0;
    }
    for (Index i = 0; i < n; i += kFactors) {
      sum -= std::log(value.segment(i, std::min(kFactors, n - i)).prod());
    }
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

  Sweep sweep_;
  const Prior& prior_;
  Family family_;
  const ScatteredBlock* scattered_;
  std::vector<double> loss_;
  std::vector<std::size_t> learned_;
  VectorXd shortfall_, slope_, weight_;
  ArrowVector part_;
  mutable ScratchPool<Scratch> pool_;
};

}  // namespace bayeskernel

#endif
