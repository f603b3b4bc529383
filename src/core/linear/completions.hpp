// A row with missing values as a unit of several completed rows, its atoms:
// atom k holds with prior probability pi_k and, given the data, with
//   rho_k ~ pi_k exp(l_k),
// l_k the atom's term of the bound as if it were a row. The unit's term is
// log sum_k pi_k exp(l_k), and atom k enters the regression rho_k times.
#ifndef BAYESKERNEL_LINEAR_COMPLETIONS_HPP
#define BAYESKERNEL_LINEAR_COMPLETIONS_HPP

#include <Eigen/Core>
#include <algorithm>
#include <cmath>
#include <vector>

#include "rows/rows.hpp"
#include "likelihood/bounds.hpp"

namespace bayeskernel {

// By row, in the order of the core. The atoms of a unit follow each other and
// are in one tile.
struct AtomUnits {
  std::vector<Index> unit;
  VectorXd log_prior;

  // The end of the unit of row `i`.
  Index end(Index i) const {
    const Index n = static_cast<Index>(unit.size());
    Index out = i + 1;
    while (out < n && unit[out] == unit[i]) ++out;
    return out;
  }
};

// From log pi_k + l_k, n of them, to rho_k; the logarithm of the sum of their
// exponentials.
inline double softmax(Index n, double* value) {
  if (n == 1) {
    const double only = value[0];
    value[0] = 1.0;
    return only;
  }
  const double most = *std::max_element(value, value + n);
  double sum = 0.0;
  for (Index k = 0; k < n; ++k) sum += value[k] = std::exp(value[k] - most);
  for (Index k = 0; k < n; ++k) value[k] /= sum;
  return most + std::log(sum);
}

class AtomRule final : public Rule {
 public:
  AtomRule(const BoundRule& rows, const AtomUnits& units)
      : rows_(rows), units_(units) {}

  Second second() const override { return rows_.second(); }
  bool gaussian() const override { return rows_.gaussian(); }

  // Before there is a q: rho = pi.
  bool at_prior = false;
  // Where rho goes, by row.
  double* share = nullptr;

  double tile(const TileSpan& span, const Tile& tile, const double* m,
              const double* s, RowNumbers out) const override {
    const double* log_prior = units_.log_prior.data() + span.row_begin;
    double* rho = share + span.row_begin;
    double bound = 0.0;
    for (Index begin = 0; begin < span.rows();) {
      const Index end = units_.end(span.row_begin + begin) - span.row_begin;
      for (Index i = begin; i < end; ++i) {
        const RowTerms row = rows_.row(tile.y[i], tile.weight[i], m[i], s[i]);
        out.kappa[i] = row.kappa;
        out.linear[i] = row.gradient;
        out.newton[i] = row.newton;
        rho[i] = log_prior[i] + (at_prior ? 0.0 : row.bound);
      }
      bound += softmax(end - begin, rho + begin);
      for (Index i = begin; i < end; ++i) {
        out.kappa[i] *= rho[i];
        out.linear[i] *= rho[i];
        out.newton[i] *= rho[i];
      }
      begin = end;
    }
    return bound;
  }

 private:
  const BoundRule& rows_;
  const AtomUnits& units_;
};

}  // namespace bayeskernel

#endif
