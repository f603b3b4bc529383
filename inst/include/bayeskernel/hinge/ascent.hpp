// The driver of variational fits: coordinate ascent whose steps in the mean
// are taken with the exact curvature of the bound, and which Anderson's method
// extrapolates. Every state is a proper q, so its bound is exact: a step that
// lowers it is taken back, and a plain coordinate step cannot lower it.
#ifndef BAYESKERNEL_HINGE_ASCENT_HPP
#define BAYESKERNEL_HINGE_ASCENT_HPP

#include <Eigen/Core>
#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "../chain/progress.hpp"
#include "../error.hpp"
#include "../math/anderson.hpp"

namespace bayeskernel {

struct MeanFieldSettings {
  // Stop at a gain below tolerance (1 + |bound| / 1000), when besides the next
  // step in the mean promises less than that and than 10 tolerance. A promise
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

// A model has
//   state_, accepted_state_  the coordinates first, then what follows them;
//   coordinates()            how many steer the extrapolation;
//   evaluate(newton)         trial_bound_ at state_, false if that is no q;
//   restart(result)          another start, or false;
//   accept()                 state_ becomes accepted_state_;
//   propose(damping, to)     the next state from the accepted one: damping 1 is
//                            the coordinate step, 0 that with the curvature;
//                            returns the gain that the step promises.
// Returns false when the last evaluation was not that of the accepted state.
template <class Model>
bool ascend(Model& model, const MeanFieldSettings& settings,
            const KeepGoing& keep_going, MeanFieldResult& result) {
  // Damping, as Levenberg and Marquardt have it: many rows of small variance
  // make the curvature change within a step.
  constexpr double kFirst = 0.01, kLeast = 5e-4;
  Anderson anderson(model.state_.size(), model.coordinates(), 2);
  double best = -std::numeric_limits<double>::infinity();
  double damping = settings.accelerate ? 0.0 : 1.0;
  bool extrapolated = false;
  Eigen::VectorXd proposal;
  while (true) {
    const bool usable = model.evaluate(settings.accelerate);
    ++result.passes;
    if (!usable && result.bound.empty() && model.restart(result)) continue;
    const double value = model.trial_bound_;
    const double slack = 1e-9 * (1.0 + std::abs(best));
    if (!usable || !(value >= best - slack)) {
      const bool plain = !extrapolated && damping == 1.0;
      if (plain && !usable) {
        throw NumericError("the bound of the first step is not finite");
      }
      if (!plain) {
        ++result.rejected;
        if (result.passes >= settings.max_passes) return false;
        anderson.restart();
        if (!extrapolated) {
          damping = damping == 0.0 ? kFirst : std::min(1.0, 10.0 * damping);
        }
        extrapolated = false;
        model.propose(damping, proposal);
        model.state_ = proposal;
        continue;
      }
    }
    const double gain = value - best;
    if (gain < 0.0) {
      result.largest_fall = std::max(result.largest_fall, -gain);
    }
    best = value;
    result.bound.push_back(value);
    model.accept();
    const double threshold =
        settings.tolerance * (1.0 + std::abs(value) / 1000.0);
    const double promise = model.propose(damping, proposal);
    const bool settled =
        promise < std::min(threshold, 10.0 * settings.tolerance);
    if (gain < threshold && (settled || !settings.accelerate)) {
      result.converged = true;
      return true;
    }
    if (result.passes >= settings.max_passes) return true;
    if (!keep_going({static_cast<double>(result.passes),
                     static_cast<double>(settings.max_passes), "vb"})) {
      result.interrupted = true;
      return true;
    }
    if (settings.accelerate) {
      damping = damping < kLeast ? 0.0 : 0.25 * damping;
      anderson.combine(model.accepted_state_, proposal);
      extrapolated = result.bound.size() > 1;
    }
    model.state_ = proposal;
  }
}

}  // namespace bayeskernel

#endif
