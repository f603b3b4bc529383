// Latent responses of the probit and of the ordered probit model, given the
// kernels: draws with the coefficients integrated out, and moves that look at
// the labels in their place.
#ifndef BAYESKERNEL_BARK_LATENT_SWEEP_HPP
#define BAYESKERNEL_BARK_LATENT_SWEEP_HPP

#include <Eigen/Core>
#include <cmath>
#include <limits>
#include <vector>

#include "math/normal.hpp"
#include "expansion/holmes_held.hpp"
#include "bark/state.hpp"

namespace bayeskernel {

class LatentSweep {
 public:
  using Index = Eigen::Index;

  // Classes 1..C of the rows; cuts t_1 = 0 < t_2 < ... < t_{C-1}.
  LatentSweep(BarkState& state, std::vector<int> classes, int n_classes)
      : s_(state),
        classes_(std::move(classes)),
        latents_(state.data.rows(),
                 BarkState::capacity(state.data, state.prior)),
        fitted_(state.data.stride()),
        new_fitted_(state.data.stride()),
        coefficients_(state.gaussian.stride()),
        new_coefficients_(state.gaussian.stride()) {
    const double infinity = std::numeric_limits<double>::infinity();
    cuts_.assign(static_cast<std::size_t>(n_classes) + 1, infinity);
    cuts_[0] = -infinity;
    for (int c = 1; c < n_classes; ++c) cuts_[c] = c - 1.0;
  }

  // Whether z lies in the interval of row i's class.
  bool allows(Index i, double z) const {
    return lower(i) <= z && z <= upper(i);
  }

  // Free cut points t_2, ..., t_{C-1}.
  Index free_cuts() const { return static_cast<Index>(cuts_.size()) - 3; }
  double cut(Index k) const { return cuts_[k + 2]; }
  void set_cut(Index k, double t) { cuts_[k + 2] = t; }

  // Latents inside their intervals, coefficients 0.
  void start(Stream& stream) {
    for (Index i = 0; i < s_.data.rows(); ++i) {
      s_.response()[i] = truncated_normal(stream, 0.0, 1.0, lower(i), upper(i));
    }
  }

  // Each z_i in turn. n m^2 + 4 n m multiply-adds and n truncated normals.
  void sweep(Stream& stream) {
    prepare();
    latents_.sweep(
        stream, s_.response(), [this](Index i) { return lower(i); },
        [this](Index i) { return upper(i); });
    s_.response_changed();
  }

  // Moves z along its ray: z sqrt(X / Q), X ~ chi^2_n, Q = z'(I + KDK')^-1 z.
  // For two classes only: further cut points are not free to follow.
  void scale(Stream& stream) {
    const Index n = s_.data.rows();
    if (free_cuts() > 0 || n == 0) return;
    const double square = gamma(stream, 0.5 * static_cast<double>(n), 0.5);
    const double factor = std::sqrt(square / s_.gaussian.quadratic_form());
    if (!std::isfinite(factor) || !(factor > 0.0)) return;
    for (Index i = 0; i < n; ++i) s_.response()[i] *= factor;
    s_.response_changed();
  }

  // ---- With the coefficients in place of the latents ----

  // Where labels are clear the latents lie far out and hold f, hence the scales
  // and cut points, more firmly than the labels do. So b is drawn, z is
  // integrated out, moves look at the labels given f = K b, and z is drawn
  // anew.

  void begin_labels(Stream& stream) {
    s_.gaussian.draw([&] { return stream.normal(); }, coefficients_.data());
    fit_labels(s_.basis.values(), coefficients_, fitted_);
    log_likelihood_ = log_likelihood(fitted_);
  }

  const double* coefficients() const { return coefficients_.data(); }

  // The change of the log likelihood of the labels by other scales.
  double propose_scales(const ScaleChange& change) {
    s_.basis.propose(change);
    fit_labels(s_.basis.proposed_values(), coefficients_, new_fitted_);
    proposed_ = log_likelihood(new_fitted_);
    return proposed_ - log_likelihood_;
  }

  void accept_scales() {
    s_.basis.accept();
    fitted_.swap(new_fitted_);
    log_likelihood_ = proposed_;
  }

