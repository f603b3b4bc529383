#include "bark/scale_moves.hpp"

#include "expansion/collapsed_gaussian.hpp"
#include "math/special.hpp"
#include "mcmc/metropolis.hpp"
#include "rng/distributions.hpp"

namespace bayeskernel {
ScaleMoves::ScaleMoves(BarkState& state) : s_(state) {
  change_.terms.reserve(static_cast<std::size_t>(state.scales()));
  new_lambda_ = state.lambda;
  new_delta_ = state.delta;
}

double ScaleMoves::common_factor(double factor) {
  begin();
  change_.factor = factor;
  new_lambda_ *= factor;
  const double a = s_.prior.lambda_shape, b = s_.prior.lambda_rate;
  const double total = s_.lambda.sum();
  return measure(a * std::log(factor) - b * (factor - 1.0) * total);
}

double ScaleMoves::vector_factor(Index vector, double factor) {
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

double ScaleMoves::coordinate(Index l, double value) {
  begin();
  const double old = s_.lambda[l];
  set(l, value);
  return measure(shape(s_.active()) * std::log(value / old) -
                 s_.prior.lambda_rate * (value - old));
}

double ScaleMoves::flip_different(Index l, double lambda) {
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

double ScaleMoves::swap(Index active, Index inactive) {
  begin();
  const double lambda = s_.lambda[active];
  new_delta_[active] = 0;
  new_delta_[inactive] = 1;
  set(active, 0.0);
  set(inactive, lambda);
  return measure(0.0);
}

double ScaleMoves::replace(const IndicatorVector& delta, bool keep_total,
                           double fresh, double log_proposal) {
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

void ScaleMoves::accept() {
  s_.lambda.swap(new_lambda_);
  s_.delta.swap(new_delta_);
  if (labels_ != nullptr) {
    labels_->accept_scales();
  } else {
    s_.accept_scales();
  }
}

double ScaleMoves::draw_scale(Stream& stream, double shape) const {
  const double log_draw =
      log_gamma_variate(stream, shape) - std::log(s_.prior.lambda_rate);
  return std::max(std::exp(log_draw), kSmallest);
}

double ScaleMoves::common_scale() const {
  for (Index l = 0; l < s_.scales(); ++l) {
    if (s_.delta[l]) return s_.lambda[l];
  }
  return 0.0;
}

void ScaleMoves::begin() {
  change_.factor = 1.0;
  change_.vector = -1;
  change_.terms.clear();
  new_lambda_ = s_.lambda;
  new_delta_ = s_.delta;
}

void ScaleMoves::set(Index l, double value) {
  change_.terms.emplace_back(l, value - new_lambda_[l]);
  new_lambda_[l] = value;
}

void ScaleMoves::flip(Index l, double lambda) {
  new_delta_[l] = !s_.delta[l];
  set(l, new_delta_[l] ? lambda : 0.0);
  if (!new_delta_[l] && s_.active() == 1) clear();
}

void ScaleMoves::clear() {
  change_.factor = 0.0;
  change_.terms.clear();
}

double ScaleMoves::delta_ratio() const {
  return s_.inclusion.log_prior(new_delta_) - s_.inclusion.log_prior(s_.delta);
}

double ScaleMoves::log_density(double x, double shape) const {
  return shape * std::log(s_.prior.lambda_rate) - log_gamma(shape) +
         (shape - 1.0) * std::log(x) - s_.prior.lambda_rate * x;
}

double ScaleMoves::measure(double rest) {
  likelihood_ = labels_ != nullptr
                    ? labels_->propose_scales(change_)
                    : s_.propose_scales(change_) - s_.gaussian.log_marginal();
  return likelihood_ + rest + s_.log_reach(new_lambda_) -
         s_.log_reach(s_.lambda);
}
}  // namespace bayeskernel
