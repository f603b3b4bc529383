// Gibbs chain of a whole linear model: random effects and other blocks,
// selection, missing predictors, as values or as completions. The steps are
// those of the plain chain (gibbs.hpp), of selection/gibbs.hpp, of
// missing/values/gibbs.hpp and of missing/completions/gibbs.hpp; parts that a
// model lacks are skipped.
#pragma once

#include "eigen.hpp"
#include "linear/gibbs.hpp"
#include "linear/missing_pattern.hpp"
#include "linear/row_rules.hpp"
#include "linear/scale_move.hpp"
#include "missing/completions/gibbs.hpp"
#include "missing/values/gibbs.hpp"
#include "parallel/executor.hpp"
#include "prior/blocks.hpp"
#include "prior/indicators.hpp"
#include "rows/rows.hpp"
#include "rows/sums.hpp"
#include "selection/column_moves.hpp"
#include "selection/gibbs.hpp"

namespace bayeskernel {
struct ModelState {
  GibbsState base;
  SelectionState selection;
  MissingState missing;
};

class ModelChain {
 public:
  // No selection is one of no columns, nothing is missing without predictors or
  // completions. Else the chain keeps its own copy of the rows, whose cells
  // change.
  ModelChain(const PackedRows& rows, const Prior& prior,
             const Selection& selection, const MissingPattern& missing,
             Executor& executor, std::uint64_t seed, std::uint64_t chain,
             const RowModel& model = RowModel());

  std::uint64_t chain() const { return base_.chain(); }
  Index sweeps() const { return base_.sweeps(); }

  void sweep();

  // Everything that later sweeps depend on; parts the model lacks are empty.
  ModelState state() const;

  void restore(const ModelState& state);

  const GibbsState& base() const { return base_.state; }
  const SelectionState& selection() const { return selection_->state; }
  const MissingState& missing() const { return missing_->state; }
  // The most that a factorisation had to add to a diagonal.
  double jitter() const {
    return std::max(base_.jitter(), selection_ ? selection_->jitter() : 0.0);
  }
  // Probabilities of the completions, by row.
  const VectorXd& responsibility() const {
    return completions_->responsibility();
  }
  // f of the rows with missing values.
  void missing_latents(ArrayXd& out) const {
    missing_->latent(base_.state.point, out);
  }

 private:
  void draw_missing(const RowMessages& messages);

  ScatteredBlock scattered_;
  std::unique_ptr<PackedRows> own_rows_;
  std::unique_ptr<CompletionGibbs> completions_;
  bool wide_;
  GibbsChain base_;
  std::unique_ptr<SelectionGibbs> selection_;
  std::unique_ptr<ColumnMoves> moves_;
  std::unique_ptr<MissingGibbs> missing_;
  bool given_latents_ = false;  // what values are drawn with
};
}  // namespace bayeskernel
