// Prior of a variance sigma^2: inverse gamma IG(A, B), or such that sigma is
// half a t variable of nu degrees of freedom and scale s. The latter is a
// mixture,
//   sigma^2 | xi ~ IG(nu/2, nu/xi), xi ~ IG(1/2, 1/s^2),
// (Wand et al. 2011, Bayesian Analysis 6, 847-900), whose xi has a factor of q
// of its own, always at its optimum, and in a chain is drawn when it is needed:
// neither is kept. Where the columns separate the classes the likelihood is
// flat in a large sigma, and the posterior's tail is the prior's: that of
// IG(.01, .01) has a mean of 100 on the scale of log sigma^2.
#pragma once

#include "eigen.hpp"
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
  double precision(double count, double moment) const;

  // E log p(sigma^2) + E log p(xi) - E log q(xi) =
  //   log_constant - (A + 1) E log sigma^2 - E B E[1/sigma^2].
  double log_constant(double precision) const;

  // Log density of x = log sigma^2, normalised, and its derivative.
  double log_density(double x) const;
  double slope(double x) const;
  // That of t = log c where sigma becomes c sigma, less a constant.
  double log_scale_density(double precision, double t) const;

  // 1 / sigma^2 given `count` effects of sum of squares `moment`; `current` is
  // the last one.
  double draw(Stream& stream, double count, double moment,
              double current) const;

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
  CovariancePrior(double df, const MatrixXd& scale, const HalfT& half_t)
      : df_(half_t.df > 0.0
                ? half_t.df + static_cast<double>(scale.rows()) - 1.0
                : df),
        scale_(scale),
        half_t_(half_t) {}

  double df() const { return df_; }

  // E S, with q(a) at its optimum for E P; also that S of whose IW the
  // derivatives of log p(Psi) are those at P.
  MatrixXd scale(const MatrixXd& p) const;

  // The scale of q(Psi) = IW(df + count, E S + moment), jointly with q(a),
  // from a first E P: one a_k after the other, jointly with q(Psi). Of others
  // E P_kk = (df + count) / (S_kk + m), and S_kk is the positive root of
  //   S^2 / s^2 + (nu (count - 1) + m / s^2) S - nu (df + 1) m = 0.
  MatrixXd posterior_scale(double count, const MatrixXd& moment,
                           const MatrixXd& p) const;

  // Terms of the bound that are not of Psi: E log |S|^(df/2), of p(a), less
  // log q(a).
  double log_constant(double count, const MatrixXd& posterior) const;

  // Log density of Psi, normalised, of whose root the log determinant is
  // `log_root`, and that of t where Psi becomes e^2t Psi, less a constant.
  double log_density(const MatrixXd& p, double log_root) const;
  double log_scale_density(const MatrixXd& p, double t) const;

  // S given the last P.
  MatrixXd draw_scale(Stream& stream, const MatrixXd& p) const;

 private:
  // q(a_k), and a_k given Psi: IG.
  double a_shape() const { return 0.5 * (df_ + 1.0); }
  ArrayXd a_rate(const MatrixXd& p) const;
  double precision() const { return 1.0 / (half_t_.scale * half_t_.scale); }
  static MatrixXd inverse(const MatrixXd& a);
  static double half_log_det(const MatrixXd& a);

  double df_;
  const MatrixXd& scale_;
  HalfT half_t_;
};
}  // namespace bayeskernel
