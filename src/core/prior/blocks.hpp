// Prior blocks of theta and of the eliminated group effects u, their updates
// and their terms of the bound.
#ifndef BAYESKERNEL_PRIOR_BLOCKS_HPP
#define BAYESKERNEL_PRIOR_BLOCKS_HPP

#include <Eigen/Cholesky>
#include <Eigen/Core>
#include <algorithm>
#include <cmath>
#include <vector>

#include "error.hpp"
#include "math/special.hpp"
#include "rows/sums.hpp"
#include "prior/variance_prior.hpp"

namespace bayeskernel {

// One variance component over `members` vectors of length `width` (r): columns
// first .. first + members * width - 1 of theta, member by member, or, when
// `eliminated`, the group effects. Four kinds:
//   held         precision known,
//   iid          width 1, sigma^2 ~ IG(shape, rate), or sigma ~ `half_t`,
//   point        the same, sigma^2 at the maximum of the density of log sigma^2
//                (mean field): residuals of rows may be multiples of it,
//   unstructured Psi ~ IW(df, scale), or of `half_t` standard deviations.
struct Block {
  enum class Kind { held, iid, point, unstructured };
  Kind kind = Kind::iid;
  bool eliminated = false;
  Index first = 0;
  Index members = 0;
  Index width = 1;
  // Members that the data do not reach (the orthogonal complement of a wide
  // block): they keep their prior, and count in the update and the bound.
  Index hidden = 0;
  double shape = 0.01, rate = 0.01;  // iid, point
  HalfT half_t;                      // in the place of the others, if it is one
  double df = 0.0;                   // unstructured
  MatrixXd scale;                    // unstructured
  double precision = 1.0;            // held

  // sum over the members in `theta` of v v'.
  MatrixXd second_moment(const VectorXd& theta) const {
    const Eigen::Map<const MatrixXd> own(theta.data() + first, width, members);
    return own * own.transpose();
  }
  double members_in_all() const {
    return static_cast<double>(members + hidden);
  }
  VariancePrior variance() const { return {shape, rate, half_t}; }
  CovariancePrior covariance() const { return {df, scale, half_t}; }
};

// q of one block's variance: IG(shape, rate), a point or IW(df, scale), or
// nothing.
struct BlockPosterior {
  double shape = 0.0, rate = 0.0;
  double value = 0.0;
  double df = 0.0;
  MatrixXd scale;
};

class Prior {
 public:
  VectorXd precision;  // p: P0 of the fixed columns, 0 on columns of a block
  VectorXd mean;       // p: mu0, 0 on columns of a block
  std::vector<Block> blocks;

  Index columns() const { return precision.size(); }

  const Block* eliminated() const {
    for (const Block& block : blocks) {
      if (block.eliminated) return &block;
    }
    return nullptr;
  }

  // Whether any variance is learned.
  bool learns() const {
    for (const Block& block : blocks) {
      if (block.kind != Block::Kind::held) return true;
    }
    return false;
  }

  // Precisions at the start: E[1/sigma^2] = 1, E[Psi^-1] = I.
  std::vector<MatrixXd> start() const {
    std::vector<MatrixXd> out;
    for (const Block& block : blocks) {
      const double value = block.kind == Block::Kind::held ? block.precision : 1;
      out.push_back(MatrixXd::Identity(block.width, block.width) * value);
    }
    return out;
  }

  // That of the eliminated block.
  const MatrixXd& eliminated_precision(
      const std::vector<MatrixXd>& block_precision) const {
    for (std::size_t l = 0; l < blocks.size(); ++l) {
      if (blocks[l].eliminated) return block_precision[l];
    }
    throw ArgumentError("groups without a block of their own");
  }

  // a += Lambda on the columns of theta.
  void add_precision(const std::vector<MatrixXd>& block_precision,
                     MatrixXd& a) const {
    a.diagonal() += precision;
    for_kept([&](const Block& block, std::size_t l) {
      for (Index m = 0; m < block.members; ++m) {
        const Index at = block.first + m * block.width;
        a.block(at, at, block.width, block.width) += block_precision[l];
      }
    });
  }

  // out -= Lambda (theta - mu0), on theta and on the eliminated groups.
  void subtract_pull(const std::vector<MatrixXd>& block_precision,
                     const ArrowVector& at, ArrowVector& out) const {
    out.x.array() -= precision.array() * (at.x - mean).array();
    for_kept([&](const Block& block, std::size_t l) {
      for (Index m = 0; m < block.members; ++m) {
        const Index k = block.first + m * block.width;
        out.x.segment(k, block.width).noalias() -=
            block_precision[l] * at.x.segment(k, block.width);
      }
    });
    for (std::size_t l = 0; l < blocks.size(); ++l) {
      if (blocks[l].eliminated) {
        out.group.noalias() -= block_precision[l] * at.group;
      }
    }
  }

