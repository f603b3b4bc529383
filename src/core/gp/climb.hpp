// Steps of a kernel's parameters and of the inducing points between stochastic
// steps of q: of Adam (Kingma & Ba 2015, ICLR), along the gradient of the bound
// that a minibatch estimates. q stays what it is in whitened coordinates.
// Cost of a step: that of BoundGradientPass, and m^3.
//
// Wenzel et al. (2017), section 4.3: one for every ten steps of q, by eq. 12.
#pragma once

#include "eigen.hpp"
#include "gp/features.hpp"
#include "linear/gaussian.hpp"
#include "parallel/executor.hpp"
#include "rows/rows.hpp"

namespace bayeskernel {
class KernelClimb {
 public:
  // Moves `features` at every so many visits. Parameters, as the kernel has
  // them, stay between `lower` and `upper`.
  KernelClimb(Features& features, Index every, VectorXd lower, VectorXd upper,
              Executor& executor);

  // After a step of q(v), from a minibatch each of whose rows counts `times`.
  void visit(const RowSource& batch, const GaussianPosterior& q, double times);

 private:
  Features& features_;
  Index every_, visits_ = 0;
  VectorXd lower_, upper_;
  Executor& executor_;
  VectorXd mean_, square_;  // of gradients, moving averages
};
}  // namespace bayeskernel
