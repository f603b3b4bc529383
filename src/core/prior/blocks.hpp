// Prior blocks of theta and of the eliminated group effects u, their updates
// and their terms of the bound.
//
// Luts and Ormerod (2014), section 3.1: blocks of coefficients with variances
// that are learned.
#pragma once

#include "eigen.hpp"
#include "prior/variance_prior.hpp"
#include "rows/sums.hpp"

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
  MatrixXd coupled;                  // held: of each member, if it is no number

  // That of a member of a held block: 1 x 1 where members have one number.
  MatrixXd held_precision() const {
    return coupled.size() > 0 ? coupled : MatrixXd::Constant(1, 1, precision);
  }

  // sum over the members in `theta` of v v'.
  MatrixXd second_moment(const VectorXd& theta) const;
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

  // An ArgumentError unless blocks are of these columns.
  void check() const;

  const Block* eliminated() const;

  // Whether any variance is learned.
  bool learns() const;

  // Precisions at the start: E[1/sigma^2] = 1, E[Psi^-1] = I.
  std::vector<MatrixXd> start() const;

  // That of the eliminated block.
  const MatrixXd& eliminated_precision(
      const std::vector<MatrixXd>& block_precision) const;

  // a += Lambda on the columns of theta.
  void add_precision(const std::vector<MatrixXd>& block_precision,
                     MatrixXd& a) const;

  // out -= Lambda (theta - mu0), on theta and on the eliminated groups.
  void subtract_gradient(const std::vector<MatrixXd>& block_precision,
                         const ArrowVector& at, ArrowVector& out) const;

  // Constant and quadratic terms of the fixed columns,
  // without -p/2 log 2 pi, which cancels against the entropy.
  double fixed_bound(const VectorXd& theta, const VectorXd& variance) const;

  // The maximum over a point t of log p(log t) - k/2 log t - second moment / (2
  // t) - open t / 2, k members, `open` what residuals of rows weigh per unit of
  // t. Of sites a weight may be negative; the maximum stays one.
  static double point(const Block& block, double moment, double open);

  // q of the variance of block l from the second moments of its members:
  // `moment` = sum over the members the data reach of E(v v').
  static BlockPosterior posterior(const Block& block, const MatrixXd& moment,
                                  const MatrixXd& current_precision);

  // E[1/sigma^2] or E[Psi^-1] under q.
  static MatrixXd expected_precision(const Block& block,
                                     const BlockPosterior& q);

  // Term of the bound right after the update (the collapsed forms),
  // section 5), without -(q/2) log 2 pi, which cancels against the entropy.
  // The hidden members add their entropy: 1/2 log|Sigma| = -1/2 log precision.
  static double bound(const Block& block, const BlockPosterior& q,
                      const MatrixXd& moment,
                      const MatrixXd& current_precision);

 private:
  template <class F>
  void for_kept(F&& visit) const {
    for (std::size_t l = 0; l < blocks.size(); ++l) {
      if (!blocks[l].eliminated) visit(blocks[l], l);
    }
  }
};
}  // namespace bayeskernel
