#include "bark/latent_sweep.hpp"

#include "bark/population.hpp"
#include "bark/prior.hpp"
#include "mcmc/metropolis.hpp"
#include "prior/variance_prior.hpp"
#include "rng/distributions.hpp"
#include "simd/column_products.hpp"

namespace bayeskernel {
LatentSweep::LatentSweep(BarkState& state, std::vector<int> classes,
                         int n_classes)
    : s_(state),
      classes_(std::move(classes)),
      latents_(state.data.rows(), BarkState::capacity(state.data, state.prior)),
      fitted_(state.data.stride()),
      new_fitted_(state.data.stride()),
      coefficients_(state.gaussian.stride()),
      new_coefficients_(state.gaussian.stride()),
      ones_(state.data.stride()),
      sums_(state.gaussian.stride()) {
  const double infinity = std::numeric_limits<double>::infinity();
  cuts_.assign(static_cast<std::size_t>(n_classes) + 1, infinity);
  cuts_[0] = -infinity;
  for (int c = 1; c < n_classes; ++c) cuts_[c] = c - 0.5 * n_classes;
  std::fill_n(ones_.data(), state.data.rows(), 1.0);
}

void LatentSweep::start(Stream& stream) {
  for (Index i = 0; i < s_.data.rows(); ++i) {
    s_.response()[i] = truncated_normal(stream, 0.0, 1.0, lower(i), upper(i));
  }
}

void LatentSweep::sweep(Stream& stream) {
  prepare();
  latents_.sweep(
      stream, s_.response(), [this](Index i) { return lower(i); },
      [this](Index i) { return upper(i); });
  s_.response_changed();
}

void LatentSweep::scale(Stream& stream) {
  const Index n = s_.data.rows();
  if (free_cuts() > 0 || n == 0) return;
  const double square = gamma(stream, 0.5 * static_cast<double>(n), 0.5);
  const double factor = std::sqrt(square / s_.gaussian.quadratic_form());
  if (!std::isfinite(factor) || !(factor > 0.0)) return;
  for (Index i = 0; i < n; ++i) s_.response()[i] *= factor;
  s_.response_changed();
}

void LatentSweep::translate(Stream& stream) {
  if (free_cuts() == 0) return;
  // Of the shift d the exponent is -(z + d 1)'(I + KDK')^-1 (z + d 1) / 2, and
  // that of the prior of the middle.
  const Index n = s_.data.rows(), m = s_.basis.size();
  const double* residual = s_.residual();
  column_dots(s_.basis.values(), s_.data.stride(), m, ones_.data(),
              sums_.data());
  const VectorMap sums(sums_.data(), m);
  double precision = static_cast<double>(n);
  for (Index j = 0; j < m; ++j) {
    precision -= sums[j] * sums.dot(VectorMap(s_.gaussian.covariance(j), m));
  }
  const double prior = 1.0 / (kMiddle * kMiddle);
  precision = std::max(precision, 0.0) + prior;
  const double pull = VectorMap(residual, n).sum() +
                      prior * 0.5 * (cut(0) + cut(free_cuts() - 1));
  const double shift =
      -pull / precision + stream.normal() / std::sqrt(precision);
  for (Index k = 0; k < free_cuts(); ++k) cuts_[k + 1] += shift;
  for (Index i = 0; i < n; ++i) s_.response()[i] += shift;
  s_.response_changed();
}

double LatentSweep::log_prior() const {
  const double first = cut(0), last = cut(free_cuts() - 1);
  const double middle = 0.5 * (first + last) / kMiddle;
  return first - last - 0.5 * middle * middle;
}

double LatentSweep::propose_cut(Index k, double t) {
  if (!(t > cuts_[k] && t < cuts_[k + 2])) return kNeverAccepted;
  set_cut(k, t);
  proposed_ = log_likelihood(fitted_);
  return proposed_ - log_likelihood_;
}

void LatentSweep::begin_labels(Stream& stream) {
  s_.gaussian.draw([&] { return stream.normal(); }, coefficients_.data());
  fit_labels(s_.basis.values(), coefficients_, fitted_);
  log_likelihood_ = log_likelihood(fitted_);
}

double LatentSweep::propose_scales(const ScaleChange& change) {
  s_.basis.propose(change);
  fit_labels(s_.basis.proposed_values(), coefficients_, new_fitted_);
  proposed_ = log_likelihood(new_fitted_);
  return proposed_ - log_likelihood_;
}

void LatentSweep::accept_scales() {
  s_.basis.accept();
  fitted_.swap(new_fitted_);
  log_likelihood_ = proposed_;
}

double LatentSweep::stretch(double factor) {
  const Population& population = s_.population;
  const double shrink = 1.0 / (factor * factor);
  double varphi_sum = 0.0;
  for (Index j = 0; j < population.units(); ++j) {
    varphi_sum += population.varphi(j);
  }
  const double prior = static_cast<double>(population.units()) *
                           s_.prior.varphi_shape() * std::log(shrink) -
                       s_.prior.varphi_rate() * (shrink - 1.0) * varphi_sum;
  for (Index i = 0; i < s_.data.rows(); ++i) {
    new_fitted_[i] = factor * fitted_[i];
  }
  proposed_ = log_likelihood(new_fitted_);
  return prior + stretch_blocks(factor) + proposed_ - log_likelihood_;
}

void LatentSweep::accept_stretch(double factor) {
  Population& population = s_.population;
  for (Index j = 0; j < population.units(); ++j) {
    population.set_varphi(j, population.varphi(j) / (factor * factor));
  }
  for (double& variance : s_.block_variance) variance *= factor * factor;
  for (Index j = 0; j < s_.basis.size(); ++j) coefficients_[j] *= factor;
  fitted_.swap(new_fitted_);
  log_likelihood_ = proposed_;
}

void LatentSweep::loosen(Stream& stream, double tau) {
  for (Index i = 0; i < s_.data.rows(); ++i) {
    s_.response()[i] = fitted_[i] + tau * stream.normal();
  }
  s_.gaussian.set_precision(1.0 / (tau * tau));
  s_.rebuild_products();
}

double LatentSweep::redraw(Stream& stream) {
  s_.gaussian.draw([&] { return stream.normal(); }, new_coefficients_.data());
  fit_labels(s_.basis.values(), new_coefficients_, new_fitted_);
  proposed_ = log_likelihood(new_fitted_);
  return proposed_ - log_likelihood_;
}

void LatentSweep::accept_redraw() {
  coefficients_.swap(new_coefficients_);
  fitted_.swap(new_fitted_);
  log_likelihood_ = proposed_;
}

void LatentSweep::end_labels(Stream& stream) {
  s_.gaussian.set_precision(1.0);
  for (Index i = 0; i < s_.data.rows(); ++i) {
    s_.response()[i] =
        truncated_normal(stream, fitted_[i], 1.0, lower(i), upper(i));
  }
  s_.refill();
}

double LatentSweep::stretch_blocks(double factor) const {
  const VariancePrior prior = s_.prior.block_variance();
  const double t = std::log(factor);
  double out = 0.0;
  for (const double variance : s_.block_variance) {
    out += prior.log_scale_density(1.0 / variance, t) -
           prior.log_scale_density(1.0 / variance, 0.0);
  }
  return out;
}

void LatentSweep::fit_labels(const double* columns, const AlignedBuffer& b,
                             AlignedBuffer& fitted) {
  const Index stride = s_.data.stride();
  std::fill_n(fitted.data(), stride, 0.0);
  subtract_columns(columns, stride, s_.basis.size(), b.data(), fitted.data());
  for (Index i = 0; i < stride; ++i) fitted[i] = -fitted[i];
}

double LatentSweep::log_likelihood(const AlignedBuffer& fitted) const {
  constexpr double kCommon = 1e-50;
  constexpr double kSure = 8.3;  // Phi(8.3) rounds to 1
  LogProduct product;
  double rest = 0.0;
  for (Index i = 0; i < s_.data.rows(); ++i) {
    const double a = lower(i) - fitted[i], b = upper(i) - fitted[i];
    if (a < -kSure && b > kSure) continue;
    const double p = normal_cdf(b) - normal_cdf(a);
    // A difference in the upper tail would cancel.
    if (p > kCommon && !(a > 1.0)) {
      product.multiply(p);
    } else {
      rest += log_normal_interval(a, b);
    }
  }
  return rest + product.value();
}
}  // namespace bayeskernel
