#include "linear/row_rules.hpp"

#include <memory>

#include "likelihood/bounds.hpp"
#include "likelihood/family.hpp"
#include "likelihood/rules.hpp"
#include "linear/completions.hpp"
#include "linear/conditional_variance.hpp"

namespace bayeskernel {

RowRules::RowRules(const RowModel& model) {
  if (model.atoms == nullptr && model.family == Family::hinge &&
      !model.direct) {
    return;
  }
  bound_ = std::make_unique<BoundRule>(model.family, model.direct);
  if (model.atoms == nullptr) return;
  atoms_ = std::make_unique<AtomRule>(*bound_, *model.atoms);
}

const Rule& RowRules::start() {
  if (!bound_) return start_;
  if (!atoms_) return *bound_;
  atoms_->at_prior = true;
  return *atoms_;
}

const Rule& RowRules::later() {
  if (!bound_) return hinge_;
  if (!atoms_) return *bound_;
  atoms_->at_prior = false;
  return *atoms_;
}

}  // namespace bayeskernel
