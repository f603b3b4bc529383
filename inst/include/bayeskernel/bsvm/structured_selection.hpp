// q of the selection part: gamma, b, sigma_v^2 and rho (svm.md section 4, steps
// 2 and 3, and section 5). Columns that are out for good are `hidden`: their
// v_k and b_k keep the optimum without data, E b_k = 1 and E v_k^2 = 1 /
// E[1/sigma_v^2], and count in sigma_v^2, rho and the bound.
#ifndef BAYESKERNEL_BSVM_STRUCTURED_SELECTION_HPP
#define BAYESKERNEL_BSVM_STRUCTURED_SELECTION_HPP

#include <Eigen/Core>
#include <algorithm>
#include <cmath>

#include "../math/special.hpp"
#include "structure.hpp"

namespace bayeskernel {

struct SelectionPosterior {
  VectorXd log_odds;    // of gamma, columns in use
  VectorXd expected_b;  // E b
  double shape = 0.0, rate = 1.0;      // sigma_v^2 ~ IG
  double precision = 1.0;              // E[1/sigma_v^2]
  double rho_in = 0.0, rho_out = 0.0;  // rho ~ Beta, when learned
};

inline double expit(double x) { return 1.0 / (1.0 + std::exp(-x)); }

inline VectorXd expit(const VectorXd& x) {
  return x.unaryExpr([](double v) { return expit(v); });
}

class SelectionUpdate {
 public:
  SelectionUpdate(const Selection& prior, Index hidden)
      : prior_(prior), hidden_(static_cast<double>(hidden)) {}

  // Prior log odds of gamma as q(rho) has them.
  double log_odds(const SelectionPosterior& q) const {
    if (!prior_.learn_rho) return std::log(prior_.rho / (1.0 - prior_.rho));
    return digamma(q.rho_in) - digamma(q.rho_out);
  }

  // q(b), q(sigma_v^2) and q(rho) from E v^2 and E gamma. With hidden columns
  // their factors and sigma_v^2 take their joint optimum.
  void update(const VectorXd& second_moment, const VectorXd& inclusion,
              double precision, SelectionPosterior& q) const {
    q.expected_b = (second_moment * precision).cwiseSqrt().cwiseInverse();
    const double used = static_cast<double>(second_moment.size());
    const double rate = prior_.rate + 0.5 * q.expected_b.dot(second_moment);
    q.precision = std::clamp((prior_.shape + 0.5 * used) / rate, 1e-100, 1e100);
    q.shape = prior_.shape + 0.5 * (used + hidden_);
    q.rate = q.shape / q.precision;
    update_rho(inclusion, q);
  }

  void update_rho(const VectorXd& inclusion, SelectionPosterior& q) const {
    const double in = inclusion.sum();
    const double all = static_cast<double>(inclusion.size()) + hidden_;
    q.rho_in = prior_.rho_in + in;
    q.rho_out = prior_.rho_out + all - in;
  }

  // Terms of the bound, with what the entropy of q(theta) has for selection
  // columns beside 1/2 log|Sigma| + d/2 of the columns in use.
  double bound(const VectorXd& second_moment,
               const SelectionPosterior& q) const {
    const double used = static_cast<double>(second_moment.size());
    const double all = used + hidden_;
    const double log_variance = std::log(q.rate) - digamma(q.shape);
    double sum = all * (detail::kLogSqrtTwoPi - std::log(2.0)) +
                 0.5 * hidden_ * (1.0 - std::log(q.precision));
    sum -= 0.5 * all * log_variance;
    sum -= 0.5 * (q.expected_b.cwiseInverse().sum() + hidden_);
    sum -= 0.5 * (q.precision * q.expected_b.dot(second_moment) + hidden_);
    sum += prior_.shape * std::log(prior_.rate) - log_gamma(prior_.shape) -
           (prior_.shape + 1.0) * log_variance - prior_.rate * q.precision;
    sum += q.shape + std::log(q.rate) + log_gamma(q.shape) -
           (1.0 + q.shape) * digamma(q.shape);
    return sum + inclusion_bound(q);
  }

 private:
  double inclusion_bound(const SelectionPosterior& q) const {
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

  static double log_beta(double a, double b) {
    return log_gamma(a) + log_gamma(b) - log_gamma(a + b);
  }

  const Selection& prior_;
  double hidden_;
};

}  // namespace bayeskernel

#endif
