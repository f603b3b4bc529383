// The rows of a mean-field fit under q of the effects: their own factors, the
// sums that these leave, the noise of Gaussian rows, and residuals of a learned
// variance.
#pragma once

#include <functional>

#include "eigen.hpp"
#include "likelihood/rules.hpp"
#include "linear/evaluation.hpp"
#include "linear/gaussian.hpp"
#include "linear/moments.hpp"
#include "linear/pass.hpp"
#include "linear/row_rules.hpp"
#include "linear/state.hpp"
#include "parallel/executor.hpp"
#include "prior/blocks.hpp"
#include "rows/rows.hpp"
#include "rows/sums.hpp"

namespace bayeskernel {
// A pass that is run elsewhere, by who keeps the rows: adds the sums, and sets
// kappa by row where that is kept (null: not).
struct MeanFieldPass {
  const GaussianPosterior* q;  // null: the start
  bool with_newton;
  double noise;                            // E[1/v] of Gaussian rows
  const std::vector<MatrixXd>& precision;  // of the blocks, for open residuals
};
using RemoteMeanField =
    std::function<void(const MeanFieldPass&, Sums&, double* kappa)>;

class MeanFieldRows {
 public:
  MeanFieldRows(const RowSource& rows, Executor& executor,
                const RowModel& model)
      : model_(model),
        rules_(model),
        second_(rules_.later().second()),
        pass_(rows, executor) {}

  const RowModel& model() const { return model_; }
  // Which second derivatives the rule has beside its weights.
  Second second() const { return second_; }

  void watch(std::function<bool(double)> go_on) {
    pass_.watch(std::move(go_on));
  }
  // `state` is that of the pass when it is run.
  void delegate(RemoteMeanField remote, const MeanFieldState& state);

  // At the moments that a pass without q knows of.
  void start(const MeanFieldState& state, MeanFieldEvaluation& out);

  // At these moments; gives what the noise adds to the rows' part of the bound.
  double update(const Moments& at, const MeanFieldState& state,
                const Prior& prior, Second second, MeanFieldEvaluation& out);

 private:
  void run(const Moments& at, const Rule& rule, const NoisePosterior& noise,
           Second second, MeanFieldEvaluation& out);

  const RowModel model_;
  RowRules rules_;
  Second second_;
  Pass pass_;
};
}  // namespace bayeskernel
