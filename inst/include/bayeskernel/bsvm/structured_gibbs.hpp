// Gibbs chain of the whole linear model: random effects and other blocks,
// selection, predictors with holes (svm.md section 6). The steps are those of
// the plain chain (hinge/gibbs.hpp), of selection_gibbs.hpp and of
// holes_gibbs.hpp; parts that a model lacks are skipped.
#ifndef BAYESKERNEL_BSVM_STRUCTURED_GIBBS_HPP
#define BAYESKERNEL_BSVM_STRUCTURED_GIBBS_HPP

#include <cstdint>
#include <memory>

#include "../hinge/gibbs.hpp"
#include "holes_gibbs.hpp"
#include "selection_gibbs.hpp"
#include "structure.hpp"

namespace bayeskernel {

struct StructuredState {
  GibbsState base;
  SelectionState selection;
  HolesState holes;
};

class StructuredGibbs {
 public:
  // No selection is one of no columns, no holes are those of no predictors.
  // With holes the chain keeps its own copy of the rows, whose cells change.
  StructuredGibbs(const PackedRows& rows, const Prior& prior,
                  const Selection& selection, const Holes& holes,
                  Executor& executor, std::uint64_t seed, std::uint64_t chain)
      : scattered_{selection.columns, selection.shape, selection.rate},
        own_rows_(holes.predictors() > 0 ? std::make_unique<PackedRows>(rows)
                                         : nullptr),
        base_(own_rows_ ? *own_rows_ : rows, prior, executor, seed, chain,
              selection.size() > 0 ? &scattered_ : nullptr) {
    if (selection.size() > 0) {
      selection_ = std::make_unique<SelectionGibbs>(
          selection, prior, rows.z_columns(), rows.groups(), seed, chain);
    }
    if (own_rows_) {
      holes_ = std::make_unique<HolesGibbs>(holes, *own_rows_, executor, seed,
                                            chain);
    }
  }

  std::uint64_t chain() const { return base_.chain(); }
  Index sweeps() const { return base_.sweeps(); }

  void sweep() {
    if (holes_) {
      holes_->draw_values(base_.state.point, base_.state.sweep);
      holes_->draw_distribution(base_.state.sweep);
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
  StructuredState state() const {
    return {base_.state, selection_ ? selection_->state : SelectionState(),
            holes_ ? holes_->state : HolesState()};
  }

  void restore(const StructuredState& state) {
    base_.state = state.base;
    if (selection_) selection_->state = state.selection;
    if (!holes_) return;
    holes_->state = state.holes;
    holes_->fill();
  }

  const GibbsState& base() const { return base_.state; }
  const SelectionState& selection() const { return selection_->state; }
  const HolesState& holes() const { return holes_->state; }
  // f of the rows with holes.
  void hole_latents(Eigen::ArrayXd& out) const {
    holes_->latent(base_.state.point, out);
  }

 private:
  ScatteredBlock scattered_;
  std::unique_ptr<PackedRows> own_rows_;
  GibbsChain base_;
  std::unique_ptr<SelectionGibbs> selection_;
  std::unique_ptr<HolesGibbs> holes_;
};

}  // namespace bayeskernel

#endif
