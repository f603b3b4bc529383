// Gibbs chain of a whole linear model: random effects and other blocks,
// selection, missing predictors, as values or as atoms. The steps are those of
// the plain chain (gibbs.hpp), of selection/gibbs.hpp, of missing/values/gibbs.hpp and
// of missing/completions/gibbs.hpp; parts that a model lacks are skipped.
#ifndef BAYESKERNEL_GIBBS_MODEL_CHAIN_HPP
#define BAYESKERNEL_GIBBS_MODEL_CHAIN_HPP

#include <algorithm>
#include <cstdint>
#include <memory>

#include "missing/completions/gibbs.hpp"
#include "missing/values/gibbs.hpp"
#include "selection/gibbs.hpp"
#include "linear/gibbs.hpp"

namespace bayeskernel {

struct ModelState {
  GibbsState base;
  SelectionState selection;
  MissingState missing;
};

class ModelChain {
 public:
  // No selection is one of no columns, nothing is missing without predictors or
  // atoms. Else the chain keeps its own copy of the rows, whose cells change.
  ModelChain(const PackedRows& rows, const Prior& prior,
             const Selection& selection, const MissingPattern& missing,
             Executor& executor, std::uint64_t seed, std::uint64_t chain,
             const RowModel& model = RowModel())
      : scattered_{selection.columns, selection.shape, selection.rate,
                   selection.half_t},
        own_rows_(missing.predictors() > 0 || model.atoms != nullptr
                      ? std::make_unique<PackedRows>(rows)
                      : nullptr),
        atoms_(model.atoms != nullptr
                   ? std::make_unique<AtomGibbs>(*model.atoms, *own_rows_,
                                                 model.family, executor, seed,
                                                 chain)
                   : nullptr),
        wide_(selection.size() > 0 &&
              SelectionGibbs::wide(rows, prior, own_rows_ != nullptr)),
        base_(own_rows_ ? *own_rows_ : rows, prior, executor, seed, chain,
              {model, selection.size() > 0 ? &scattered_ : nullptr,
               own_rows_ != nullptr, !wide_}) {
    if (selection.size() > 0) {
      selection_ = std::make_unique<SelectionGibbs>(
          selection, prior, rows.z_columns(), rows.groups(), seed, chain,
          wide_ ? &rows.x : nullptr);
    }
    if (missing.predictors() > 0) {
      if (atoms_) throw ArgumentError("missing values are atoms, or they are not");
      missing_ = std::make_unique<MissingGibbs>(missing, *own_rows_, executor,
                                                seed, chain);
      given_latents_ = model.family != Family::hinge || base_.residuals();
    }
  }

  std::uint64_t chain() const { return base_.chain(); }
  Index sweeps() const { return base_.sweeps(); }

  void sweep() {
    const GibbsState& state = base_.state;
    if (missing_ && !given_latents_) draw_missing(RowMessages());
    if (atoms_) atoms_->draw(state.point, state.sweep, state.noise);
    base_.latent_pass();
    if (selection_) {
      selection_->draw_coefficients(base_);
      selection_->draw_scales(base_);
    } else {
      base_.draw_coefficients();
    }
    // Latents are forgotten by the move along a scale.
    if (missing_ && given_latents_) draw_missing(base_.messages());
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
  // Probabilities of the atoms, by row.
  const VectorXd& share() const { return atoms_->share(); }
  // f of the rows with missing values.
  void missing_latents(Eigen::ArrayXd& out) const {
    missing_->latent(base_.state.point, out);
  }

 private:
  void draw_missing(const RowMessages& messages) {
    missing_->draw_values(base_.state.point, base_.state.sweep, messages);
    missing_->draw_distribution(base_.state.sweep);
  }

  ScatteredBlock scattered_;
  std::unique_ptr<PackedRows> own_rows_;
  std::unique_ptr<AtomGibbs> atoms_;
  bool wide_;
  GibbsChain base_;
  std::unique_ptr<SelectionGibbs> selection_;
  std::unique_ptr<MissingGibbs> missing_;
  bool given_latents_ = false;  // what values are drawn with
};

}  // namespace bayeskernel

#endif
