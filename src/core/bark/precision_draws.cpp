#include "bark/precision_draws.hpp"

#include "bark/population.hpp"
#include "rng/distributions.hpp"

namespace bayeskernel {
const double* PrecisionDraws::draw_coefficients(Stream& stream) {
  s_.gaussian.draw([&] { return stream.normal(); }, coefficients_.data());
  return coefficients_.data();
}

void PrecisionDraws::refresh(Stream& stream) {
  Population& population = s_.population;
  const BarkPrior& prior = s_.prior;
  const double* all = draw_coefficients(stream);
  const double* b = all + s_.basis.first();
  const double shape = prior.varphi_shape() + 0.5;
  const double rate = prior.varphi_rate();
  if (population.collapsed()) {
    for (Index i = 0; i < population.columns(); ++i) {
      const double n = static_cast<double>(population.count(i));
      const double scaled = b[i] / n;
      replace_varphi(
          i, draw_precision(stream, shape, rate + 0.5 * scaled * scaled));
    }
  } else {
    refresh_atoms(stream, shape, rate, b);
  }
  draw_epsilon(stream);
  draw_blocks(stream, all);
  s_.set_variances();
  refresh_phi(stream, all);
  s_.rebuild();
}

void PrecisionDraws::move_epsilon(Stream& stream) {
  RandomWalkStep& step = tally_.steps.epsilon;
  const double factor = std::exp(step.sd() * stream.normal());
  const double log_u = -stream.exponential();
  const BarkPrior& prior = s_.prior;
  const double square = prior.epsilon * prior.epsilon;
  const Index first = s_.basis.first();
  const bool allowed = s_.holds(s_.largest_variance(first) * factor) &&
                       s_.can_scale(factor, square);
  const double ratio = allowed ? s_.gaussian.log_marginal_scaled(
                                     factor, first, s_.basis.size() - first) -
                                     s_.gaussian.log_marginal() +
                                     prior.scale_shape * std::log(factor) -
                                     prior.scale_rate * (factor - 1.0) * square
                               : kNeverAccepted;
  if (!tally_.walk(BarkMove::epsilon, step, ratio, log_u)) return;
  s_.scale_coefficients(factor);
  s_.set_variances();
  s_.rebuild_evaluated();
}

void PrecisionDraws::move_phi(Stream& stream) {
  RandomWalkStep& step = tally_.steps.phi;
  const double old = s_.phi();
  const double phi = old * std::exp(step.sd() * stream.normal());
  const double log_u = -stream.exponential();
  const PrecisionPrior& prior = s_.prior.phi;
  const bool allowed =
      prior.allows(phi) && s_.holds(s_.largest_variance(), phi);
  const double ratio = allowed ? s_.gaussian.log_marginal_at(phi) -
                                     s_.gaussian.log_marginal() +
                                     prior.log_step(old, phi)
                               : kNeverAccepted;
  if (tally_.walk(BarkMove::phi, step, ratio, log_u)) {
    s_.gaussian.set_precision(phi);
    s_.rebuild_evaluated();
  }
}

void PrecisionDraws::replace_varphi(Index unit, double value) {
  if (s_.holds(s_.population.variance_changed(unit, value))) {
    s_.population.set_varphi(unit, value);
  }
}

void PrecisionDraws::draw_blocks(Stream& stream, const double* b) {
  for (Index k = 0; k < s_.data.blocks(); ++k) {
    const Index size = s_.data.block_size(k);
    double square = 0.0;
    for (Index i = 0; i < size; ++i) square += b[i] * b[i];
    b += size;
    double& variance = s_.block_variance[k];
    const double drawn =
        1.0 / s_.prior.block_variance().draw(stream, static_cast<double>(size),
                                             square, 1.0 / variance);
    if (allows_block(drawn)) variance = drawn;
  }
}

void PrecisionDraws::draw_epsilon(Stream& stream) {
  BarkPrior& prior = s_.prior;
  if (!prior.learns_scale()) return;
  const Population& population = s_.population;
  double sum = 0.0;
  for (Index j = 0; j < population.units(); ++j) sum += population.varphi(j);
  const double units = static_cast<double>(population.units());
  const double square =
      gamma(stream, prior.scale_shape + prior.varphi_shape() * units,
            prior.scale_rate + 0.5 * prior.alpha * sum);
  if (in_range(square)) prior.set_epsilon(std::sqrt(square));
}

void PrecisionDraws::refresh_atoms(Stream& stream, double shape, double rate,
                                   const double* b) {
  Population& population = s_.population;
  for (Index i = 0; i < population.columns(); ++i) {
    double total = 0.0, sum = 0.0;
    parts_.clear();
    for (Index j = 0; j < population.units(); ++j) {
      if (population.unit_column(j) != i) continue;
      const double variance = 1.0 / population.varphi(j);
      parts_.push_back(std::sqrt(variance) * stream.normal());
      sum += parts_.back();
      total += variance;
    }
    std::size_t part = 0;
    for (Index j = 0; j < population.units(); ++j) {
      if (population.unit_column(j) != i) continue;
      const double share = 1.0 / (population.varphi(j) * total);
      const double own = parts_[part++] + share * (b[i] - sum);
      replace_varphi(j, draw_precision(stream, shape, rate + 0.5 * own * own));
    }
  }
}

double PrecisionDraws::draw_precision(Stream& stream, double shape,
                                      double rate) {
  if (shape == 1.0) return stream.exponential() / rate;
  return gamma(stream, shape, rate);
}

void PrecisionDraws::refresh_phi(Stream& stream, const double* b) {
  const PrecisionPrior& prior = s_.prior.phi;
  const double n = static_cast<double>(s_.data.rows());
  if (prior.kind == PrecisionPrior::Kind::fixed || n == 0.0) return;
  const double rest = std::max(s_.gaussian.residual_square(b), 0.0);
  const double phi =
      gamma(stream, prior.shape + 0.5 * n, prior.rate + 0.5 * rest);
  if (phi > 0.0 && prior.allows(phi) && s_.holds(s_.largest_variance(), phi)) {
    s_.gaussian.set_precision(phi);
  }
}

void PrecisionDraws::move_blocks(Stream& stream) {
  constexpr double kWidth = 1.0;
  Index first = 0;
  for (Index k = 0; k < s_.data.blocks(); ++k) {
    const Index size = s_.data.block_size(k);
    const double old = s_.block_variance[k];
    const double t = slice_log_scale(
        [&](double step) {
          const double factor = std::exp(2.0 * step);
          return allows_block(old * factor)
                     ? s_.gaussian.log_marginal_scaled(factor, first, size) +
                           s_.prior.block_variance().log_scale_density(
                               1.0 / old, step)
                     : kNeverAccepted;
        },
        stream, kWidth);
    first += size;
    s_.block_variance[k] = old * std::exp(2.0 * t);
    s_.set_variances();
    s_.rebuild();
  }
}
}  // namespace bayeskernel
