// Predictors of which some values are missing, and how these enter the columns
// of the model.
#ifndef BAYESKERNEL_LINEAR_MISSING_PATTERN_HPP
#define BAYESKERNEL_LINEAR_MISSING_PATTERN_HPP

#include <Eigen/Core>
#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <vector>

#include "rows/rows.hpp"

namespace bayeskernel {

// Predictors x_i ~ N(mu, Sigma) in R^P of which some values are missing, with
// mu ~ N(0, mean_var I) and Sigma ~ IW(df, scale). A missing value enters the
// columns of its row linearly: entry = base + slope * x_ij.
struct MissingPattern {
  struct Use {
    Index column;   // 0 .. p - 1 of x, or p + k for column k of z
    Index missing;  // position among the missing predictors of the row
    double base, slope;
  };
  struct Row {
    Index row;      // position in the packed rows
    Index pattern;
    Index use_begin, use_end;
    Index first;    // of its values in the list of all missing values
  };

  // Groups of the packed rows, from 0.
  struct Grouping {
    std::vector<int> code;
    Index groups;
  };

  MatrixXd x;  // P x n, packed rows, 0 where missing
  std::vector<std::vector<Index>> patterns;  // missing predictors, increasing
  std::vector<Row> rows;                     // with a missing value
  std::vector<Use> uses;
  Index count = 0;                  // missing values in all
  VectorXd start_mean, start_var;   // of the observed values
  double mean_var = 1e8;
  double df = 0.0;
  MatrixXd scale;
  // Each has effects N(0, S_b) on the predictors `where`, increasing, with
  // S_b ~ IW(between_df, between_scale).
  std::vector<Grouping> groupings;
  std::vector<Index> where;
  double between_df = 0.0;
  MatrixXd between_scale;

  Index predictors() const { return x.rows(); }
  Index width(const Row& row) const {
    return static_cast<Index>(patterns[row.pattern].size());
  }
  // The predictor of every missing value.
  std::vector<Index> predictor_of_values() const {
    std::vector<Index> out;
    for (const Row& row : rows) {
      const std::vector<Index>& missing = patterns[row.pattern];
      out.insert(out.end(), missing.begin(), missing.end());
    }
    return out;
  }
};

// A use as the user's rows have it: `row` and `predictor` count from 0.
struct RowUse {
  Index row, column, predictor;
  double base, slope;
};

// Fills x, patterns, rows, uses and count. `x` is n x P in the user's order,
// NaN where missing; `order` lists the user's rows as they are packed.
inline void set_pattern(const Eigen::Ref<const MatrixXd>& x,
                        std::vector<RowUse> uses,
                        const std::vector<Index>& order, MissingPattern& out) {
  const Index n = x.rows(), predictors = x.cols();
  std::stable_sort(
      uses.begin(), uses.end(),
      [](const RowUse& a, const RowUse& b) { return a.row < b.row; });
  std::vector<Index> first_use(n + 1, 0);
  for (const RowUse& use : uses) ++first_use[use.row + 1];
  std::partial_sum(first_use.begin(), first_use.end(), first_use.begin());
  out.x.resize(predictors, n);
  std::map<std::vector<Index>, Index> known;
  for (Index i = 0; i < n; ++i) {
    const Index row = order[i];
    std::vector<Index> missing;
    for (Index j = 0; j < predictors; ++j) {
      const double value = x(row, j);
      out.x(j, i) = std::isnan(value) ? 0.0 : value;
      if (std::isnan(value)) missing.push_back(j);
    }
    if (missing.empty()) continue;
    const auto found =
        known.emplace(missing, static_cast<Index>(out.patterns.size()));
    if (found.second) out.patterns.push_back(missing);
    const Index first = static_cast<Index>(out.uses.size());
    for (Index u = first_use[row]; u < first_use[row + 1]; ++u) {
      const auto at =
          std::lower_bound(missing.begin(), missing.end(), uses[u].predictor);
      out.uses.push_back({uses[u].column,
                          static_cast<Index>(at - missing.begin()),
                          uses[u].base, uses[u].slope});
    }
    out.rows.push_back({i, found.first->second, first,
                        static_cast<Index>(out.uses.size()), out.count});
    out.count += static_cast<Index>(missing.size());
  }
}

}  // namespace bayeskernel

#endif
