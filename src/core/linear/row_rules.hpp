// The rules of a variational fit: which family its rows are of, by which bound,
// whether rows are completions, and what their residuals are.
#pragma once

#include "eigen.hpp"
#include "likelihood/bounds.hpp"
#include "likelihood/family.hpp"
#include "likelihood/rules.hpp"
#include "linear/completions.hpp"
#include "linear/conditional_variance.hpp"

namespace bayeskernel {
struct RowModel {
  Family family = Family::hinge;
  bool direct = false;  // E log p(y | f) itself, not a bound quadratic in f
  NoisePrior noise;     // of Gaussian rows
  const Completions* completions = nullptr;  // null: rows are complete
  ConditionalVariance* open = nullptr;       // null: residuals are known

  bool learns_noise() const {
    return family == Family::gaussian && !noise.held;
  }
  // Whether a step by the weights may lower the bound: they belong to the
  // moments at which they were taken. Of Gaussian rows they are constant.
  bool may_overshoot() const { return direct && family != Family::gaussian; }
};

class RowRules {
 public:
  explicit RowRules(const RowModel& model);

  // At the moments that a pass without q knows of.
  const Rule& start();
  const Rule& later();

  void set_noise(const Noise& noise) {
    if (bound_) bound_->noise = noise;
  }
  // Where the responsibilities of completions go.
  void set_responsibility(VectorXd& responsibility) {
    if (completions_) completions_->responsibility = responsibility.data();
  }

 private:
  const MeanFieldRule hinge_{};
  const StartRule start_{};
  std::unique_ptr<BoundRule> bound_;
  std::unique_ptr<CompletionRule> completions_;
};
}  // namespace bayeskernel
