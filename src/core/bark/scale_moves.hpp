// Moves of the kernel scales lambda and of the indicators delta.
// Each move proposes what it is given and returns its log
// acceptance ratio; accept() makes it.
#pragma once

#include "bark/basis.hpp"
#include "bark/inclusion_prior.hpp"
#include "bark/latent_sweep.hpp"
#include "bark/state.hpp"
#include "eigen.hpp"
#include "rng/stream.hpp"

namespace bayeskernel {
class ScaleMoves {
 public:
  static constexpr double kSmallest = 1e-300;

  explicit ScaleMoves(BarkState& state);

  // The likelihood's part of the last ratio.
  double likelihood_change() const { return likelihood_; }

  // All scales times `factor`.
  double common_factor(double factor);

  // Those of one vector, which differ.
  double vector_factor(Index vector, double factor);

  // One scale, of those that differ.
  double coordinate(Index l, double value);

  // ---- Flip with different scales; `lambda` for a variable that comes

  double flip_different(Index l, double lambda);

  // An active variable hands its scale to an inactive one.
  double swap(Index active, Index inactive);

  // ---- Any indicators, equal scales

  // The common scale stays, or the sum of the scales. `log_proposal`: log
  // q(back)
  // - log q(forward). d, d' >= 1 unless the states differ by one variable;
  // `fresh` is the scale of the first variable.
  double replace(const IndicatorVector& delta, bool keep_total, double fresh,
                 double log_proposal);

  void accept();

  // The likelihood that decides: of labels given coefficients, between
  // begin_labels() and end_labels(); null for the collapsed one.
  void look_at(LatentSweep* labels) { labels_ = labels; }

  // ---- Fresh scales

  // Shape of one scale's prior when d variables are in.
  double shape(Index d) const {
    return s_.prior.lambda_shape / static_cast<double>(d);
  }

  double draw_scale(Stream& stream, double shape) const;

  double common_scale() const;

 private:
  void begin();

  // lambda_l, after the common factor, becomes `value`.
  void set(Index l, double value);

  void flip(Index l, double lambda);

  // No variable is left: the sums are 0 exactly.
  void clear();

  double delta_ratio() const;

  double log_density(double x, double shape) const;

  double measure(double rest);

  BarkState& s_;
  ScaleChange change_;
  VectorXd new_lambda_;
  IndicatorVector new_delta_;
  double likelihood_ = 0.0;
  LatentSweep* labels_ = nullptr;
};
}  // namespace bayeskernel
