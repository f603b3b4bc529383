// Columns among which the model selects, and the q of their part: gamma, b,
// sigma_v^2 and rho. Columns that are out for good are `hidden`: their v_k and
// b_k keep the optimum without data, E b_k = 1 and E v_k^2 = 1 /
// E[1/sigma_v^2], and count in sigma_v^2, rho and the bound.
//
// Luts and Ormerod (2014), section 3.2 and algorithm 3.
#pragma once

#include "eigen.hpp"
#include "math/special.hpp"
#include "prior/variance_prior.hpp"
#include "rows/sums.hpp"

namespace bayeskernel {
// theta_k = gamma_k v_k on `columns` of x: v_k ~ N(0, sigma_v^2 / b_k),
// b_k ~ IG(1, 1/2), gamma_k ~ Bernoulli(rho), sigma_v^2 ~ IG(shape, rate) or
// sigma_v ~ `half_t`, and rho known or ~ Beta(rho_in, rho_out). These columns
// have neither a fixed prior nor a block. Columns of one unit have one
// indicator, in chains alone.
struct Selection {
  std::vector<Index> columns;
  double shape = 0.01, rate = 0.01;
  HalfT half_t;
  double rho = 0.01;
  bool learn_rho = false;
  double rho_in = 1.0, rho_out = 1.0;
  // By indicator, positions among `columns`; empty: one for each column.
  std::vector<std::vector<Index>> units;
  // Where E sigma_v^-2 starts, and E b by column (empty: at 1).
  double start_precision = 1.0;
  VectorXd start_b;
  // Further columns of the model that are out, and indicators of theirs.
  Index hidden = 0, hidden_units = 0;

  Index size() const { return count_of(columns); }
  VariancePrior variance() const { return {shape, rate, half_t}; }
};

struct IndicatorPosterior {
  VectorXd log_odds;        // of gamma, columns in use
  VectorXd expected_b;      // E b
  VectorXd prior_fraction;  // Var v_k / E v_k^2: curvature of the Laplace law
  double shape = 0.0, rate = 1.0;      // sigma_v^2 ~ IG
  double precision = 1.0;              // E[1/sigma_v^2]
  double rho_in = 0.0, rho_out = 0.0;  // rho ~ Beta, when learned
};

inline VectorXd expit(const VectorXd& x) {
  return x.unaryExpr([](double v) { return expit(v); });
}

class Indicators {
 public:
  // `columns` of x are those in use, p in all; `hidden` have left.
  Indicators(const Selection& prior, std::vector<Index> columns, Index p,
             Index hidden)
      : prior_(prior),
        columns_(std::move(columns)),
        p_(p),
        hidden_(static_cast<double>(hidden + prior.hidden)) {}

  Index size() const { return count_of(columns_); }
  const std::vector<Index>& columns() const { return columns_; }

  // gamma at the probabilities `inclusion`, all else as without data.
  void start(const VectorXd& inclusion, IndicatorPosterior& q) const;

  // E gamma by column of x.
  VectorXd by_column(const VectorXd& log_odds) const;

  // A o E gamma gamma', with the prior precision of the columns.
  void scale(const VectorXd& inclusion, const VectorXd& log_b, double log_slab,
             const Curvature& a, Curvature& out) const;

  // log odds of gamma, in the order of the columns, always with the newest
  // E gamma, from the sums A and h of the bare columns and the group effects'
  // part; `inclusion` is E gamma before.
  void update_odds(const Curvature& curvature, const VectorXd& h,
                   const VectorXd& group_part, const VectorXd& mu,
                   const MatrixXd& covariance, VectorXd inclusion,
                   const IndicatorPosterior& q, VectorXd& odds) const;

  // All other factors at q's log odds, theta of mean mu and covariance; their
  // terms of the bound. `indicator_variance` receives Var f by x_k^2 from
  // unknown gamma.
  double update(const VectorXd& mu, const MatrixXd& covariance,
                double precision, VectorXd& indicator_variance,
                IndicatorPosterior& q) const;
  // The same of variances alone.
  double update(const VectorXd& mu, const VectorXd& variance, double precision,
                VectorXd& indicator_variance, IndicatorPosterior& q) const;

  // E[1/sigma_v^2] that the update tends to as it is repeated, of v with mean
  // mu and variances `variance` under prior precisions b `precision`: a column
  // of which the data say little has E v^2 in proportion to sigma_v^2 and says
  // nothing of it. Steps that ignore that approach it by a fraction of about
  // shape / K.
  double settled_precision(const VectorXd& mu, const VectorXd& variance,
                           const VectorXd& log_b, double precision,
                           const IndicatorPosterior& q) const;

  // Prior log odds of gamma as q(rho) has them.
  double log_odds(const IndicatorPosterior& q) const;

 private:
  // q(b), q(sigma_v^2) and q(rho) from E v^2 and E gamma. With hidden columns
  // their factors and sigma_v^2 take their joint optimum.
  void update(const VectorXd& second_moment, const VectorXd& inclusion,
              double precision, IndicatorPosterior& q) const;

  void update_rho(const VectorXd& inclusion, IndicatorPosterior& q) const;

  // Terms of the bound, with what the entropy of q(theta) has for selection
  // columns beside 1/2 log|Sigma| + d/2 of the columns in use.
  double bound(const VectorXd& second_moment,
               const IndicatorPosterior& q) const;

  double inclusion_bound(const IndicatorPosterior& q) const;

  static double log_beta(double a, double b) {
    return log_gamma(a) + log_gamma(b) - log_gamma(a + b);
  }

  const Selection& prior_;
  std::vector<Index> columns_;
  Index p_;
  double hidden_;
};
}  // namespace bayeskernel
