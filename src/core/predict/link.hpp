// From a latent value to the probability of the positive class: g(f), and
// E g(f) for f ~ N(m, v), g the normal ("probit") or the logistic distribution
// function, what the hinge pseudo-likelihood implies, or, for responses that
// are numbers, f itself.
#pragma once

#include "likelihood/probability.hpp"
#include "predict/logit_probability.hpp"

namespace bayeskernel {
enum class Link { probit, hinge, logit, identity };

class LinkCurve {
 public:
  explicit LinkCurve(Link link) : link_(link) {}
  Link link() const { return link_; }

  // g(f) for a block, with packed arithmetic.
  void values(const ArrayXd& f, ArrayXd& work, ArrayXd& out) const;

  // E g(f).
  double mean(double m, double v) const;

 private:
  Link link_;
  HingeProbability hinge_;
  LogitProbability logit_;
};
}  // namespace bayeskernel
