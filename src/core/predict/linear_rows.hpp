// Rows at which a linear model with random effects is asked for
// f = offset + x'theta + sum_t z_t'u_t, on whatever scale its posterior is. A
// missing predictor enters a column as base + slope * predictor.
#pragma once

#include "eigen.hpp"

namespace bayeskernel {
// Chosen rows and columns of a matrix.
template <class Matrix>
MatrixXd pick(const Matrix& from, const std::vector<int>& rows,
              const std::vector<int>& columns) {
  MatrixXd out(rows.size(), columns.size());
  for (Index j = 0; j < out.cols(); ++j) {
    for (Index i = 0; i < out.rows(); ++i) {
      out(i, j) = from(rows[i], columns[j]);
    }
  }
  return out;
}

// Where missing predictors enter the columns of one matrix, by row.
struct MissingUses {
  struct Use {
    int column, predictor;
    double base, slope;
  };
  std::vector<Use> uses;        // in the order of their rows
  std::vector<Index> begin{0};  // n + 1; one zero without any

  // `row` of each use, from 0 and increasing.
  static MissingUses of(const std::vector<int>& row, std::vector<Use> uses,
                        Index rows);

  template <class Body>
  void each(Index row, Body&& body) const {
    if (begin.size() == 1) return;
    for (Index u = begin[row]; u < begin[row + 1]; ++u) body(uses[u]);
  }
};

struct LinearRows {
  struct Term {
    MatrixMap z;             // n x r
    std::vector<int> group;  // 1 .. groups; 0: one that the fit has not seen
    MissingUses missing;
  };
  struct Pattern {
    std::vector<int> predictors, rows;  // from 0
  };

  MatrixMap x;
  VectorMap offset;
  std::vector<Term> terms;
  MissingUses missing;   // in x
  MatrixMap predictors;  // n x P, NaN where missing; n x 0 without
  std::vector<Pattern> patterns;

  // An ArgumentError unless all parts are of these rows.
  void check() const;

  Index missing_values() const;

  // The predictors of a row that are there.
  std::vector<int> observed(const Pattern& pattern) const;
};

// An ArgumentError that says that this does not fit its rows.
void demand(bool fits, const char* what);
}  // namespace bayeskernel
