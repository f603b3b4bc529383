// Latent responses of the probit and of the ordered probit model, given the
// kernels: draws with the coefficients integrated out, and moves that look at
// the labels in their place.
//
// Of two classes the cut point is 0. Those of more, t_1 < ... < t_{C-1}, are
// all free: gaps are exponential with mean 1, the middle of the first and the
// last is normal around 0. f is shrunk to 0, which a cut point that is fixed
// there would make the border of a class; so the model is the same for classes
// in the opposite order, of f and cut points times -1.
#pragma once

#include "bark/basis.hpp"
#include "bark/state.hpp"
#include "eigen.hpp"
#include "expansion/collapsed_gaussian.hpp"
#include "expansion/holmes_held.hpp"
#include "math/bordered.hpp"
#include "math/normal.hpp"
#include "rng/stream.hpp"
#include "simd/aligned_buffer.hpp"

namespace bayeskernel {
class LatentSweep {
 public:
  // Classes 1..C of the rows.
  LatentSweep(BarkState& state, std::vector<int> classes, int n_classes);

  // Whether z lies in the interval of row i's class.
  bool allows(Index i, double z) const {
    return lower(i) <= z && z <= upper(i);
  }

  // The standard deviation of the middle of the cut points.
  static constexpr double kMiddle = 2.0;

  // Free cut points t_1, ..., t_{C-1}; none of two classes.
  Index free_cuts() const {
    const Index cuts = count_of(cuts_) - 2;
    return cuts > 1 ? cuts : 0;
  }
  double cut(Index k) const { return cuts_[k + 1]; }
  void set_cut(Index k, double t) { cuts_[k + 1] = t; }

  // Latents inside their intervals, coefficients 0.
  void start(Stream& stream);

  // Each z_i in turn. n m^2 + 4 n m multiply-adds and n truncated normals.
  void sweep(Stream& stream);

  // Moves z along its ray: z sqrt(X / Q), X ~ chi^2_n, Q = z'(I + KDK')^-1 z.
  // For two classes only, whose cut point stays where it is.
  void scale(Stream& stream);

  // Moves z and all cut points by the same: given the rest that is normal.
  // n m + m^2 multiply-adds. For three classes or more.
  void translate(Stream& stream);

  // ---- With the coefficients in place of the latents ----

  // Where labels are clear the latents lie far out and hold f, hence the scales
  // and cut points, more firmly than the labels do. So b is drawn, z is
  // integrated out, moves look at the labels given f = K b, and z is drawn
  // anew.

  void begin_labels(Stream& stream);

  const double* coefficients() const { return coefficients_.data(); }

  // The change of the log likelihood of the labels by other scales.
  double propose_scales(const ScaleChange& change);

  void accept_scales();

  // All coefficients times `factor`, their precisions divided by its square:
  // the log ratio of a step on the log scale. b given them is as likely as
  // before but for a density that the Jacobian makes up for.
  double stretch(double factor);

  void accept_stretch(double factor);

  // A random walk of each cut point between its neighbors; accept(k, log ratio)
  // decides about number k.
  template <class Step, class Accept>
  void move_cuts(Step&& step, Accept&& accept) {
    for (Index k = 0; k < free_cuts(); ++k) {
      const double old = cut(k), before = log_prior();
      const double after = propose_cut(k, old + step(k));
      if (accept(k, after + log_prior() - before)) {
        log_likelihood_ = proposed_;
      } else {
        set_cut(k, old);
      }
    }
  }

  // ---- Scales together with the coefficients ----

  // Between begin_labels() and end_labels(). b is held by auxiliary data
  // K b + tau e alone, tau > 1, so that scales may change as far as these
  // allow; a new b is drawn given them, and the labels decide. The ratio is
  // that of the auxiliary data with b integrated out, which the collapsed moves
  // of the scales give, times that of the labels.

  void loosen(Stream& stream, double tau);
  // No new b changes the log likelihood of the labels by more.
  double most_gained() const { return -log_likelihood_; }
  // The change by a new b, after the scales changed.
  double redraw(Stream& stream);
  void accept_redraw();

  void end_labels(Stream& stream);

  // What draws of single latents rely on.
  void prepare() {
    latents_.prepare(s_.basis.values(), s_.data.stride(), s_.gaussian);
  }

  // z_i given the others, after prepare().
  HolmesHeld::Conditional conditional(Index i) const {
    return latents_.conditional(i, s_.response()[i]);
  }

 private:
  // The log density of the free cut points.
  double log_prior() const;

  // The change of the log likelihood of the labels.
  double propose_cut(Index k, double t);

  // The log prior ratio of the standard deviations of blocks times `factor`.
  double stretch_blocks(double factor) const;

  double lower(Index i) const { return cuts_[classes_[i] - 1]; }
  double upper(Index i) const { return cuts_[classes_[i]]; }

  // f = K b.
  void fit_labels(const double* columns, const AlignedBuffer& b,
                  AlignedBuffer& fitted);

  // sum_i log P(z_i in its interval | f_i): the log of a product, but for the
  // factors whose logarithm needs care.
  double log_likelihood(const AlignedBuffer& fitted) const;

  BarkState& s_;
  std::vector<int> classes_;
  std::vector<double> cuts_;  // t_0, ..., t_C
  HolmesHeld latents_;
  AlignedBuffer fitted_, new_fitted_, coefficients_, new_coefficients_;
  AlignedBuffer ones_, sums_;
  double log_likelihood_ = 0.0, proposed_ = 0.0;
};
}  // namespace bayeskernel
