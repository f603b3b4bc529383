#include "bark/blocks.hpp"

#include <numeric>

#include "error.hpp"

namespace bayeskernel {
void ColumnBlocks::check(Index rows) const {
  const Index all = std::accumulate(sizes.begin(), sizes.end(), Index{0});
  const bool good =
      all == columns.cols() && (all == 0 || columns.rows() == rows) &&
      (unseen.size() == 0 ||
       (unseen.rows() == rows && unseen.cols() == count_of(sizes)));
  if (!good) throw ArgumentError("columns are not those of the blocks");
}

ColumnBlocks column_blocks(const MatrixRef& predictors, bool linear,
                           const GroupCodes& groups) {
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
  out.columns = MatrixXd::Zero(n, all);
  out.columns.leftCols(p) = predictors.leftCols(p);
  out.unseen = Eigen::MatrixXi::Zero(n, count_of(out.sizes));
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

Index BlockFacts::columns(Index predictors) const {
  return std::accumulate(levels.begin(), levels.end(),
                         linear ? predictors : Index{0});
}

ColumnBlocks BlockFacts::rows(const MatrixRef& x,
                              const Eigen::MatrixXi& level) const {
  GroupCodes groups{level, levels};
  if (level.size() == 0 && !levels.empty()) {
    groups.level.setConstant(x.rows(), groups.factors(), -1);
  }
  return column_blocks(x, linear, groups);
}
}  // namespace bayeskernel
