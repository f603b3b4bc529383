#include "prior/indicators.hpp"

#include "math/normal.hpp"

namespace bayeskernel {
void Indicators::start(const VectorXd& inclusion, IndicatorPosterior& q) const {
  // 1 stands for a probability that no factor can tell from it.
  q.log_odds = inclusion.unaryExpr(
      [](double g) { return std::min(std::log(g) - std::log1p(-g), 40.0); });
  q.expected_b = q.prior_fraction = VectorXd::Ones(size());
  if (prior_.start_b.size() == size()) q.expected_b = prior_.start_b;
  q.precision = prior_.start_precision;
  update_rho(VectorXd::Zero(0), q);
}

VectorXd Indicators::by_column(const VectorXd& log_odds) const {
  VectorXd out = VectorXd::Ones(p_);
  for (Index k = 0; k < size(); ++k) out[columns_[k]] = expit(log_odds[k]);
  return out;
}

void Indicators::scale(const VectorXd& inclusion, const VectorXd& log_b,
                       double log_slab, const Curvature& a,
                       Curvature& out) const {
  out.gram = inclusion.asDiagonal() * a.gram * inclusion.asDiagonal();
  out.cross = inclusion.asDiagonal() * a.cross;
  out.group_gram = a.group_gram;
  for (Index k = 0; k < size(); ++k) {
    const Index c = columns_[k];
    out.gram(c, c) =
        inclusion[c] * a.gram(c, c) + std::exp(log_b[k] + log_slab);
  }
}

void Indicators::update_odds(const Curvature& curvature, const VectorXd& h,
                             const VectorXd& group_part, const VectorXd& mu,
                             const MatrixXd& covariance, VectorXd inclusion,
                             const IndicatorPosterior& q,
                             VectorXd& odds) const {
  const MatrixXd a = curvature.gram.selfadjointView<Eigen::Lower>();
  const double prior = log_odds(q);
  VectorXd in_mu = inclusion.cwiseProduct(mu);
  for (Index k = 0; k < size(); ++k) {
    const Index c = columns_[k];
    const double second = covariance(c, c) + mu[c] * mu[c];
    const double others =
        (a.col(c).array() * covariance.col(c).array() * inclusion.array())
            .sum() +
        mu[c] * a.col(c).dot(in_mu) - a(c, c) * second * inclusion[c];
    odds[k] =
        prior + mu[c] * h[c] - 0.5 * a(c, c) * second - others - group_part[c];
    inclusion[c] = expit(odds[k]);
    in_mu[c] = inclusion[c] * mu[c];
  }
}

double Indicators::update(const VectorXd& mu, const MatrixXd& covariance,
                          double precision, VectorXd& indicator_variance,
                          IndicatorPosterior& q) const {
  return update(mu, VectorXd(covariance.diagonal()), precision,
                indicator_variance, q);
}

double Indicators::update(const VectorXd& mu, const VectorXd& variance,
                          double precision, VectorXd& indicator_variance,
                          IndicatorPosterior& q) const {
  VectorXd second(size());
  indicator_variance = VectorXd::Zero(p_);
  q.prior_fraction.resize(size());
  for (Index k = 0; k < size(); ++k) {
    const Index c = columns_[k];
    second[k] = variance[c] + mu[c] * mu[c];
    q.prior_fraction[k] = variance[c] / second[k];
    // Beyond a log odds of 40, E gamma is 1 to the last digit.
    const double l = q.log_odds[k];
    indicator_variance[c] = l < 40.0 ? expit(l) * expit(-l) * second[k] : 0.0;
  }
  update(second, expit(q.log_odds), precision, q);
  return bound(second, q);
}

double Indicators::settled_precision(const VectorXd& mu,
                                     const VectorXd& variance,
                                     const VectorXd& log_b, double precision,
                                     const IndicatorPosterior& q) const {
  double count = static_cast<double>(size()), moment = 0.0;
  for (Index k = 0; k < size(); ++k) {
    const Index c = columns_[k];
    const double square = mu[c] * mu[c];
    const double second = variance[c] + square;
    const double fraction = std::exp(log_b[k]) * precision * variance[c] *
                            (variance[c] + 2.0 * square) / second;
    const double own = q.expected_b[k] * second;
    const double follows =
        std::min({fraction * own * precision, 1.0, own * precision});
    count -= follows;
    moment += own - follows / precision;
  }
  return std::clamp(prior_.variance().precision(count, moment), 1e-100, 1e100);
}

double Indicators::log_odds(const IndicatorPosterior& q) const {
  if (!prior_.learn_rho) return std::log(prior_.rho / (1.0 - prior_.rho));
  return digamma(q.rho_in) - digamma(q.rho_out);
}

void Indicators::update(const VectorXd& second_moment,
                        const VectorXd& inclusion, double precision,
                        IndicatorPosterior& q) const {
  q.expected_b = (second_moment * precision).cwiseSqrt().cwiseInverse();
  const double used = static_cast<double>(second_moment.size());
  const VariancePrior variance = prior_.variance();
  q.precision = std::clamp(
      variance.precision(used, q.expected_b.dot(second_moment)), 1e-100, 1e100);
  q.shape = variance.shape() + 0.5 * (used + hidden_);
  q.rate = q.shape / q.precision;
  update_rho(inclusion, q);
}

void Indicators::update_rho(const VectorXd& inclusion,
                            IndicatorPosterior& q) const {
  const double in = inclusion.sum();
  const double all = static_cast<double>(inclusion.size()) + hidden_;
  q.rho_in = prior_.rho_in + in;
  q.rho_out = prior_.rho_out + all - in;
}

double Indicators::bound(const VectorXd& second_moment,
                         const IndicatorPosterior& q) const {
  const double used = static_cast<double>(second_moment.size());
  const double all = used + hidden_;
  const double log_variance = std::log(q.rate) - digamma(q.shape);
  double sum = all * (detail::kLogSqrtTwoPi - std::log(2.0)) +
               0.5 * hidden_ * (1.0 - std::log(q.precision));
  sum -= 0.5 * all * log_variance;
  sum -= 0.5 * (q.expected_b.cwiseInverse().sum() + hidden_);
  sum -= 0.5 * (q.precision * q.expected_b.dot(second_moment) + hidden_);
  const VariancePrior variance = prior_.variance();
  sum += variance.log_constant(q.precision) -
         (variance.shape() + 1.0) * log_variance -
         variance.rate(q.precision) * q.precision;
  sum += q.shape + std::log(q.rate) + log_gamma(q.shape) -
         (1.0 + q.shape) * digamma(q.shape);
  return sum + inclusion_bound(q);
}

double Indicators::inclusion_bound(const IndicatorPosterior& q) const {
  double log_in = std::log(prior_.rho), log_out = std::log1p(-prior_.rho);
  double sum = 0.0;
  if (prior_.learn_rho) {
    const double both = digamma(q.rho_in + q.rho_out);
    log_in = digamma(q.rho_in) - both;
    log_out = digamma(q.rho_out) - both;
    sum += (prior_.rho_in - q.rho_in) * log_in +
           (prior_.rho_out - q.rho_out) * log_out -
           log_beta(prior_.rho_in, prior_.rho_out) +
           log_beta(q.rho_in, q.rho_out);
  }
  for (Index k = 0; k < q.log_odds.size(); ++k) {
    const double l = q.log_odds[k];
    const double in = expit(l);
    // Entropy log(1 + e^l) - in l, written so that it vanishes at both ends.
    const double far = std::abs(l);
    sum += in * log_in + (1.0 - in) * log_out + std::log1p(std::exp(-far)) +
           far * expit(-far);
  }
  return sum + hidden_ * log_out;
}
}  // namespace bayeskernel
