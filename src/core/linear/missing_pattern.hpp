// Predictors of which some values are missing, and how these enter the columns
// of the model.
#pragma once

#include "eigen.hpp"

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
    Index row;  // position in the packed rows
    Index pattern;
    Index use_begin, use_end;
    Index first;  // of its values in the list of all missing values
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
  Index count = 0;                 // missing values in all
  VectorXd start_mean, start_var;  // of the observed values
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
  Index width(const Row& row) const { return count_of(patterns[row.pattern]); }
  // The predictor of every missing value.
  std::vector<Index> predictor_of_values() const;
};

// A use as the user's rows have it: `row` and `predictor` count from 0.
struct RowUse {
  Index row, column, predictor;
  double base, slope;
};

// Fills x, patterns, rows, uses and count. `x` is n x P in the user's order,
// NaN where missing; `order` lists the user's rows as they are packed.
void set_pattern(const MatrixRef& x, std::vector<RowUse> uses,
                 const std::vector<Index>& order, MissingPattern& out);
}  // namespace bayeskernel
