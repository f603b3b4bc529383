// Blocks of columns that stand beside the kernels of bark() whatever these do:
// the predictors themselves, a linear part, or the indicators of the levels of
// a factor, a random intercept. Their coefficients are N(0, tau^2), tau of each
// block half t, and are integrated out with those of the kernels.
#pragma once

#include "eigen.hpp"

namespace bayeskernel {
// Of some rows.
struct ColumnBlocks {
  MatrixXd columns;          // of all blocks, one after another
  std::vector<Index> sizes;  // columns of each
  // Rows x blocks, or nothing: 1 where a row has an effect that is none of the
  // columns'.
  Eigen::MatrixXi unseen;

  void check(Index rows) const;
};

// Levels of the factors of random intercepts by row, from 1; 0 is a level that
// the fit has not seen, and a negative number no effect at all.
struct GroupCodes {
  Eigen::MatrixXi level;      // rows x factors
  std::vector<Index> levels;  // of each factor

  Index factors() const { return count_of(levels); }
};

// The blocks of rows with these predictors: the linear part, if there is one,
// then the factors.
ColumnBlocks column_blocks(const MatrixRef& predictors, bool linear,
                           const GroupCodes& groups);

// Which blocks a fit has beside the kernels: whether a linear part, and how
// many levels the factors of random intercepts have.
struct BlockFacts {
  bool linear = false;
  std::vector<Index> levels;

  Index blocks() const { return count_of(levels) + (linear ? 1 : 0); }
  // Of all blocks, of rows with so many predictors.
  Index columns(Index predictors) const;
  // Of rows with these predictors and levels; levels of no length are effects
  // that the rows do not have.
  ColumnBlocks rows(const MatrixRef& x, const Eigen::MatrixXi& level) const;
};
}  // namespace bayeskernel
