// What the draws of a fit say of new rows: averages over them, or each by
// itself.
#pragma once

#include "bark/blocks.hpp"
#include "bark/kept.hpp"
#include "eigen.hpp"
#include "expansion/draw_blocks.hpp"
#include "parallel/executor.hpp"

namespace bayeskernel {
// Views of draws that somebody else holds.
struct BarkDraws {
  std::vector<Index>
      begin;  // of each draw's kernels among all, then their number
  const int* location = nullptr;
  const double* variance = nullptr;
  const double* mean = nullptr;
  const double* block_mean = nullptr;
  const double* block_variance = nullptr;
  MatrixMap lambda, cuts;  // draws in rows
  VectorMap phi;
  Index fixed = 0, blocks = 0;  // columns of the blocks, and blocks
  int classes = 0;

  Index count() const { return phi.size(); }
  Index most() const;  // kernels of a draw
  KeptDraw draw(Index d) const;
  // Upper cut point of class c = 1 .. C.
  double cut(Index d, int c) const;
};

// The rows of a fit: their predictors, powers of their likelihoods (none: all
// 1), blocks and levels, and vectors of scales.
struct BarkTraining {
  MatrixMap x;
  std::vector<double> weights;
  BlockFacts blocks;
  Eigen::MatrixXi level;
  Index vectors = 1;

  BarkData rows() const;
};

// By row; of each class P(class) and the posterior sd of its probability.
struct BarkAverages {
  VectorXd mean, variance;
  MatrixXd probability, probability_sd;
};

// New rows: `x`, and `level`, 0 for a level that the fit has not seen; without
// any where the rows do not have these effects.
BarkAverages average_draws(const BarkDraws& draws, const BarkTraining& train,
                           const MatrixMap& x, const Eigen::MatrixXi& level,
                           Executor& executor, const Look& look);

// The mean and the variance of f given each draw: draws x rows.
struct BarkLatent {
  MatrixXd mean, variance;
};
BarkLatent latent_by_draw(const BarkDraws& draws, const BarkTraining& train,
                          const MatrixMap& x, const Eigen::MatrixXi& level,
                          Executor& executor, const Look& look);
}  // namespace bayeskernel
