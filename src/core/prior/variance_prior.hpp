// Prior of a variance sigma^2: inverse gamma IG(A, B), or such that sigma is half
// a t variable of nu degrees of freedom and scale s. The latter is a mixture,
//   sigma^2 | xi ~ IG(nu/2, nu/xi), xi ~ IG(1/2, 1/s^2),
// (Wand et al. 2011, Bayesian Analysis 6, 847-900), whose xi has a factor of q
// of its own, always at its optimum, and in a chain is drawn when it is needed:
// neither is kept. Where the columns separate the classes the likelihood is
// flat in a large sigma, and the posterior's tail is the prior's: that of
// IG(.01, .01) has a mean of 100 on the scale of log sigma^2.
#ifndef BAYESKERNEL_PRIOR_VARIANCE_PRIOR_HPP
#define BAYESKERNEL_PRIOR_VARIANCE_PRIOR_HPP

#include <Eigen/Cholesky>
#include <Eigen/Core>
#include <algorithm>
#include <cmath>

#include "math/special.hpp"
#include "rng/distributions.hpp"
#include "rng/stream.hpp"

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

// Prior of the covariance Psi of r effects: IW(df, S), or such that every
// standard deviation is half t (Huang and Wand 2013, Bayesian Analysis 8,
// 439-452),
//   Psi | a ~ IW(nu + r - 1, 2 nu diag(1/a)), a_k ~ IG(1/2, 1/s^2),
// with the a_k as xi is above. P is Psi^-1.
class CovariancePrior {
 public:
  CovariancePrior(double df, const Eigen::MatrixXd& scale, const HalfT& half_t)
      : df_(half_t.df > 0.0
                ? half_t.df + static_cast<double>(scale.rows()) - 1.0
                : df),
        scale_(scale),
        half_t_(half_t) {}

  double df() const { return df_; }

  // E S, with q(a) at its optimum for E P; also that S of whose IW the
  // derivatives of log p(Psi) are those at P.
  Eigen::MatrixXd scale(const Eigen::MatrixXd& p) const {
    if (half_t_.df <= 0.0) return scale_;
    return (2.0 * half_t_.df * a_shape() / a_rate(p)).matrix().asDiagonal();
  }

  // The scale of q(Psi) = IW(df + count, E S + moment), jointly with q(a),
  // from a first E P: one a_k after the other, jointly with q(Psi). Of others
  // E P_kk = (df + count) / (S_kk + m), and S_kk is the positive root of
  //   S^2 / s^2 + (nu (count - 1) + m / s^2) S - nu (df + 1) m = 0.
  Eigen::MatrixXd posterior_scale(double count, const Eigen::MatrixXd& moment,
                                  const Eigen::MatrixXd& p) const {
    Eigen::MatrixXd out = scale(p);
    Eigen::VectorXd own = out.diagonal();
    out += moment;
    if (half_t_.df <= 0.0) return out;
    const double constant = half_t_.df * (df_ + 1.0);
    double change = 1.0;
    for (int step = 0; step < 200 && change > 1e-12; ++step) {
      change = 0.0;
      for (Eigen::Index k = 0; k < own.size(); ++k) {
        const double m = std::max(1.0 / inverse(out)(k, k) - own[k],
                                  1e-15 * own[k]);
        const double linear = half_t_.df * (count - 1.0) + precision() * m;
        const double next =
            2.0 * constant * m /
            (linear + std::sqrt(linear * linear +
                                4.0 * precision() * constant * m));
        change = std::max(change, std::abs(next / own[k] - 1.0));
        own[k] = next;
        out(k, k) = moment(k, k) + next;
      }
    }
    return out;
  }

  // Terms of the bound that are not of Psi: E log |S|^(df/2), of p(a), less
  // log q(a).
  double log_constant(double count, const Eigen::MatrixXd& posterior) const {
    if (half_t_.df <= 0.0) return df_ * half_log_det(scale_);
    double out = 0.0;
    const Eigen::ArrayXd d = a_rate((df_ + count) * inverse(posterior));
    const double c = a_shape();
    for (Eigen::Index k = 0; k < d.size(); ++k) {
      const double log_a = std::log(d[k]) - digamma(c);
      out += 0.5 * df_ * (std::log(2.0 * half_t_.df) - log_a) +
             0.5 * std::log(precision()) - log_gamma(0.5) - 1.5 * log_a -
             precision() * c / d[k] + c + std::log(d[k]) + log_gamma(c) -
             (1.0 + c) * digamma(c);
    }
    return out;
  }

  // Log density of Psi, normalised, of whose root the log determinant is
  // `log_root`, and that of t where Psi becomes e^2t Psi, less a constant.
  double log_density(const Eigen::MatrixXd& p, double log_root) const {
    const double r = static_cast<double>(p.rows()), half_df = 0.5 * df_;
    const double of_df =
        log_multivariate_gamma(half_df, static_cast<int>(p.rows()));
    const double of_psi = (df_ + r + 1.0) * log_root;
    if (half_t_.df <= 0.0) {
      return df_ * half_log_det(scale_) - half_df * r * std::log(2.0) - of_df -
             of_psi - 0.5 * (p * scale_).trace();
    }
    return r * (half_df * std::log(half_t_.df) + 0.5 * std::log(precision()) -
                log_gamma(0.5) + log_gamma(a_shape())) -
           of_df - of_psi - a_shape() * a_rate(p).log().sum();
  }
  double log_scale_density(const Eigen::MatrixXd& p, double t) const {
    const double c = std::exp(t), own = df_ * static_cast<double>(p.rows()) * t;
    if (half_t_.df <= 0.0) {
      return -(own + 0.5 * scale_.cwiseProduct(p).sum() / (c * c));
    }
    return -(own + a_shape() * a_rate(p / (c * c)).log().sum());
  }

  // S given the last P.
  Eigen::MatrixXd draw_scale(Stream& stream, const Eigen::MatrixXd& p) const {
    if (half_t_.df <= 0.0) return scale_;
    Eigen::VectorXd out = a_rate(p).matrix();
    for (Eigen::Index k = 0; k < out.size(); ++k) {
      out[k] = 2.0 * half_t_.df * gamma(stream, a_shape(), out[k]);
    }
    return out.asDiagonal();
  }

 private:
  // q(a_k), and a_k given Psi: IG.
  double a_shape() const { return 0.5 * (df_ + 1.0); }
  Eigen::ArrayXd a_rate(const Eigen::MatrixXd& p) const {
    return half_t_.df * p.diagonal().array() + precision();
  }
  double precision() const { return 1.0 / (half_t_.scale * half_t_.scale); }
  static Eigen::MatrixXd inverse(const Eigen::MatrixXd& a) {
    return a.llt().solve(Eigen::MatrixXd::Identity(a.rows(), a.cols()));
  }
  static double half_log_det(const Eigen::MatrixXd& a) {
    return a.llt().matrixLLT().diagonal().array().log().sum();
  }

  double df_;
  const Eigen::MatrixXd& scale_;
  HalfT half_t_;
};

}  // namespace bayeskernel

#endif
