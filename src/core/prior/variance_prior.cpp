#include "prior/variance_prior.hpp"

#include "math/spd.hpp"
#include "math/special.hpp"
#include "rng/distributions.hpp"

namespace bayeskernel {
double VariancePrior::precision(double count, double moment) const {
  const double shape = shape_ + 0.5 * count;
  if (!half_t()) return shape / (rate_ + 0.5 * moment);
  const double square = 0.5 * df_ * moment;
  const double linear = 0.5 * (moment * inverse_ - (count - 1.0) * df_);
  const double root =
      std::sqrt(linear * linear + 4.0 * square * shape * inverse_);
  const double value = linear > 0.0 ? 2.0 * shape * inverse_ / (linear + root)
                                    : (root - linear) / (2.0 * square);
  return std::min(value, 1e100);
}

double VariancePrior::log_constant(double precision) const {
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

double VariancePrior::log_density(double x) const {
  if (!half_t()) {
    return shape_ * std::log(rate_) - log_gamma(shape_) - shape_ * x -
           rate_ * std::exp(-x);
  }
  return log_gamma(xi_shape()) - log_gamma(shape_) - log_gamma(0.5) +
         0.5 * (std::log(inverse_ / df_) + x) -
         xi_shape() * std::log1p(std::exp(x) * inverse_ / df_);
}

double VariancePrior::slope(double x) const {
  if (!half_t()) return rate_ * std::exp(-x) - shape_;
  return 0.5 - xi_shape() / (1.0 + std::exp(-x) * df_ / inverse_);
}

double VariancePrior::log_scale_density(double precision, double t) const {
  const double c = std::exp(t);
  if (!half_t()) {
    return -(2.0 * shape_ * t + rate_ * precision / (c * c));
  }
  return t - xi_shape() * std::log1p(c * c * inverse_ / (df_ * precision));
}

double VariancePrior::draw(Stream& stream, double count, double moment,
                           double current) const {
  const double b =
      half_t() ? df_ * gamma(stream, xi_shape(), xi_rate(current)) : rate_;
  const double out = gamma(stream, shape_ + 0.5 * count, b + 0.5 * moment);
  return std::min(std::max(out, 1e-100), 1e100);
}

MatrixXd CovariancePrior::scale(const MatrixXd& p) const {
  if (half_t_.df <= 0.0) return scale_;
  return (2.0 * half_t_.df * a_shape() / a_rate(p)).matrix().asDiagonal();
}

MatrixXd CovariancePrior::posterior_scale(double count, const MatrixXd& moment,
                                          const MatrixXd& p) const {
  MatrixXd out = scale(p);
  VectorXd own = out.diagonal();
  out += moment;
  if (half_t_.df <= 0.0) return out;
  const double constant = half_t_.df * (df_ + 1.0);
  double change = 1.0;
  for (int step = 0; step < 200 && change > 1e-12; ++step) {
    change = 0.0;
    for (Index k = 0; k < own.size(); ++k) {
      const double m =
          std::max(1.0 / inverse(out)(k, k) - own[k], 1e-15 * own[k]);
      const double linear = half_t_.df * (count - 1.0) + precision() * m;
      const double next =
          2.0 * constant * m /
          (linear +
           std::sqrt(linear * linear + 4.0 * precision() * constant * m));
      change = std::max(change, std::abs(next / own[k] - 1.0));
      own[k] = next;
      out(k, k) = moment(k, k) + next;
    }
  }
  return out;
}

double CovariancePrior::log_constant(double count,
                                     const MatrixXd& posterior) const {
  if (half_t_.df <= 0.0) return df_ * half_log_det(scale_);
  double out = 0.0;
  const ArrayXd d = a_rate((df_ + count) * inverse(posterior));
  const double c = a_shape();
  for (Index k = 0; k < d.size(); ++k) {
    const double log_a = std::log(d[k]) - digamma(c);
    out += 0.5 * df_ * (std::log(2.0 * half_t_.df) - log_a) +
           0.5 * std::log(precision()) - log_gamma(0.5) - 1.5 * log_a -
           precision() * c / d[k] + c + std::log(d[k]) + log_gamma(c) -
           (1.0 + c) * digamma(c);
  }
  return out;
}

double CovariancePrior::log_density(const MatrixXd& p, double log_root) const {
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

double CovariancePrior::log_scale_density(const MatrixXd& p, double t) const {
  const double c = std::exp(t), own = df_ * static_cast<double>(p.rows()) * t;
  if (half_t_.df <= 0.0) {
    return -(own + 0.5 * scale_.cwiseProduct(p).sum() / (c * c));
  }
  return -(own + a_shape() * a_rate(p / (c * c)).log().sum());
}

MatrixXd CovariancePrior::draw_scale(Stream& stream, const MatrixXd& p) const {
  if (half_t_.df <= 0.0) return scale_;
  VectorXd out = a_rate(p).matrix();
  for (Index k = 0; k < out.size(); ++k) {
    out[k] = 2.0 * half_t_.df * gamma(stream, a_shape(), out[k]);
  }
  return out.asDiagonal();
}

ArrayXd CovariancePrior::a_rate(const MatrixXd& p) const {
  return half_t_.df * p.diagonal().array() + precision();
}

MatrixXd CovariancePrior::inverse(const MatrixXd& a) {
  return spd_inverse(a, "the covariance of a random effect");
}

double CovariancePrior::half_log_det(const MatrixXd& a) {
  return a.llt().matrixLLT().diagonal().array().log().sum();
}
}  // namespace bayeskernel
