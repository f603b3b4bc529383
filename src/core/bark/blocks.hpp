// Blocks of columns that stand beside the kernels of bark() whatever these do:
// the predictors themselves, a linear part, or the indicators of the levels of
// a factor, a random intercept. Their coefficients are N(0, tau^2), tau of each
// block half t, and are integrated out with those of the kernels.
#ifndef BAYESKERNEL_BARK_BLOCKS_HPP
#define BAYESKERNEL_BARK_BLOCKS_HPP

#include <Eigen/Core>
#include <numeric>
#include <vector>

#include "error.hpp"

namespace bayeskernel {

// Of some rows.
struct ColumnBlocks {
  using Index = Eigen::Index;

  Eigen::MatrixXd columns;   // of all blocks, one after another
  std::vector<Index> sizes;  // columns of each
  // Rows x blocks, or nothing: 1 where a row has an effect that is none of the
  // columns'.
  Eigen::MatrixXi unseen;

  void check(Index rows) const {
    const Index all = std::accumulate(sizes.begin(), sizes.end(), Index{0});
    const bool good = all == columns.cols() &&
                      (all == 0 || columns.rows() == rows) &&
                      (unseen.size() == 0 ||
                       (unseen.rows() == rows &&
                        unseen.cols() == static_cast<Index>(sizes.size())));
    if (!good) throw ArgumentError("columns are not those of the blocks");
  }
};

// Levels of the factors of random intercepts by row, from 1; 0 is a level that
// the fit has not seen, and a negative number no effect at all.
struct GroupCodes {
  Eigen::MatrixXi level;             // rows x factors
  std::vector<Eigen::Index> levels;  // of each factor

  Eigen::Index factors() const {
    return static_cast<Eigen::Index>(levels.size());
  }
};

// The blocks of rows with these predictors: the linear part, if there is one,
// then the factors.
inline ColumnBlocks column_blocks(
    const Eigen::Ref<const Eigen::MatrixXd>& predictors, bool linear,
    const GroupCodes& groups) {
  using Eigen::Index;
  const Index n = predictors.rows(), p = linear ? predictors.cols() : 0;
  ColumnBlocks out;
  if (linear) out.sizes.push_back(p);
  for (const Index size : groups.levels) out.sizes.push_back(size);
  const Index all =
      std::accumulate(out.sizes.begin(), out.sizes.end(), Index{0});
  if (groups.factors() > 0 &&
      (groups.level.rows() != n || groups.level.cols() != groups.factors())) {
    throw ArgumentError("not a level for each row and factor");
  }
  out.columns = Eigen::MatrixXd::Zero(n, all);
  out.columns.leftCols(p) = predictors.leftCols(p);
  out.unseen = Eigen::MatrixXi::Zero(n, static_cast<Index>(out.sizes.size()));
  Index begin = p;
  for (Index f = 0; f < groups.factors(); ++f) {
    for (Index i = 0; i < n; ++i) {
      const Index level = groups.level(i, f);
      if (level > groups.levels[f]) {
        throw ArgumentError("a level of a factor is out of range");
      }
      if (level > 0) out.columns(i, begin + level - 1) = 1.0;
      out.unseen(i, f + (linear ? 1 : 0)) = level == 0;
    }
    begin += groups.levels[f];
  }
  return out;
}

}  // namespace bayeskernel

#endif
