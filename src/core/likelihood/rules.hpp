// Rules: what turns the moments of a row into the numbers of a pass. f is the
// row's latent value, m and s its mean and variance, y its label, w its
// likelihood power. An engine is a rule: mean field here, the Gibbs chain and
// the mode with their engines.
//
// The hinge is a mean over scales lambda, Wenzel et al. (2017), eq. 3; its
// bound is the sum of their eq. 8, at the optimum of eq. 11. The a_i of Luts
// and Ormerod (2014), section 2.3.
#pragma once

#include "eigen.hpp"
#include "rows/rows.hpp"

namespace bayeskernel {
// c is floored here: E[1/a] = 1/c would blow up for a row on the margin.
constexpr double kScaleFloor = 1e-8;

// What a rule sets for every row of a tile.
struct RowNumbers {
  double* kappa;   // weight of (x, z)(x, z)'
  double* linear;  // of (x, z)
  double* newton;  // minus the second derivative of the bound in m
};

// Whether a pass sums the second derivatives, and of which rows: those that a
// step needs, where the rows far from the margin carry little, or of all.
enum class Second { none, step, exact };

class Rule {
 public:
  virtual ~Rule() = default;
  // What a step with the curvature of the bound needs of them; none where the
  // weights kappa are the second derivatives.
  virtual Second second() const { return Second::exact; }
  // Whether y is a number with Gaussian noise.
  virtual bool gaussian() const { return false; }
  // Returns the rows' terms of the bound. On any thread.
  virtual double tile(const TileSpan& span, const Tile& tile, const double* m,
                      const double* s, RowNumbers out) const = 0;
};

struct RowTerms {
  double kappa;     // w / c
  double gradient;  // derivative of the bound in m
  double newton;    // minus the second derivative in m at fixed s
  double bound;     // the row's term of the bound
};

// Mean field: chi = (1 - y m)^2 + s, c = sqrt(chi). The linear number is the
// gradient: the alternative, y (w + kappa), cancels against kappa m when kappa
// is large.
RowTerms mean_field(double y, double w, double m, double s);

// The numbers of a tile whose rows are row(y, w, m, s); their terms of the
// bound.
template <class Row>
double set_rows(const Tile& tile, const double* m, const double* s, Row&& row,
                RowNumbers out) {
  double bound = 0.0;
  for (Index i = 0; i < tile.y.size(); ++i) {
    const RowTerms at = row(tile.y[i], tile.weight[i], m[i], s[i]);
    out.kappa[i] = at.kappa;
    out.linear[i] = at.gradient;
    out.newton[i] = at.newton;
    bound += at.bound;
  }
  return bound;
}

class MeanFieldRule final : public Rule {
 public:
  Second second() const override { return Second::step; }
  double tile(const TileSpan&, const Tile& tile, const double* m,
              const double* s, RowNumbers out) const override;
};

// The same at c = 1, where the iteration starts.
class StartRule final : public Rule {
 public:
  double tile(const TileSpan& span, const Tile& tile, const double* m,
              const double*, RowNumbers out) const override;
};
}  // namespace bayeskernel
