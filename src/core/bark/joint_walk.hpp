// A random walk of all scales of a regression at once: log lambda of every
// variable (or the common one), log epsilon^2 and log phi. Functions of much
// the same fit lie along a ridge, from narrow kernels with small coefficients
// to wide ones with large coefficients; one coordinate at a time goes along it
// in small steps.
#pragma once

#include "bark/basis.hpp"
#include "bark/prior.hpp"
#include "bark/state.hpp"
#include "bark/steps.hpp"
#include "eigen.hpp"
#include "mcmc/learned_step.hpp"
#include "rng/stream.hpp"

namespace bayeskernel {
class JointWalk {
 public:
  // `on`: not where variables come and go.
  JointWalk(BarkState& state, BarkTally& tally, bool on)
      : s_(state),
        tally_(tally),
        scales_(state.setting.different ? state.scales() : 1),
        epsilon_(state.prior.learns_scale()),
        phi_(state.prior.phi.kind != PrecisionPrior::Kind::fixed),
        step_(on && !state.setting.select && state.scales() <= kMostVariables
                  ? scales_ + epsilon_ + phi_
                  : 0) {}

  bool on() const { return step_.size() > 0; }
  LearnedStep& directions() { return step_; }

  void learn() { step_.observe(position(kNegligible * s_.total_scale())); }

  void walk(Stream& stream);

  // The log acceptance ratio of a step of the logs: those of the scales, of
  // epsilon^2, of phi. The precisions of the coefficients times epsilon^2 stay.
  double propose(const VectorXd& step);

  void accept();

 private:
  static constexpr Index kMostVariables = 50;
  // A scale below this share of their sum has no effect, and where it is says
  // nothing about the others.
  static constexpr double kNegligible = 1e-3;

  VectorXd position(double least) const;

  bool allowed(double square) const;

  BarkState& s_;
  BarkTally& tally_;
  Index scales_;
  bool epsilon_, phi_;
  LearnedStep step_;
  ScaleChange change_;
  VectorXd new_lambda_;
  double factor_ = 1.0, new_phi_ = 1.0;
};
}  // namespace bayeskernel