  // Constant and quadratic terms of the fixed columns,
  // without -p/2 log 2 pi, which cancels against the entropy.
  double fixed_bound(const VectorXd& theta, const VectorXd& variance) const {
    double sum = 0.0;
    for (Index k = 0; k < columns(); ++k) {
      if (precision[k] <= 0.0) continue;
      const double d = theta[k] - mean[k];
      sum += std::log(precision[k]) -
             precision[k] * (d * d + variance[k]);
    }
    return 0.5 * sum;
  }

  // The maximum over a point t of -log t k/2 - (second moment + 2 rate) / (2 t)
  // - open t / 2, `open` what residuals of rows weigh per unit of t. Of sites a
  // weight may be negative; the maximum stays one.
  static double point(const Block& block, double moment, double open) {
    const double k = block.members_in_all() + 2.0 * block.shape;
    const double e = moment + 2.0 * block.rate;
    const double weight = std::max(open, -0.2 * k * k / e);
    return 2.0 * e / (k + std::sqrt(k * k + 4.0 * weight * e));
  }

  // q of the variance of block l from the second moments of its members:
  // `moment` = sum over the members the data reach of E(v v').
  static BlockPosterior posterior(const Block& block, const MatrixXd& moment,
                                  const MatrixXd& current_precision) {
    BlockPosterior q;
    if (block.kind == Block::Kind::iid) {
      const VariancePrior prior = block.variance();
      const double count = block.members_in_all();
      const double all =
          moment(0, 0) +
          static_cast<double>(block.hidden) / current_precision(0, 0);
      q.shape = prior.shape() + 0.5 * count;
      q.rate = prior.half_t() ? q.shape / prior.precision(count, all)
                              : block.rate + 0.5 * all;
    } else if (block.kind == Block::Kind::point) {
      q.value = point(block, moment(0, 0), 0.0);
    } else if (block.kind == Block::Kind::unstructured) {
      const CovariancePrior prior = block.covariance();
      q.df = prior.df() + block.members_in_all();
      q.scale = prior.posterior_scale(block.members_in_all(), moment,
                                      current_precision);
    }
    return q;
  }

  // E[1/sigma^2] or E[Psi^-1] under q.
  static MatrixXd expected_precision(const Block& block,
                                     const BlockPosterior& q) {
    switch (block.kind) {
      case Block::Kind::held:
        return MatrixXd::Constant(1, 1, block.precision);
      case Block::Kind::iid:
        return MatrixXd::Constant(1, 1, q.shape / q.rate);
      case Block::Kind::point:
        return MatrixXd::Constant(1, 1, 1.0 / q.value);
      default: {
        Eigen::LLT<MatrixXd> llt(q.scale);
        if (llt.info() != Eigen::Success) {
          throw NumericError(
              "the covariance of a random effect is not positive definite");
        }
        return q.df *
               llt.solve(MatrixXd::Identity(block.width, block.width));
      }
    }
  }

  // Term of the bound right after the update (the collapsed forms),
  // section 5), without -(q/2) log 2 pi, which cancels against the entropy.
  // The hidden members add their entropy: 1/2 log|Sigma| = -1/2 log precision.
  static double bound(const Block& block, const BlockPosterior& q,
                      const MatrixXd& moment,
                      const MatrixXd& current_precision) {
    const double count = block.members_in_all();
    const double r = static_cast<double>(block.width);
    double value = 0.0;
    if (block.hidden > 0) {
      value -= 0.5 * static_cast<double>(block.hidden) *
               std::log(current_precision(0, 0));
    }
    if (block.kind == Block::Kind::held) {
      return value + 0.5 * count * std::log(block.precision) -
             0.5 * block.precision * moment(0, 0) -
             0.5 * static_cast<double>(block.hidden);
    }
    if (block.kind == Block::Kind::point) {  // where q(theta, u) was formed
      const double precision = current_precision(0, 0);
      return value - 0.5 * precision * (moment(0, 0) + 2.0 * block.rate) +
             (0.5 * count + block.shape) * std::log(precision) +
             block.shape * std::log(block.rate) - log_gamma(block.shape);
    }
    if (block.kind == Block::Kind::iid) {
      return value + block.variance().log_constant(q.shape / q.rate) +
             log_gamma(q.shape) - q.shape * std::log(q.rate);
    }
    const CovariancePrior prior = block.covariance();
    return value + prior.log_constant(count, q.scale) -
           0.5 * q.df * log_det_spd(q.scale) +
           0.5 * count * r * std::log(2.0) +
           log_multivariate_gamma(0.5 * q.df, block.width) -
           log_multivariate_gamma(0.5 * prior.df(), block.width);
  }

 private:
  template <class F>
  void for_kept(F&& visit) const {
    for (std::size_t l = 0; l < blocks.size(); ++l) {
      if (!blocks[l].eliminated) visit(blocks[l], l);
    }
  }

  static double log_det_spd(const MatrixXd& a) {
    return 2.0 * Eigen::LLT<MatrixXd>(a)
                     .matrixLLT()
                     .diagonal()
                     .array()
                     .log()
                     .sum();
  }
};

}  // namespace bayeskernel

#endif
