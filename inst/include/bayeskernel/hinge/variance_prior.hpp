// Prior of a variance sigma^2: inverse gamma IG(A, B), or such that sigma is half
// a t variable of nu degrees of freedom and scale s. The latter is a mixture,
//   sigma^2 | xi ~ IG(nu/2, nu/xi), xi ~ IG(1/2, 1/s^2),
// (Wand et al. 2011, Bayesian Analysis 6, 847-900), whose xi has a factor of q
// of its own, always at its optimum, and in a chain is drawn when it is needed:
// neither is kept. Where the columns separate the classes the likelihood is
// flat in a large sigma, and the posterior's tail is the prior's: that of
// IG(.01, .01) has a mean of 100 on the scale of log sigma^2.
#ifndef BAYESKERNEL_HINGE_VARIANCE_PRIOR_HPP
#define BAYESKERNEL_HINGE_VARIANCE_PRIOR_HPP

#include <algorithm>
#include <cmath>

#include "../math/special.hpp"
#include "../rng/distributions.hpp"
#include "../rng/stream.hpp"

namespace bayeskernel {

// No degrees of freedom: sigma is none.
struct HalfT {
  double df = 0.0, scale = 1.0;
};

class VariancePrior {
 public:
  VariancePrior(double shape, double rate, const HalfT& half_t)
      : shape_(half_t.df > 0.0 ? 0.5 * half_t.df : shape),
        rate_(rate),
        df_(half_t.df),
        inverse_(1.0 / (half_t.scale * half_t.scale)) {}

  bool half_t() const { return df_ > 0.0; }
  // A, given xi.
  double shape() const { return shape_; }

  // E B, with q(xi) at its optimum for E[1/sigma^2].
  double rate(double precision) const {
    return half_t() ? df_ * xi_shape() / xi_rate(precision) : rate_;
  }

  // E[1/sigma^2] of q(sigma^2) = IG(A + count / 2, E B + moment / 2), jointly
  // with q(xi): the positive root of
  //   (nu m / 2) e^2 + (m / (2 s^2) - (count - 1) nu / 2) e - A' / s^2 = 0.
  double precision(double count, double moment) const {
    const double shape = shape_ + 0.5 * count;
    if (!half_t()) return shape / (rate_ + 0.5 * moment);
    const double square = 0.5 * df_ * moment;
    const double linear =
        0.5 * (moment * inverse_ - (count - 1.0) * df_);
    const double root =
        std::sqrt(linear * linear + 4.0 * square * shape * inverse_);
    const double value = linear > 0.0
                             ? 2.0 * shape * inverse_ / (linear + root)
                             : (root - linear) / (2.0 * square);
    return std::min(value, 1e100);
  }

  // E log p(sigma^2) + E log p(xi) - E log q(xi) =
  //   log_constant - (A + 1) E log sigma^2 - E B E[1/sigma^2].
  double log_constant(double precision) const {
    if (!half_t()) return shape_ * std::log(rate_) - log_gamma(shape_);
    const double c = xi_shape(), d = xi_rate(precision);
    const double log_xi = std::log(d) - digamma(c);
    const double prior = 0.5 * std::log(inverse_) - log_gamma(0.5) -
                         1.5 * log_xi - inverse_ * c / d;
    const double entropy =
        c + std::log(d) + log_gamma(c) - (1.0 + c) * digamma(c);
    return shape_ * (std::log(df_) - log_xi) - log_gamma(shape_) + prior +
           entropy;
  }

  // Log density of x = log sigma^2, normalised, and its derivative.
  double log_density(double x) const {
    if (!half_t()) {
      return shape_ * std::log(rate_) - log_gamma(shape_) - shape_ * x -
             rate_ * std::exp(-x);
    }
    return log_gamma(xi_shape()) - log_gamma(shape_) - log_gamma(0.5) +
           0.5 * (std::log(inverse_ / df_) + x) -
           xi_shape() * std::log1p(std::exp(x) * inverse_ / df_);
  }
  double slope(double x) const {
    if (!half_t()) return rate_ * std::exp(-x) - shape_;
    return 0.5 - xi_shape() / (1.0 + std::exp(-x) * df_ / inverse_);
  }
  // That of t = log c where sigma becomes c sigma, less a constant.
  double log_scale_density(double precision, double t) const {
    const double c = std::exp(t);
    if (!half_t()) {
      return -(2.0 * shape_ * t + rate_ * precision / (c * c));
    }
    return t - xi_shape() * std::log1p(c * c * inverse_ / (df_ * precision));
  }

  // 1 / sigma^2 given `count` effects of sum of squares `moment`; `current` is
  // the last one.
  double draw(Stream& stream, double count, double moment,
              double current) const {
    const double b =
        half_t() ? df_ * gamma(stream, xi_shape(), xi_rate(current)) : rate_;
    const double out =
        gamma(stream, shape_ + 0.5 * count, b + 0.5 * moment);
    return std::min(std::max(out, 1e-100), 1e100);
  }

 private:
  // q(xi), and xi given sigma^2: IG.
  double xi_shape() const { return 0.5 * (df_ + 1.0); }
  double xi_rate(double precision) const { return df_ * precision + inverse_; }

  double shape_, rate_, df_, inverse_;
};

}  // namespace bayeskernel

#endif
