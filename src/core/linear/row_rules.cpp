#include "linear/row_rules.hpp"

namespace bayeskernel {
RowRules::RowRules(const RowModel& model) {
  if (model.completions == nullptr && model.family == Family::hinge &&
      !model.direct) {
    return;
  }
  bound_ = std::make_unique<BoundRule>(model.family, model.direct);
  if (model.completions == nullptr) return;
  completions_ = std::make_unique<CompletionRule>(*bound_, *model.completions);
}

const Rule& RowRules::start() {
  if (!bound_) return start_;
  if (!completions_) return *bound_;
  completions_->at_prior = true;
  return *completions_;
}

const Rule& RowRules::later() {
  if (!bound_) return hinge_;
  if (!completions_) return *bound_;
  completions_->at_prior = false;
  return *completions_;
}
}  // namespace bayeskernel