  // All coefficients times `factor`, their precisions divided by its square:
  // the log ratio of a step on the log scale. b given them is as likely as
  // before but for a density that the Jacobian makes up for.
  double stretch(double factor) {
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

  void accept_stretch(double factor) {
    Population& population = s_.population;
    for (Index j = 0; j < population.units(); ++j) {
      population.set_varphi(j, population.varphi(j) / (factor * factor));
    }
    for (double& variance : s_.block_variance) variance *= factor * factor;
    for (Index j = 0; j < s_.basis.size(); ++j) coefficients_[j] *= factor;
    fitted_.swap(new_fitted_);
    log_likelihood_ = proposed_;
  }

  // A random walk on the log gaps of the cut points; accept(k, log ratio)
  // decides about gap k.
  template <class Step, class Accept>
  void move_cuts(Step&& step, Accept&& accept) {
    for (Index k = 0; k < free_cuts(); ++k) {
      const double gap = cuts_[k + 2] - cuts_[k + 1];
      const double proposed = gap * std::exp(step(k));
      const std::vector<double> old = cuts_;
      for (Index j = k; j < free_cuts(); ++j) cuts_[j + 2] += proposed - gap;
      const double after = log_likelihood(fitted_);
      const double ratio =
          after - log_likelihood_ + std::log(proposed / gap) - (proposed - gap);
      if (accept(k, ratio)) {
        log_likelihood_ = after;
      } else {
        cuts_ = old;
      }
    }
  }

  // ---- Scales together with the coefficients ----

  // Between begin_labels() and end_labels(). b is held by auxiliary data
  // K b + tau e alone, tau > 1, so that scales may change as far as these
  // allow; a new b is drawn given them, and the labels decide. The ratio is
  // that of the auxiliary data with b integrated out, which the collapsed moves
  // of the scales give, times that of the labels.

  void loosen(Stream& stream, double tau) {
    for (Index i = 0; i < s_.data.rows(); ++i) {
      s_.response()[i] = fitted_[i] + tau * stream.normal();
    }
    s_.gaussian.set_precision(1.0 / (tau * tau));
    s_.rebuild_products();
  }
  // No new b changes the log likelihood of the labels by more.
  double most_gained() const { return -log_likelihood_; }
  // The change by a new b, after the scales changed.
  double redraw(Stream& stream) {
    s_.gaussian.draw([&] { return stream.normal(); }, new_coefficients_.data());
    fit_labels(s_.basis.values(), new_coefficients_, new_fitted_);
    proposed_ = log_likelihood(new_fitted_);
    return proposed_ - log_likelihood_;
  }
  void accept_redraw() {
    coefficients_.swap(new_coefficients_);
    fitted_.swap(new_fitted_);
    log_likelihood_ = proposed_;
  }

  void end_labels(Stream& stream) {
    s_.gaussian.set_precision(1.0);
    for (Index i = 0; i < s_.data.rows(); ++i) {
      s_.response()[i] =
          truncated_normal(stream, fitted_[i], 1.0, lower(i), upper(i));
    }
    s_.refill();
  }

  // What draws of single latents rely on.
  void prepare() {
    latents_.prepare(s_.basis.values(), s_.data.stride(), s_.gaussian);
  }

  // z_i given the others, after prepare().
  HolmesHeld::Conditional conditional(Index i) const {
    return latents_.conditional(i, s_.response()[i]);
  }

 private:
  // The log prior ratio of the standard deviations of blocks times `factor`.
  double stretch_blocks(double factor) const {
    const VariancePrior prior = s_.prior.block_variance();
    const double t = std::log(factor);
    double out = 0.0;
    for (const double variance : s_.block_variance) {
      out += prior.log_scale_density(1.0 / variance, t) -
             prior.log_scale_density(1.0 / variance, 0.0);
    }
    return out;
  }

  double lower(Index i) const { return cuts_[classes_[i] - 1]; }
  double upper(Index i) const { return cuts_[classes_[i]]; }

  // f = K b.
  void fit_labels(const double* columns, const AlignedBuffer& b,
                  AlignedBuffer& fitted) {
    const Index stride = s_.data.stride();
    std::fill_n(fitted.data(), stride, 0.0);
    subtract_columns(columns, stride, s_.basis.size(), b.data(), fitted.data());
    for (Index i = 0; i < stride; ++i) fitted[i] = -fitted[i];
  }

  // sum_i log P(z_i in its interval | f_i): the log of a product, but for the
  // factors whose logarithm needs care.
  double log_likelihood(const AlignedBuffer& fitted) const {
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

  BarkState& s_;
  std::vector<int> classes_;
  std::vector<double> cuts_;  // t_0, ..., t_C
  HolmesHeld latents_;
  AlignedBuffer fitted_, new_fitted_, coefficients_, new_coefficients_;
  double log_likelihood_ = 0.0, proposed_ = 0.0;
};

}  // namespace bayeskernel

#endif
