// q(theta) of crossed random effects, partially factorised (Goplerud,
// Papaspiliopoulos & Zanella 2025, Biometrika 112; Menictas, Di Credico & Wand
// 2023, J. Comput. Graph. Statist. 32): a Gaussian with exact means, regression
// of u on x's coefficients and covariance of these, for given weights, and
//   u_0 | x, v   exact,
//   v | x        covariance diag(V_h) + W Omega W',
// where W are the sums over the levels of each outer term: what one term gains
// on the whole another can lose, a direction in which levels are far from
// independent. V and Omega are the best of their form. Nested terms lose
// nothing.
#pragma once

#include "eigen.hpp"
#include "linear/crossed/rows.hpp"
#include "linear/crossed/system.hpp"
#include "prior/blocks.hpp"
#include "rows/rows.hpp"

namespace bayeskernel {
class CrossedPosterior {
 public:
  explicit CrossedPosterior(const CrossedRows& rows);

  void set_covariance(CrossedSystem& system);

  double log_det() const { return log_det_; }
  const MatrixXd& whitener() const { return whitener_; }  // U, Cov(x) = U'U
  MatrixXd omega() const;
  // u = mean - H'(x - mean, w) + noise, w ~ N(0, Omega): H, and on the pattern
  // of A the covariance of the noise, of u_0 with v above the diagonal only.
  MatrixXd loading() const;
  const VectorXd& noise() const { return noise_; }

  // Cov(u) of the level that begins with effect a.
  MatrixXd covariance(Index a) const;

  // sum over the members of a block of the covariance.
  MatrixXd covariance(const Block& block) const;

  // Var f of the rows of a tile.
  void variances(const TileSpan& span, double* out) const;

 private:
  // V and Omega, each the best given the other: Omega = (W'SW)^-1 - P^-1, or
  // what of it is positive, with P = W'V^-1 W, and (Cov(v)^-1)_hh = S_hh. A
  // round changes less than the one before by the number of levels.
  void set_outer(CrossedSystem& system);

  // visit(term, level, place among the shared directions, width).
  template <class Visit>
  void each_outer(Visit&& visit) const {
    for (std::size_t k = 1; k < rows_.terms.size(); ++k) {
      const CrossedTerm& term = rows_.terms[k];
      for (Index h = 0; h < term.levels; ++h) {
        visit(k, h, term.at - rows_.terms[0].width, term.width);
      }
    }
  }

  // Cov(u_g, v_h) = -F_gh V_h and Cov(u_g) = D_g^-1 + sum_h F_gh V_h F_gh' with
  // F_gh = D_g^-1 C_gh.
  void set_inner(CrossedSystem& system);

  const CrossedRows& rows_;
  MatrixXd regression_, shared_;  // H
  MatrixXd whitener_, root_,
      whitened_loading_;  // whitened_loading: roots times H
  VectorXd noise_;
  double log_det_ = 0.0;
};
}  // namespace bayeskernel
