// What rows say of columns that a fit does not use: with f at the moments of
// the fit a row counts as exp(-kappa (f - m)^2 / 2 + gradient (f - m)), so that
// a further column x with coefficient v adds to the bound
//   v sum gradient x - v^2 / 2 sum kappa x^2.
#pragma once

#include "eigen.hpp"
#include "likelihood/family.hpp"
#include "linear/row_rules.hpp"
#include "rows/rows.hpp"

namespace bayeskernel {
// kappa and gradient of the rows, of which f has mean m and variance s.
struct RowGradient {
  VectorXd kappa, gradient;

  RowGradient(const PackedRows& rows, const RowModel& model, const Noise& noise,
              const VectorXd& m, const VectorXd& s);
};

// Sums over rows of gradients (n x m) and weights with columns (x - center) /
// scale of an n x p matrix that stays as it is: O(n p m), some columns at a
// time.
struct ColumnSums {
  MatrixXd products;  // m x K, of the columns asked for
  VectorXd squares;   // sum weight x^2

  ColumnSums(const MatrixRef& x, const std::vector<Index>& columns,
             const VectorXd& center, const VectorXd& scale,
             const VectorRef& weight, const MatrixRef& gradients);
};
}  // namespace bayeskernel
