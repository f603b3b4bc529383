#include "bark/label_moves.hpp"

#include "eigen.hpp"
#include "mcmc/metropolis.hpp"
#include "rng/distributions.hpp"

namespace bayeskernel {
void move_stretch(BarkState& state, LatentSweep& latent, BarkTally& tally,
                  Stream& stream) {
  RandomWalkStep& step = tally.steps.stretch;
  const double factor = std::exp(step.sd() * stream.normal());
  const double log_u = -stream.exponential();
  const bool allowed = state.holds(state.largest_variance() * factor * factor);
  const double ratio = allowed ? latent.stretch(factor) : kNeverAccepted;
  if (tally.walk(BarkMove::stretch, step, ratio, log_u)) {
    latent.accept_stretch(factor);
    state.set_variances();
  }
}

void move_by_labels(BarkState& state, LatentSweep& latent, ScaleWalks& scales,
                    BarkTally& tally, const BarkSchedule& schedule,
                    Stream& stream) {
  latent.begin_labels(stream);
  latent.move_cuts(
      [&](Index k) { return tally.steps.cut[k].sd() * stream.normal(); },
      [&](Index k, double ratio) {
        return tally.walk(BarkMove::cuts, tally.steps.cut[k], ratio,
                          -stream.exponential());
      });
  scales.look_at(&latent);
  for (int k = 0; k < schedule.label_moves; ++k) {
    if (state.setting.select) scales.move_indicators(stream);
    scales.walk(stream);
    move_stretch(state, latent, tally, stream);
  }
  scales.look_at(nullptr);
  for (int k = 0; state.setting.select && k < schedule.loose_moves; ++k) {
    latent.loosen(
        stream, std::exp2(1.0 + static_cast<double>(uniform_index(stream, 4))));
    scales.move_indicators_loosely(stream, latent);
  }
  latent.end_labels(stream);
}
}  // namespace bayeskernel
