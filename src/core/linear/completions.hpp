// A row with missing values as a unit of several completed rows, its
// completions: completion k holds with prior probability pi_k and, given the
// data, with
//   rho_k ~ pi_k exp(l_k),
// l_k the completion's term of the bound as if it were a row. The unit's term
// is log sum_k pi_k exp(l_k), and completion k enters the regression rho_k
// times.
//
// The method of weights of Ibrahim (1990), here in a variational bound.
#pragma once

#include "eigen.hpp"
#include "likelihood/bounds.hpp"
#include "likelihood/rules.hpp"
#include "rows/rows.hpp"

namespace bayeskernel {
// By row, in the order of the core. The completions of a unit follow each other
// and are in one tile.
struct Completions {
  std::vector<Index> unit;
  VectorXd log_prior;

  // The end of the unit of row `i`.
  Index end(Index i) const;
};

// From log pi_k + l_k, n of them, to rho_k; the logarithm of the sum of their
// exponentials.
double softmax(Index n, double* value);

class CompletionRule final : public Rule {
 public:
  CompletionRule(const BoundRule& rows, const Completions& units)
      : rows_(rows), units_(units) {}

  Second second() const override { return rows_.second(); }
  bool gaussian() const override { return rows_.gaussian(); }

  // Before there is a q: rho = pi.
  bool at_prior = false;
  // Where rho goes, by row.
  double* responsibility = nullptr;

  double tile(const TileSpan& span, const Tile& tile, const double* m,
              const double* s, RowNumbers out) const override;

 private:
  const BoundRule& rows_;
  const Completions& units_;
};
}  // namespace bayeskernel
