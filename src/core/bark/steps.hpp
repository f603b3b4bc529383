// The moves of bark()'s chain by name, the widths of its random walks, and how
// often it does what.
#pragma once

#include "mcmc/metropolis.hpp"

namespace bayeskernel {
enum class BarkMove {
  birth,
  death,
  relocate,
  shift,
  varphi,
  phi,
  factor,
  coordinate,
  flip,
  swap,
  typed_flip,
  block,
  stretch,
  cuts,
  markov,
  epsilon,
  joint,
  vector,
  count
};

inline const char* name_of(BarkMove move) {
  static constexpr const char* kNames[] = {
      "birth",   "death", "relocate", "shift",   "varphi",     "phi",
      "factor",  "scale", "flip",     "swap",    "typed flip", "block",
      "stretch", "cuts",  "markov",   "epsilon", "joint",      "vector"};
  return kNames[static_cast<int>(move)];
}

// Random walks; those of scales and cut points one for each.
struct BarkSteps {
  explicit BarkSteps(Index variables)
      : scale(static_cast<std::size_t>(variables)), label_scale(scale) {}

  RandomWalkStep varphi, phi, factor, label_factor, stretch, epsilon;
  RandomWalkStep joint{1.0, 0.25};
  std::vector<RandomWalkStep> scale, label_scale, cut;

  template <class Visit>
  void for_each(Visit&& visit) {
    for (auto* step : {&varphi, &phi, &factor, &label_factor, &stretch}) {
      visit(*step);
    }
    for (auto* steps : {&scale, &label_scale, &cut}) {
      for (auto& step : *steps) visit(step);
    }
    visit(epsilon);
    visit(joint);
  }
};

// What every kind of move writes to.
struct BarkTally : AcceptanceTable<BarkMove> {
  explicit BarkTally(Index variables) : steps(variables) {}
  BarkSteps steps;
};

struct BarkSchedule {
  int refresh = 3;            // sweeps between draws of all precisions
  int latent = 5;             // sweeps between draws of the latents
  int blocks = 5;             // between slices of the variances of blocks
  int labels = 40;            // between moves by the labels, a multiple of it
  int indicators = 1;         // moves of them at a time
  int label_moves = 2;        // pairs of moves of the scales, then
  int loose_moves = 5;        // of the indicators with the coefficients, then
  int phi = 1;                // between steps of phi alone
  double scale_share = 0.2;   // of the sweeps move scales
  double joint_share = 0.3;   // of the sweeps move all scales at once
  int learn = 5;              // between looks at where they are, in warmup
  double shift_share = 0.25;  // of the sweeps move a column nearby
};
}  // namespace bayeskernel
