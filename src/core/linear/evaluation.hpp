// What a mean-field fit may start from, and what an evaluation of one of its
// states leaves behind.
#pragma once

#include "eigen.hpp"
#include "linear/missing_values.hpp"
#include "linear/noise.hpp"
#include "prior/blocks.hpp"
#include "prior/indicators.hpp"
#include "rows/sums.hpp"

namespace bayeskernel {
// A point, the curvature kappa (x, z)(x, z)' around it, the precisions of the
// blocks and the noise of Gaussian rows.
struct MeanFieldStart {
  ArrowVector mean;
  Curvature curvature;
  std::vector<MatrixXd> precision;
  NoisePosterior noise{};
};

struct MeanFieldEvaluation {
  Sums sums;                       // linear: the gradient in E(gamma theta, u)
  ArrowVector shift;               // h of the bare columns, with indicators
  VectorXd mean, variance, kappa;  // by row, where kept
  VectorXd linear;                 // the same, with open residuals
  VectorXd responsibility;         // by completion, the probability rho
  std::vector<MatrixXd> moment;    // of the blocks' members, second
  std::vector<BlockPosterior> variances;
  std::vector<MatrixXd> precision;  // for the next step
  NoisePosterior noise;
  IndicatorPosterior indicators;
  VectorXd next_log_odds;
  MissingPosterior missing;
  double bound = -std::numeric_limits<double>::infinity();
};
}  // namespace bayeskernel
