// Moves of the kernel scales lambda and of the indicators delta.
// Each move proposes what it is given and returns its log
// acceptance ratio; accept() makes it.
#ifndef BAYESKERNEL_BARK_SCALE_MOVES_HPP
#define BAYESKERNEL_BARK_SCALE_MOVES_HPP

#include <Eigen/Core>
#include <algorithm>
#include <cmath>
#include <limits>

#include "mcmc/metropolis.hpp"
#include "bark/latent_sweep.hpp"
#include "bark/state.hpp"

namespace bayeskernel {

class ScaleMoves {
 public:
  using Index = Eigen::Index;

  static constexpr double kSmallest = 1e-300;

  explicit ScaleMoves(BarkState& state) : s_(state) {
    change_.terms.reserve(static_cast<std::size_t>(state.scales()));
    new_lambda_ = state.lambda;
    new_delta_ = state.delta;
  }

  // The likelihood's part of the last ratio.
  double likelihood_change() const { return likelihood_; }

  // All scales times `factor`.
  double common_factor(double factor) {
    begin();
    change_.factor = factor;
    new_lambda_ *= factor;
    const double a = s_.prior.lambda_shape, b = s_.prior.lambda_rate;
    const double total = s_.lambda.sum();
    return measure(a * std::log(factor) - b * (factor - 1.0) * total);
  }

  // Those of one vector, which differ.
  double vector_factor(Index vector, double factor) {
    begin();
    const Index p = s_.data.variables();
    auto scales = new_lambda_.segment(vector * p, p);
    const double total = scales.sum();
    scales *= factor;
    if (!(scales.minCoeff() > kSmallest)) return kNeverAccepted;
    change_.factor = factor;
    change_.vector = vector;
    return measure(static_cast<double>(p) * shape(s_.scales()) *
                       std::log(factor) -
                   s_.prior.lambda_rate * (factor - 1.0) * total);
  }

  // One scale, of those that differ.
  double coordinate(Index l, double value) {
    begin();
    const double old = s_.lambda[l];
    set(l, value);
    return measure(shape(s_.active()) * std::log(value / old) -
                   s_.prior.lambda_rate * (value - old));
  }

  // ---- Flip with different scales; `lambda` for a variable that comes

  double flip_different(Index l, double lambda) {
    begin();
    flip(l, lambda);
    const double d = static_cast<double>(s_.active());
    // The others' shapes are a / d before, a / d' after.
    const double to = s_.delta[l] ? d - 1.0 : d + 1.0;
    double ratio = 0.0;
    for (Index j = 0; j < s_.scales(); ++j) {
      if (j == l || !s_.delta[j]) continue;
      ratio += log_density(s_.lambda[j], s_.prior.lambda_shape / to) -
               log_density(s_.lambda[j], s_.prior.lambda_shape / d);
    }
    return measure(delta_ratio() + ratio);
  }

  // An active variable hands its scale to an inactive one.
  double swap(Index active, Index inactive) {
    begin();
    const double lambda = s_.lambda[active];
    new_delta_[active] = 0;
    new_delta_[inactive] = 1;
    set(active, 0.0);
    set(inactive, lambda);
    return measure(0.0);
  }

  // ---- Any indicators, equal scales

  // The common scale stays, or the sum of the scales. `log_proposal`: log
  // q(back)
  // - log q(forward). d, d' >= 1 unless the states differ by one variable;
  // `fresh` is the scale of the first variable.
  double replace(const IndicatorVector& delta, bool keep_total, double fresh,
                 double log_proposal) {
    begin();
    new_delta_ = delta;
    const double d = static_cast<double>(s_.active());
    const double to =
        static_cast<double>(std::count(delta.begin(), delta.end(), char{1}));
    double ratio = delta_ratio() + log_proposal;
    double lambda = d > 0.0 ? common_scale() : fresh;
    if (d > 0.0 && to > 0.0) {
      if (keep_total) {
        change_.factor = d / to;
        lambda *= change_.factor;
        new_lambda_ *= change_.factor;
      } else {
        ratio += s_.prior.lambda_shape * std::log(to / d) -
                 (to - d) * s_.prior.lambda_rate * lambda;
      }
    }
    for (Index l = 0; l < s_.scales(); ++l) {
      if (delta[l] == s_.delta[l]) continue;
      set(l, delta[l] ? lambda : 0.0);
    }
    if (to == 0.0) clear();
    return measure(ratio);
  }

  void accept() {
    s_.lambda.swap(new_lambda_);
    s_.delta.swap(new_delta_);
    if (labels_ != nullptr) {
      labels_->accept_scales();
    } else {
      s_.accept_scales();
    }
  }

  // The likelihood that decides: of labels given coefficients, between
  // begin_labels() and end_labels(); null for the collapsed one.
  void look_at(LatentSweep* labels) { labels_ = labels; }

  // ---- Fresh scales

  // Shape of one scale's prior when d variables are in.
  double shape(Index d) const {
    return s_.prior.lambda_shape / static_cast<double>(d);
  }

  double draw_scale(Stream& stream, double shape) const {
    const double log_draw =
        log_gamma_variate(stream, shape) - std::log(s_.prior.lambda_rate);
    return std::max(std::exp(log_draw), kSmallest);
  }

  double common_scale() const {
    for (Index l = 0; l < s_.scales(); ++l) {
      if (s_.delta[l]) return s_.lambda[l];
    }
    return 0.0;
  }

 private:
  void begin() {
    change_.factor = 1.0;
    change_.vector = -1;
    change_.terms.clear();
    new_lambda_ = s_.lambda;
    new_delta_ = s_.delta;
  }

  // lambda_l, after the common factor, becomes `value`.
  void set(Index l, double value) {
    change_.terms.emplace_back(l, value - new_lambda_[l]);
    new_lambda_[l] = value;
  }

  void flip(Index l, double lambda) {
    new_delta_[l] = !s_.delta[l];
    set(l, new_delta_[l] ? lambda : 0.0);
    if (!new_delta_[l] && s_.active() == 1) clear();
  }

  // No variable is left: the sums are 0 exactly.
  void clear() {
    change_.factor = 0.0;
    change_.terms.clear();
  }

  double delta_ratio() const {
    return s_.inclusion.log_prior(new_delta_) -
           s_.inclusion.log_prior(s_.delta);
  }

  double log_density(double x, double shape) const {
    return shape * std::log(s_.prior.lambda_rate) - log_gamma(shape) +
           (shape - 1.0) * std::log(x) - s_.prior.lambda_rate * x;
  }

  double measure(double rest) {
    likelihood_ = labels_ != nullptr
                      ? labels_->propose_scales(change_)
                      : s_.propose_scales(change_) - s_.gaussian.log_marginal();
    return likelihood_ + rest + s_.log_reach(new_lambda_) -
           s_.log_reach(s_.lambda);
  }

  BarkState& s_;
  ScaleChange change_;
  Eigen::VectorXd new_lambda_;
  IndicatorVector new_delta_;
  double likelihood_ = 0.0;
  LatentSweep* labels_ = nullptr;
};

}  // namespace bayeskernel

#endif
