// Mean and variance of f for many rows under a Gaussian q of the coefficients.
// P^2 / 2 multiply-adds a row, P the length of theta, and as many for each
// missing predictor.
#pragma once

#include "eigen.hpp"
#include "parallel/executor.hpp"
#include "predict/linear_rows.hpp"
#include "simd/lower_product.hpp"

namespace bayeskernel {
// The scale of the model throughout. Effects are gamma * theta, gamma one
// Bernoulli variable a column, and u of the random terms.
struct LinearPosterior {
  struct Term {
    enum class Kind { eliminated, dense, apart };
    Kind kind;
    MatrixMap mean;          // groups x r, eliminated and apart
    MatrixMap loading;       // eliminated: r x (P groups), u given theta
    MatrixMap covariance;    // r x (r groups): of u given theta; apart: of u
    std::vector<int> index;  // dense: places in theta, from 1
    MatrixXd unseen;         // r x r, of a group that the fit has not seen
  };

  VectorMap center, scale;  // of the columns of x
  VectorMap mean;           // of theta
  MatrixMap covariance;
  VectorMap gamma, indicator_var;  // empty without selection
  // Columns from `first` on were turned into those of `basis`; what it does not
  // reach kept its prior variance.
  MatrixMap basis;
  Index first;
  double hidden_var;
  std::vector<Term> terms;
  // q of missing predictors, on the scale of the model.
  MatrixXd precision;  // E[Sigma_x^-1]
  VectorMap x_mean;
  MatrixMap x_mean_cov;
};

struct GaussianMoments {
  VectorXd mean, var;
};

class LinearPredictor {
 public:
  LinearPredictor(const LinearRows& rows, const LinearPosterior& q);

  GaussianMoments run(Executor& executor);

 private:
  using Kind = LinearPosterior::Term::Kind;
  struct Scratch {
    MatrixXd x, tile, white;
  };
  // x_m | x_o = mean - slope (x_o - center); variance with that of mu_x.
  struct Conditional {
    VectorXd mean, center;
    MatrixXd slope, var;
    MatrixXd filled;  // missing predictors x rows of the pattern
  };

  void condition(std::size_t k);

  int position(Index row, int predictor) const;
  double filled(Index row, int predictor) const;

  // z of a row, its missing entries filled.
  VectorXd z_row(std::size_t t, Index i) const;

  // Adds the random effects of a group at z to a vector over theta; returns
  // what does not go through theta: the mean.
  template <class Column>
  double add_effects(std::size_t t, int g, const VectorXd& z,
                     Column&& a) const {
    const LinearPosterior::Term& term = q_.terms[t];
    const Index r = z.size(), size = q_.mean.size();
    if (g == 0) return 0.0;
    if (term.kind == Kind::dense) {
      for (Index k = 0; k < r; ++k) a[term.index[(g - 1) * r + k] - 1] += z[k];
      return 0.0;
    }
    if (term.kind == Kind::eliminated && size > 0) {
      // loading is r x P x groups, its first index the fastest.
      a.noalias() -=
          term.loading.middleCols((g - 1) * size, size).transpose() * z;
    }
    return term.mean.row(g - 1).dot(z);
  }
  // Their covariance beyond theta.
  double covariance(std::size_t t, int g, const VectorXd& z,
                    const VectorXd& w) const;

  void strip(Index first, Index rows, Scratch& s, GaussianMoments& out) const;

  // With x_m ~ N(., V) the variance of f grows by sum_jl V_jl E(T_j'w T_l'w), w
  // all coefficients and T_j the columns' slopes in predictor j.
  void add_missing(Index i, double& var) const;

  const LinearRows& rows_;
  const LinearPosterior& q_;
  std::unique_ptr<LowerProduct> root_;
  std::vector<Conditional> given_;
  std::vector<std::pair<int, int>> place_;  // of a row: pattern, row in it
};
}  // namespace bayeskernel
