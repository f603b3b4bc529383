// Gibbs chain of a whole linear model: random effects and other blocks,
// selection, missing predictors. The steps are those of the plain chain
// (gibbs.hpp), of selection/gibbs.hpp and of missing/gibbs.hpp; parts that a
// model lacks are skipped.
#ifndef BAYESKERNEL_HINGE_MODEL_CHAIN_HPP
#define BAYESKERNEL_HINGE_MODEL_CHAIN_HPP

#include <algorithm>
#include <cstdint>
#include <memory>

#include "../missing/gibbs.hpp"
#include "../selection/gibbs.hpp"
#include "gibbs.hpp"

namespace bayeskernel {

struct ModelState {
  GibbsState base;
  SelectionState selection;
  MissingState missing;
};

class ModelChain {
 public:
  // No selection is one of no columns, nothing is missing without predictors.
  // Else the chain keeps its own copy of the rows, whose cells change.
  ModelChain(const PackedRows& rows, const Prior& prior,
             const Selection& selection, const MissingPattern& missing,
             Executor& executor, std::uint64_t seed, std::uint64_t chain)
      : scattered_{selection.columns, selection.shape, selection.rate},
        own_rows_(missing.predictors() > 0 ? std::make_unique<PackedRows>(rows)
                                           : nullptr),
        base_(own_rows_ ? *own_rows_ : rows, prior, executor, seed, chain,
              selection.size() > 0 ? &scattered_ : nullptr) {
    if (selection.size() > 0) {
      selection_ = std::make_unique<SelectionGibbs>(
          selection, prior, rows.z_columns(), rows.groups(), seed, chain);
    }
    if (own_rows_) {
      missing_ = std::make_unique<MissingGibbs>(missing, *own_rows_, executor,
                                                seed, chain);
    }
  }

  std::uint64_t chain() const { return base_.chain(); }
  Index sweeps() const { return base_.sweeps(); }

  void sweep() {
    if (missing_) {
      missing_->draw_values(base_.state.point, base_.state.sweep);
      missing_->draw_distribution(base_.state.sweep);
    }
    base_.latent_pass();
    if (selection_) {
      selection_->draw_coefficients(base_);
      selection_->draw_scales(base_);
    } else {
      base_.draw_coefficients();
    }
    base_.draw_variances();
    base_.move_scale(selection_ ? &selection_->state.precision : nullptr);
    ++base_.state.sweep;
  }

  // Everything that later sweeps depend on; parts the model lacks are empty.
  ModelState state() const {
    return {base_.state, selection_ ? selection_->state : SelectionState(),
            missing_ ? missing_->state : MissingState()};
  }

  void restore(const ModelState& state) {
    base_.state = state.base;
    if (selection_) selection_->state = state.selection;
    if (!missing_) return;
    missing_->state = state.missing;
    missing_->fill();
  }

  const GibbsState& base() const { return base_.state; }
  const SelectionState& selection() const { return selection_->state; }
  const MissingState& missing() const { return missing_->state; }
  // The most that a factorisation had to add to a diagonal.
  double jitter() const {
    return std::max(base_.jitter(), selection_ ? selection_->jitter() : 0.0);
  }
  // f of the rows with missing values.
  void missing_latents(Eigen::ArrayXd& out) const {
    missing_->latent(base_.state.point, out);
  }

 private:
  ScatteredBlock scattered_;
  std::unique_ptr<PackedRows> own_rows_;
  GibbsChain base_;
  std::unique_ptr<SelectionGibbs> selection_;
  std::unique_ptr<MissingGibbs> missing_;
};

}  // namespace bayeskernel

#endif
