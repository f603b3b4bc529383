// Convergence of one scalar over several chains: rank-normalised split R-hat,
// bulk and tail effective sample sizes and the Monte Carlo error of the mean
// (Vehtari, Gelman, Simpson, Carpenter, Buerkner 2021). Agrees with the R
// package posterior, version 1.4. O(S log S) for S draws.
#pragma once

#include "eigen.hpp"

namespace bayeskernel {
// NaN where a number has no meaning: constant draws, a draw that is not finite,
// fewer than four iterations (R-hat) or six (effective sizes).
struct Convergence {
  double rhat = std::numeric_limits<double>::quiet_NaN();
  double ess_bulk = rhat;
  double ess_tail = rhat;
  double ess_mean = rhat;
  double mcse_mean = rhat;
};

namespace detail {
constexpr double kMissing = std::numeric_limits<double>::quiet_NaN();

// The absolute threshold of `posterior`.
inline bool is_constant(MatrixRef x) {
  return x.maxCoeff() - x.minCoeff() < std::numeric_limits<double>::epsilon();
}

// Each chain becomes two; the middle iteration of an odd number is left out.
MatrixXd split_chains(MatrixRef x);

// Normal scores of the ranks, ties at their average rank: section 4.1.
MatrixXd normal_scores(MatrixRef x);

double sample_variance(VectorRef x);

// Potential scale reduction of chains that are already split.
double split_rhat(MatrixRef x);

// S over the autocorrelation time of chains that are already split: Geyer's
// initial positive, then monotone sequence of paired autocorrelations.
double split_ess(MatrixRef x);

// Quantile of type 7, with the operations of R's quantile() so that a draw is
// on the same side of it.
double quantile(std::vector<double>& values, double probability);
}  // namespace detail

// `draws` is iterations x chains. Draws are taken from their median first, so
// that a mean far from 0 costs no digits.
Convergence convergence(MatrixRef draws);
}  // namespace bayeskernel
