// The linear model by expectation propagation, variances included: held,
// integrated over where they have few parameters, or by EP in VB.
#pragma once

#include "eigen.hpp"
#include "ep/fit.hpp"
#include "ep/grid.hpp"
#include "ep/hyperparameters.hpp"
#include "ep/mixture.hpp"
#include "ep/settle.hpp"
#include "ep/sites.hpp"
#include "ep/variational.hpp"
#include "likelihood/family.hpp"
#include "linear/completions.hpp"
#include "prior/blocks.hpp"

namespace bayeskernel {
enum class EpEngine { fixed, grid, variational };

struct EpOutcome {
  EpEngine engine = EpEngine::fixed;
  LinearMoments moments;
  RowMoments rows;  // these two empty where moments of rows are not kept
  SiteRows sites;   // at the mode of a grid
  VariancePosterior variances;
  std::vector<MatrixXd> precision;  // of a grid: of the mean covariance
  double log_evidence = 0.0, log_z = 0.0;
  EpResult result;
  // A grid: its points and weights, mean, deviation and block of x; whether
  // they weigh by the evidence of whole groups, are those of a grid, and how
  // many of equal weight they are worth.
  std::vector<EpPoint> points;
  VectorXd weight, x_mean, x_sd;
  std::vector<int> x_owner;
  bool by_group = false, grid = false;
  double effective = 0.0;
  // What their evidence would move, in standard deviations; NaN: not known.
  double missed_shift = std::numeric_limits<double>::quiet_NaN();
  MatrixXd jackknife;  // of a grid: the covariance of theta over samples
};

// Of incomplete rows, by unit 1, 2, ...: log sum_k pi_k p_k over their
// completions.
VectorXd unit_leave_one_out(const Completions& units,
                            const VectorXd& leave_one_out);

namespace detail {
// The IG with these moments of log sigma^2.
BlockPosterior matched_gamma(double mean, double variance);

// The IW with the mean and mean variance of the logarithms of the diagonal of
// Psi, and with the mean correlations.
BlockPosterior matched_wishart(const EpOutcome& from, std::size_t l);

void collect_grid(EpGrid& grid, const Hyperparameters& hyper,
                  const Prior& prior, EpOutcome& out);
}  // namespace detail

// `grid`: whether a grid is wanted where it is possible; the fit is left at its
// mode. `by_group`: with points that weigh by the evidence of whole groups, and
// leave-one-out by these, which needs moments of rows. `copies`: of rows as
// left_out_means.hpp has them, for the jackknife of a grid. `rows`: whether to
// say what there is of each row. Interrupts leave by PassInterrupted.
EpOutcome fit_linear_ep(EpFit& fit, const NoisePrior& noise, bool grid,
                        const EpSettings& settings, bool by_group = false,
                        const VectorXd& copies = VectorXd(), bool rows = true);
}  // namespace bayeskernel
