// Moves of the scales and indicators of bark(): what is proposed, and whether
// it is accepted. Decided by the collapsed likelihood, by the labels given the
// coefficients, or by both with a new b.
#pragma once

#include "bark/latent_sweep.hpp"
#include "bark/scale_moves.hpp"
#include "bark/state.hpp"
#include "bark/steps.hpp"
#include "eigen.hpp"
#include "rng/stream.hpp"

namespace bayeskernel {
class ScaleWalks {
 public:
  ScaleWalks(BarkState& state, BarkTally& tally)
      : s_(state), tally_(tally), moves_(state) {}

  // The labels decide, between begin_labels() and end_labels(); null: no more.
  void look_at(LatentSweep* labels);

  void walk(Stream& stream);

  void move_indicators(Stream& stream);

  // Indicators with a new b, after loosen().
  void move_indicators_loosely(Stream& stream, LatentSweep& labels);

  // The probability of inclusion, or those of the Markov chain.
  void learn_inclusion(Stream& stream);

 private:
  void accept_scale(BarkMove move, double ratio, double log_u);

  void move_factor(Stream& stream);

  // All scales of one vector.
  void move_vector(Stream& stream);

  // Steps from a quarter to four times as wide as one is best, between several
  // vectors: these have different ones, and trade places.
  double any_width(Stream& stream) const;

  double smallest_scale() const;

  void move_coordinate(Stream& stream, Index d);

  // One of the `count` variables with the given indicator.
  Index draw_variable(Stream& stream, char indicator, Index count) const;

  void flip(Stream& stream);

  // A third each: any flip, a flip of a typed site, a block.
  void move_structure(Stream& stream);

  static double beta_draw(Stream& stream, double a, double b);

  static constexpr double kVectorStep = 0.3;

  BarkState& s_;
  BarkTally& tally_;
  ScaleMoves moves_;
  LatentSweep* labels_ = nullptr;
  LatentSweep* loose_ = nullptr;
  Stream* stream_ = nullptr;  // of the new b
};
}  // namespace bayeskernel
