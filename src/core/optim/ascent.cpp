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

namespace {
// Three decisions after each evaluation: whether the step is accepted, whether
// the ascent is over, and where the next proposal is.
class Ascent {
 public:
  Ascent(AscentModel& model, const AscentSchedule& schedule,
         const MeanFieldSettings& settings, MeanFieldResult& result)
      : model_(model),
        schedule_(schedule),
        settings_(settings),
        result_(result),
        settling_(settings.accelerate && schedule.settle > 0),
        damping_(schedule.shorten || (settings.accelerate && !settling_) ? 0.0
                                                                         : 1.0),
        patience_(schedule.patience) {}

  void run(const KeepGoing& keep_going) {
    result_.converged = false;
    while (true) {
      const bool usable = model_.evaluate({settings_.accelerate && !settling_,
                                           predicted_gain_ > schedule_.hold});
      ++result_.passes;
      if (!usable && best_ == kNone) {
        if (model_.restart(result_)) continue;
        throw NumericError("the bound of the first step is not finite");
      }
      if (falls(usable)) {
        ++result_.rejected;
        if (result_.passes >= settings_.max_passes) return;
        take_back();
        continue;
      }
      const bool still = accept();
      if (still && !settling_ && !(schedule_.plain_end && extrapolated_)) {
        result_.converged = true;
        return;
      }
      if (result_.passes >= settings_.max_passes) return;
      if (!keep_going({static_cast<double>(result_.passes),
                       static_cast<double>(settings_.max_passes), "vb"})) {
        result_.interrupted = true;
        return;
      }
      if (settings_.accelerate || schedule_.shorten) proceed(still);
    }
  }

 private:
  static constexpr double kNone = -std::numeric_limits<double>::infinity();

  // A plain step does not, but for rounding.
  bool falls(bool usable) const {
    const double rounding = 1e-9 * (1.0 + std::abs(best_));
    if (usable && model_.bound() >= best_ - rounding) return false;
    const bool plain = !extrapolated_ && damping_ == 1.0;
    if (plain && !usable) {
      throw NumericError("the bound of a plain step is not finite");
    }
    return !plain;
  }

  void take_back() {
    anderson_.reset();
    if (!extrapolated_) {
      damping_ = schedule_.more(damping_);
      patience_ *= schedule_.impatience;
      since_ = 0;
    }
    extrapolated_ = false;
    model_.propose(damping_);
  }

  // Whether little is left to gain.
  bool accept() {
    const double value = model_.bound(), gain = value - best_;
    if (gain < 0.0) {
      result_.largest_fall = std::max(result_.largest_fall, -gain);
    }
    best_ = value;
    result_.bound.push_back(value);
    if (settling_) quiet_ = model_.decides() ? 0 : quiet_ + 1;
    if (model_.accept()) anderson_.reset();
    const double threshold =
        settings_.tolerance * (1.0 + std::abs(value) / 1000.0);
    predicted_gain_ = model_.propose(damping_);
    const bool plain = !settings_.accelerate && !schedule_.shorten;
    const bool little =
        predicted_gain_ < std::min(threshold, 10.0 * settings_.tolerance);
    // A step of Newton's with a predicted gain far below the last one's is
    // among the last.
    const bool over = model_.predicts_gain() && predicted_gain_ < 0.01 * gain;
    return (gain < threshold || over) && ((plain && !over) || little);
  }

  void proceed(bool still) {
    if (settling_) {
      settling_ = quiet_ < schedule_.settle && !still;
      if (!settling_) damping_ = 0.0;
      return;
    }
    if (damping_ > 0.0 && ++since_ >= patience_) {
      damping_ = damping_ < schedule_.least ? 0.0 : 0.25 * damping_;
      since_ = 0;
    }
    // Newton's steps need no help.
    if (!settings_.accelerate || model_.predicts_gain()) return;
    if (still) {  // what one plain step says decides
      extrapolated_ = false;
      anderson_.reset();
      return;
    }
    const Index steering = model_.pack(from_, to_);
    if (!anderson_) anderson_.emplace(from_.size(), steering, 2);
    extrapolated_ = anderson_->combine(from_, to_);
    if (extrapolated_) model_.unpack(to_);
  }

  AscentModel& model_;
  const AscentSchedule& schedule_;
  const MeanFieldSettings& settings_;
  MeanFieldResult& result_;
  std::optional<Anderson> anderson_;
  VectorXd from_, to_;
  bool settling_, extrapolated_ = false;
  double damping_, best_ = kNone, predicted_gain_ = 0.0;
  int quiet_ = 0, since_ = 0, patience_;
};
}  // namespace

void ascend(AscentModel& model, const AscentSchedule& schedule,
            const MeanFieldSettings& settings, const KeepGoing& keep_going,
            MeanFieldResult& result) {
  Ascent(model, schedule, settings, result).run(keep_going);
}
}  // namespace bayeskernel
