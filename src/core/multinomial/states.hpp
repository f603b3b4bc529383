// Fits for patterns of weights 0 and 1, weighed by the exponentials of their
// bounds, or of what they say of left-out objects, and by a prior.
#pragma once

#include "multinomial/components.hpp"
#include "multinomial/learning.hpp"

namespace bayeskernel {
struct StateSettings {
  double on = 0.5;           // prior probability of a weight 1
  bool allow_empty = false;  // no weight 1
  bool left_out = false;     // predictions of each object from the others
  bool own = false;          // in these, see left_out()
};

class StateFits {
 public:
  // Every pattern, or of many spaces those of a greedy search.
  void run(const Composite& composite, MultinomialFit& fit,
           const StateSettings& settings, Executor& executor,
           const KeepGoing& keep_going);

  // Interrupted before the first there are none.
  const std::vector<VectorXd>& states() const { return search_.states; }
  const std::vector<double>& values() const { return search_.values; }
  const VectorXd& probability() const { return probability_; }
  VectorXd inclusion() const;

  // Those that count, with their probabilities.
  const std::vector<KeptFit>& components() const { return components_; }
  const VectorXd& component_probability() const { return share_; }

  const FittedObjects& best() const { return best_; }
  // Of all fits; the bound is that of the best.
  const MultinomialResult& result() const { return result_; }

 private:
  double fit_at(const VectorXd& state, const Composite& composite,
                MultinomialFit& fit, const StateSettings& settings,
                Executor& executor, const KeepGoing& keep_going,
                bool& interrupted);

  StateSearch search_;
  VectorXd probability_, share_;
  std::vector<KeptFit> components_;
  FittedObjects best_;
  MultinomialResult result_;
  double most_ = -std::numeric_limits<double>::infinity();
};
}  // namespace bayeskernel
