#include "optim/ascent.hpp"

namespace bayeskernel {

double AscentSchedule::more(double damping) const {
  if (shorten) return 0.5 * (1.0 + damping);
  return damping == 0.0 ? first : std::min(1.0, growth * damping);
}

AscentSchedule AscentSchedule::shortened() {
  AscentSchedule out;
  out.shorten = true;
  out.impatience = 2;
  return out;
}

AscentSchedule AscentSchedule::wary() {
  AscentSchedule out;
  out.first = 0.1;
  out.growth = 4.0;
  out.least = 0.05;
  out.patience = 2;
  out.impatience = 2;
  out.hold = 1.0;
  out.plain_end = true;
  return out;
}

void ascend(AscentModel& model, const AscentSchedule& schedule,
            const MeanFieldSettings& settings, const KeepGoing& keep_going,
            MeanFieldResult& result) {
  constexpr double kNone = -std::numeric_limits<double>::infinity();
  std::optional<Anderson> anderson;
  Eigen::VectorXd from, to;
  bool settling = settings.accelerate && schedule.settle > 0;
  double best = kNone, predicted_gain = 0.0;
  double damping =
      schedule.shorten || (settings.accelerate && !settling) ? 0.0 : 1.0;
  bool extrapolated = false;
  int quiet = 0, since = 0, patience = schedule.patience;
  result.converged = false;
  while (true) {
    const bool usable = model.evaluate(
        {settings.accelerate && !settling, predicted_gain > schedule.hold});
    ++result.passes;
    if (!usable && best == kNone) {
      if (model.restart(result)) continue;
      throw NumericError("the bound of the first step is not finite");
    }
    const double value = model.bound();
    const double rounding = 1e-9 * (1.0 + std::abs(best));
    if (!usable || !(value >= best - rounding)) {
      const bool plain = !extrapolated && damping == 1.0;
      if (plain && !usable) {
        throw NumericError("the bound of a plain step is not finite");
      }
      if (!plain) {
        ++result.rejected;
        if (result.passes >= settings.max_passes) return;
        anderson.reset();
        if (!extrapolated) {
          damping = schedule.more(damping);
          patience *= schedule.impatience;
          since = 0;
        }
        extrapolated = false;
        model.propose(damping);
        continue;
      }
    }
    const double gain = value - best;
    if (gain < 0.0) {
      result.largest_fall = std::max(result.largest_fall, -gain);
    }
    best = value;
    result.bound.push_back(value);
    if (settling) quiet = model.decides() ? 0 : quiet + 1;
    if (model.accept()) anderson.reset();
    const double threshold =
        settings.tolerance * (1.0 + std::abs(value) / 1000.0);
    predicted_gain = model.propose(damping);
    const bool plain = !settings.accelerate && !schedule.shorten;
    const bool little =
        predicted_gain < std::min(threshold, 10.0 * settings.tolerance);
    // A step of Newton's with a predicted gain far below the last one's is
    // among the last.
    const bool over = model.predicts_gain() && predicted_gain < 0.01 * gain;
    const bool still =
        (gain < threshold || over) && ((plain && !over) || little);
    if (still && !settling && !(schedule.plain_end && extrapolated)) {
      result.converged = true;
      return;
    }
    if (result.passes >= settings.max_passes) return;
    if (!keep_going({static_cast<double>(result.passes),
                     static_cast<double>(settings.max_passes), "vb"})) {
      result.interrupted = true;
      return;
    }
    if (plain) continue;
    if (settling) {
      settling = quiet < schedule.settle && !still;
      if (!settling) damping = 0.0;
      continue;
    }
    if (damping > 0.0 && ++since >= patience) {
      damping = damping < schedule.least ? 0.0 : 0.25 * damping;
      since = 0;
    }
    // Newton's steps need no help.
    if (!settings.accelerate || model.predicts_gain()) continue;
    if (still) {  // what one plain step says decides
      extrapolated = false;
      anderson.reset();
      continue;
    }
    const Eigen::Index steering = model.pack(from, to);
    if (!anderson) anderson.emplace(from.size(), steering, 2);
    extrapolated = anderson->combine(from, to);
    if (extrapolated) model.unpack(to);
  }
}

}  // namespace bayeskernel
