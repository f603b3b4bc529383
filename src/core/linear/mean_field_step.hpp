// The step in the mean of a mean-field fit: with the exact curvature of the
// bound instead of the conditional precision, damped between the two, or, where
// the weights are that curvature, shortened: (1 - d) times the natural
// parameters of q and d times the new ones.
#pragma once

#include "eigen.hpp"
#include "linear/evaluation.hpp"
#include "linear/selected_columns.hpp"
#include "linear/state.hpp"
#include "linear/system.hpp"
#include "parallel/executor.hpp"
#include "prior/blocks.hpp"
#include "rows/sums.hpp"

namespace bayeskernel {
class MeanFieldStep {
 public:
  // `newton`: sums have a matrix of Newton's step; `shortens`: steps may
  // overshoot.
  MeanFieldStep(const Prior& prior, bool newton, bool shortens, Index p,
                Index r, Index groups, Executor& executor)
      : prior_(prior),
        newton_(newton),
        shortens_(shortens),
        system_(p, r, groups, &executor),
        gradient_(p, r, groups),
        step_(p, r, groups) {}

  // From `accepted`, of which `from` tells: `state` has its mean, and becomes
  // the proposal. Gives the predicted gain.
  double take(double damping, const MeanFieldState& accepted,
              const MeanFieldEvaluation& from, SelectedColumns& columns,
              MeanFieldState& state);

 private:
  // The fraction `old` of the accepted precision of q stays.
  static void shorten(double old, const MeanFieldState& from,
                      MeanFieldState& state);

  // The data's part of the matrix of the step.
  const Curvature& matrix(double damping, const MeanFieldEvaluation& from,
                          SelectedColumns& columns,
                          const MeanFieldState& state);

  const Prior& prior_;
  bool newton_, shortens_;
  ArrowSystem system_;
  ArrowVector gradient_, step_;
  Curvature blended_;
};
}  // namespace bayeskernel
