// The model with selection, whole and on the columns in use: selection columns
// that are out for good leave the rows, the prior and the missing values.
#pragma once

#include "eigen.hpp"
#include "likelihood/rules.hpp"
#include "linear/evaluation.hpp"
#include "linear/missing_pattern.hpp"
#include "linear/missing_values.hpp"
#include "linear/row_rules.hpp"
#include "linear/state.hpp"
#include "prior/blocks.hpp"
#include "prior/indicators.hpp"
#include "rows/rows.hpp"

namespace bayeskernel {
// Log odds below which a column is out: E gamma = 1e-12.
constexpr double kOutLogOdds = -27.631021115928547;

struct WholeModel {
  std::shared_ptr<PackedRows> rows;
  Prior prior;
  const Selection& selection;
  const MissingPattern& missing;
  RowModel row_model;
};

struct ActiveModel {
  std::shared_ptr<PackedRows> rows;
  Prior prior;
  std::vector<Index> columns;   // of x, increasing
  std::vector<Index> chosen;    // selection columns in use
  std::vector<Index> selected;  // their positions among `columns`
  std::vector<Index> position;  // of a column of x among `columns`, or -1
  Index hidden = 0;             // selection columns that left

  bool uses(Index k) const {
    return std::find(chosen.begin(), chosen.end(), k) != chosen.end();
  }
};

// Where the entries of `from` are in `in`.
std::vector<Index> positions(const std::vector<Index>& from,
                             const std::vector<Index>& in);

// The entries at `at`, which increase.
void keep(const std::vector<Index>& at, VectorXd& v);

// An accepted step becomes one of the same model on fewer columns: `columns` of
// x and `chosen` of the selection, as positions among those that it has.
void keep_columns(const std::vector<Index>& columns,
                  const std::vector<Index>& chosen, MeanFieldState& state,
                  MeanFieldEvaluation& accepted);

// What was accepted on fewer columns, as a state on p columns with `size`
// indicators, where those are at `columns` and `chosen`; the others are at
// zero.
MeanFieldState widen(const MeanFieldState& from, Index p, Index size,
                     const std::vector<Index>& columns,
                     const std::vector<Index>& chosen);

// `unit` as of PackedRows::finish().
PackedRows restrict_rows(const PackedRows& rows,
                         const std::vector<Index>& columns,
                         const std::vector<Index>& unit);

ActiveModel restrict_model(const WholeModel& model,
                           const std::vector<bool>& in_use);

// A_kk = E sum kappa x_k^2 of the selection columns that left, 0 for the
// others. O(n) by column.
VectorXd hidden_squares(const WholeModel& model, const ActiveModel& active,
                        const VectorXd& kappa, const MissingPosterior& missing);

// The rule at the moments m and s of f of all rows; gives their part of the
// bound.
double run_rule(const Rule& rule, const PackedRows& rows, const VectorXd& m,
                const VectorXd& s, VectorXd& kappa, VectorXd& linear);
}  // namespace bayeskernel
