#include "gibbs/model_chain.hpp"

#include "error.hpp"
#include "likelihood/family.hpp"
#include "prior/variance_prior.hpp"

namespace bayeskernel {
ModelChain::ModelChain(const PackedRows& rows, const Prior& prior,
                       const Selection& selection,
                       const MissingPattern& missing, Executor& executor,
                       std::uint64_t seed, std::uint64_t chain,
                       const RowModel& model)
    : scattered_{selection.columns, selection.shape, selection.rate,
                 selection.half_t},
      own_rows_(missing.predictors() > 0 || model.completions != nullptr
                    ? std::make_unique<PackedRows>(rows)
                    : nullptr),
      completions_(model.completions != nullptr
                       ? std::make_unique<CompletionGibbs>(
                             *model.completions, *own_rows_, model.family,
                             executor, seed, chain)
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
    if (model.family != Family::gaussian && !base_.residuals()) {
      moves_ =
          std::make_unique<ColumnMoves>(own_rows_ ? *own_rows_ : rows, prior,
                                        selection, executor, model.family);
    }
  }
  if (missing.predictors() > 0) {
    if (completions_)
      throw ArgumentError("missing values are completions, or they are not");
    missing_ = std::make_unique<MissingGibbs>(missing, *own_rows_, executor,
                                              seed, chain);
    given_latents_ = model.family != Family::hinge || base_.residuals();
  }
}

void ModelChain::sweep() {
  const GibbsState& state = base_.state;
  if (missing_ && !given_latents_) draw_missing(RowMessages());
  if (completions_) completions_->draw(state.point, state.sweep, state.noise);
  base_.latent_pass();
  if (selection_) {
    selection_->draw_coefficients(base_);
  } else {
    base_.draw_coefficients();
  }
  // Latents are forgotten by the moves of columns and along a scale.
  if (missing_ && given_latents_) draw_missing(base_.messages());
  if (moves_) {
    Stream stream(base_.seed(), base_.chain(), Purpose::selection, state.sweep,
                  2);
    moves_->run(stream, base_.state.point, selection_->state);
  }
  if (selection_) selection_->draw_scales(base_);
  base_.draw_variances();
  base_.move_scale(selection_ ? &selection_->state.precision : nullptr);
  ++base_.state.sweep;
}

ModelState ModelChain::state() const {
  return {base_.state, selection_ ? selection_->state : SelectionState(),
          missing_ ? missing_->state : MissingState()};
}

void ModelChain::restore(const ModelState& state) {
  base_.state = state.base;
  if (selection_) selection_->state = state.selection;
  if (!missing_) return;
  missing_->state = state.missing;
  missing_->fill();
}

void ModelChain::draw_missing(const RowMessages& messages) {
  missing_->draw_values(base_.state.point, base_.state.sweep, messages);
  missing_->draw_distribution(base_.state.sweep);
}
}  // namespace bayeskernel
