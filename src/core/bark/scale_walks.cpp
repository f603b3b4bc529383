#include "bark/scale_walks.hpp"

#include <array>

#include "bark/basis.hpp"
#include "bark/inclusion_prior.hpp"
#include "bark/prior.hpp"
#include "bark/structured_moves.hpp"
#include "mcmc/metropolis.hpp"
#include "rng/distributions.hpp"

namespace bayeskernel {
void ScaleWalks::look_at(LatentSweep* labels) {
  labels_ = labels;
  moves_.look_at(labels);
}

void ScaleWalks::walk(Stream& stream) {
  const Index d = s_.active();
  if (d == 0) return;
  if (!s_.setting.different) {
    move_factor(stream);
    return;
  }
  if (!s_.setting.select) move_coordinate(stream, d);
  if (s_.data.vectors() > 1) move_vector(stream);
  if (stream.uniform() < 0.5) {
    move_factor(stream);
  } else {
    move_coordinate(stream, d);
  }
}

void ScaleWalks::move_indicators(Stream& stream) {
  if (s_.inclusion.kind() == InclusionPrior::Kind::markov) {
    move_structure(stream);
    return;
  }
  const Index d = s_.active(), p = s_.scales();
  if (stream.uniform() < 0.5) {
    flip(stream);
  } else if (d > 0 && d < p) {
    const Index in = draw_variable(stream, 1, d);
    const Index out = draw_variable(stream, 0, p - d);
    const double log_u = -stream.exponential();
    accept_scale(BarkMove::swap, moves_.swap(in, out), log_u);
  }
}

void ScaleWalks::move_indicators_loosely(Stream& stream, LatentSweep& labels) {
  loose_ = &labels;
  stream_ = &stream;
  move_indicators(stream);
  loose_ = nullptr;
}

void ScaleWalks::learn_inclusion(Stream& stream) {
  InclusionPrior& prior = s_.inclusion;
  const auto& shape = prior.shape();
  if (prior.kind() == InclusionPrior::Kind::known) {
    const double d = static_cast<double>(s_.active());
    const double rest = static_cast<double>(s_.scales()) - d;
    const double p = beta_draw(stream, shape[0] + d, shape[1] + rest);
    if (p > 0.0 && p < 1.0) prior.set_probability(p);
    return;
  }
  // Proposals from the Betas that would be right without the first term,
  // that of the stationary start, which decides.
  std::array<double, 4> counts{};  // 00, 01, 10, 11
  for (Index l = 1; l < s_.scales(); ++l) {
    counts[2 * s_.delta[l - 1] + s_.delta[l]] += 1.0;
  }
  const double q0 =
      beta_draw(stream, shape[0] + counts[0], shape[1] + counts[1]);
  const double q1 =
      beta_draw(stream, shape[2] + counts[3], shape[3] + counts[2]);
  const double log_u = -stream.exponential();
  if (!(q0 > 0.0 && q0 < 1.0 && q1 > 0.0 && q1 < 1.0)) return;
  const char first = s_.delta.empty() ? 0 : s_.delta[0];
  const auto log_start = [first](double a, double b) {
    return std::log((first ? 1.0 - a : 1.0 - b) / (2.0 - a - b));
  };
  const double ratio = log_start(q0, q1) - log_start(prior.q0(), prior.q1());
  if (tally_.decide(BarkMove::markov, ratio, log_u)) prior.set_markov(q0, q1);
}

void ScaleWalks::accept_scale(BarkMove move, double ratio, double log_u) {
  if (loose_ == nullptr) {
    if (tally_.decide(move, ratio, log_u)) moves_.accept();
    return;
  }
  // The new b is drawn at the new scales; accept() again goes back.
  if (!(log_u < ratio + loose_->most_gained())) {
    tally_.decide(move, kNeverAccepted, log_u);
    return;
  }
  moves_.accept();
  if (tally_.decide(move, ratio + loose_->redraw(*stream_), log_u)) {
    loose_->accept_redraw();
  } else {
    moves_.accept();
  }
}

void ScaleWalks::move_factor(Stream& stream) {
  RandomWalkStep& step =
      labels_ != nullptr ? tally_.steps.label_factor : tally_.steps.factor;
  const double factor = std::exp(step.sd() * stream.normal());
  const double log_u = -stream.exponential();
  const bool allowed = smallest_scale() * factor > ScaleMoves::kSmallest;
  const double ratio = allowed ? moves_.common_factor(factor) : kNeverAccepted;
  if (tally_.walk(BarkMove::factor, step, ratio, log_u)) moves_.accept();
}

void ScaleWalks::move_vector(Stream& stream) {
  const Index vector = uniform_index(stream, s_.data.vectors());
  const double factor =
      std::exp(any_width(stream) * kVectorStep * stream.normal());
  const double log_u = -stream.exponential();
  if (tally_.decide(BarkMove::factor, moves_.vector_factor(vector, factor),
                    log_u)) {
    moves_.accept();
  }
}

double ScaleWalks::any_width(Stream& stream) const {
  return s_.data.vectors() > 1 ? std::exp2(4.0 * stream.uniform() - 2.0) : 1.0;
}

double ScaleWalks::smallest_scale() const {
  double smallest = std::numeric_limits<double>::infinity();
  for (Index l = 0; l < s_.scales(); ++l) {
    if (s_.delta[l]) smallest = std::min(smallest, s_.lambda[l]);
  }
  return smallest;
}

void ScaleWalks::move_coordinate(Stream& stream, Index d) {
  const Index l = draw_variable(stream, 1, d);
  RandomWalkStep& step =
      labels_ != nullptr ? tally_.steps.label_scale[l] : tally_.steps.scale[l];
  const double sd = any_width(stream) * step.sd();
  const double value = s_.lambda[l] * std::exp(sd * stream.normal());
  const double log_u = -stream.exponential();
  const double ratio = value > ScaleMoves::kSmallest
                           ? moves_.coordinate(l, value)
                           : kNeverAccepted;
  if (tally_.walk(BarkMove::coordinate, step, ratio, log_u)) moves_.accept();
}

Index ScaleWalks::draw_variable(Stream& stream, char indicator,
                                Index count) const {
  Index skip = uniform_index(stream, count);
  for (Index l = 0; l < s_.scales(); ++l) {
    if (s_.delta[l] == indicator && skip-- == 0) return l;
  }
  return 0;
}

void ScaleWalks::flip(Stream& stream) {
  const Index l = uniform_index(stream, s_.scales());
  const double log_u = -stream.exponential();
  const Index d = s_.active();
  double ratio;
  if (s_.setting.different) {
    const double fresh =
        s_.delta[l] ? 0.0 : moves_.draw_scale(stream, moves_.shape(d + 1));
    ratio = moves_.flip_different(l, fresh);
  } else {
    const bool empty = d == 0 || (d == 1 && s_.delta[l]);
    const double fresh =
        empty ? moves_.draw_scale(stream, s_.prior.lambda_shape) : 0.0;
    const bool keep_total = !empty && stream.uniform() >= 0.5;
    ratio = moves_.replace(flipped(s_.delta, l), keep_total, fresh, 0.0);
  }
  accept_scale(BarkMove::flip, ratio, log_u);
}

void ScaleWalks::move_structure(Stream& stream) {
  const double which = 3.0 * stream.uniform();
  if (which < 1.0) {
    flip(stream);
    return;
  }
  IndicatorVector to = s_.delta;
  double log_proposal = 0.0;
  BarkMove move = BarkMove::typed_flip;
  if (which < 2.0) {
    const Index site = TypedFlips(s_.delta).draw(stream);
    if (site < 0) return;
    to[site] = !to[site];
    log_proposal = typed_flip_log_ratio(s_.delta, site);
  } else {
    const std::vector<BlockMove> menu = block_menu(s_.delta);
    if (menu.empty()) return;
    const BlockMove& block = menu[uniform_index(stream, count_of(menu))];
    const Index k = block.draw_step(stream);
    block.apply(to, k);
    log_proposal = block_move_log_ratio(s_.delta, menu, block, k);
    move = BarkMove::block;
  }
  const bool keep_total = stream.uniform() < 0.5;
  const double fresh = moves_.draw_scale(stream, s_.prior.lambda_shape);
  const double log_u = -stream.exponential();
  accept_scale(move, moves_.replace(to, keep_total, fresh, log_proposal),
               log_u);
}

double ScaleWalks::beta_draw(Stream& stream, double a, double b) {
  const double x = gamma(stream, a, 1.0), y = gamma(stream, b, 1.0);
  return x / (x + y);
}
}  // namespace bayeskernel
