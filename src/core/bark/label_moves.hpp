// Moves of bark() that look at the labels given the coefficients: latents of
// clear labels lie far out and would hold scales and cut points more firmly
// than the labels do.
#pragma once

#include "bark/latent_sweep.hpp"
#include "bark/scale_walks.hpp"
#include "bark/state.hpp"
#include "bark/steps.hpp"
#include "rng/stream.hpp"

namespace bayeskernel {
// A common factor of all coefficients, given begin_labels().
void move_stretch(BarkState& state, LatentSweep& latent, BarkTally& tally,
                  Stream& stream);

// Cut points, scales and indicators; the latents are drawn anew.
void move_by_labels(BarkState& state, LatentSweep& latent, ScaleWalks& scales,
                    BarkTally& tally, const BarkSchedule& schedule,
                    Stream& stream);
}  // namespace bayeskernel
