// The driver of variational fits: coordinate ascent whose steps in the mean
// are taken with the curvature of the bound, damped where that fails, and which
// Anderson's method extrapolates. Every state is a proper q, so its bound is
// exact: a step that lowers it is taken back, and a plain coordinate step
// cannot lower it.
#pragma once

#include "error.hpp"
#include "optim/anderson.hpp"
#include "optim/progress.hpp"

namespace bayeskernel {
struct MeanFieldSettings {
  // Stop at a gain below tolerance (1 + |bound| / 1000), when besides the next
  // predicted gain of a step in the mean is below that and 10 tolerance. A gain
  // of 1e-5 is a step of 0.0045 posterior sds, however many the rows.
  double tolerance = 1e-6;
  int max_passes = 2000;
  bool accelerate = true;
};

struct MeanFieldResult {
  std::vector<double> bound;  // after each accepted step
  int passes = 0;
  int rejected = 0;  // steps taken back
  bool converged = false;
  bool interrupted = false;
  double largest_fall = 0.0;  // of the bound, in accepted steps
};

// How steps are damped (Levenberg and Marquardt) and when an ascent is over.
// Damping 0 is the step with the curvature, 1 the coordinate step; in a model
// whose steps are shortened, the share of the old that stays.
struct AscentSchedule {
  bool shorten = false;
  double first = 0.01;  // damping after the first step taken back
  double growth = 10.0;
  double least = 5e-4;  // below it damping goes back to 0
  // Accepted steps before damping is relaxed, `impatience` times as many after
  // every step taken back.
  int patience = 1;
  int impatience = 1;
  // Steps are plain until the model has decided nothing for so many of them.
  int settle = 0;
  // Discrete factors wait while the predicted gain of the mean is above this.
  double hold = std::numeric_limits<double>::infinity();
  // Whether a step that is not extrapolated has the last word.
  bool plain_end = false;

  // Damping after a step taken back.
  double more(double damping) const;

  // For rules without a coordinate step: a step may be too long.
  static AscentSchedule shortened();

  // For bounds with discrete or nonlinear factors beside the mean.
  static AscentSchedule wary();
};

// What the driver knows of a model: an accepted state, a proposal, and what the
// last evaluation of a proposal said.
class AscentModel {
 public:
  struct Step {
    bool accelerated = false;  // else factors are updated in their plain order
    bool hold = false;
  };

  virtual ~AscentModel() = default;
  // The bound and all that follows at the proposal; false if that is no q.
  virtual bool evaluate(const Step& step) = 0;
  virtual double bound() const = 0;
  // Whether the evaluation turns a discrete factor over.
  virtual bool decides() const { return false; }
  // The evaluated proposal is the accepted state. True when the model has
  // other coordinates from now on.
  virtual bool accept() = 0;
  // The next proposal, from the accepted state; the predicted gain.
  virtual double propose(double damping) = 0;
  // Whether no factor but the mean could gain more than that.
  virtual bool predicts_gain() const { return false; }
  // Another start, or false.
  virtual bool restart(MeanFieldResult&) { return false; }
  // Accepted state and proposal as vectors: first the coordinates that steer
  // an extrapolation, whose number is returned, then what follows them.
  virtual Index pack(VectorXd& accepted, VectorXd& proposal) = 0;
  virtual void unpack(const VectorXd& proposal) = 0;
};

// From the proposal at hand. Interrupts of evaluations pass through.
void ascend(AscentModel& model, const AscentSchedule& schedule,
            const MeanFieldSettings& settings, const KeepGoing& keep_going,
            MeanFieldResult& result);
}  // namespace bayeskernel
