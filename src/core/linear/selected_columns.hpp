// Between a mean-field fit and the indicators of its columns, if it has any:
// sums over rows are of the bare columns, q is of theta, and E gamma is between
// them.
//
// Luts and Ormerod (2014), section 3.2 and algorithm 3.
#pragma once

#include "eigen.hpp"
#include "linear/evaluation.hpp"
#include "linear/missing_values.hpp"
#include "linear/moments.hpp"
#include "linear/state.hpp"
#include "prior/indicators.hpp"
#include "rows/sums.hpp"

namespace bayeskernel {
class SelectedColumns {
 public:
  // Null: no column has an indicator.
  explicit SelectedColumns(const Indicators* indicators)
      : indicators_(indicators) {}

  explicit operator bool() const { return indicators_ != nullptr; }

  // E gamma by column of x.
  const VectorXd& inclusion() const { return inclusion_; }
  // The data's part of the precision of q, by scale() or blend().
  const Curvature& scaled() const { return scaled_; }

  void start(const VectorXd& inclusion, MeanFieldState& state,
             MeanFieldEvaluation& out) const;

  // The factors of what was accepted, and the gradient there.
  void propose(const MeanFieldEvaluation& from, MeanFieldState& state,
               ArrowVector& gradient);

  // E gamma at the state and the sums times it.
  void scale(const MeanFieldState& state);

  // With the share `w` of the matrix of Newton's step; `newton`: sums have one.
  void blend(double w, bool newton, const MeanFieldEvaluation& from,
             const MeanFieldState& state);

  // gamma, with the others as `q` has them, from the sums of `from`.
  void update_odds(const MeanFieldEvaluation& from, const EffectMoments& effect,
                   const IndicatorPosterior& q, VectorXd& odds) const;

  // The other factors, at the log odds of `out`; gives their part of the bound.
  double update(const EffectMoments& effect, double log_slab, Moments& moments,
                MeanFieldEvaluation& out);

 private:
  const Indicators* indicators_;
  VectorXd inclusion_;
  Curvature scaled_;
};
}  // namespace bayeskernel
