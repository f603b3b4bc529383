// What the draws of a fit say of new rows: averages over them, or each by
// itself.
#pragma once

#include "eigen.hpp"
#include "expansion/draw_blocks.hpp"
#include "klr/kept.hpp"
#include "parallel/executor.hpp"

namespace bayeskernel {
// Draws that somebody else holds, but for the centres.
struct LowRankDraws {
  Index rank = 0, frame_size = 0;
  std::vector<Index> begin{0};  // kernels of each draw among all
  std::vector<int> centre;
  const double* intercept = nullptr;
  const double* coefficient = nullptr;
  const double* log_lambda = nullptr;
  const double* frame = nullptr;

  Index count() const { return count_of(begin) - 1; }
  LowRankDraw draw(Index d) const;
};

// By row: of f, and of the probability of the second class.
struct LowRankAverages {
  VectorXd mean, variance, probability, probability_sd;
};

// `train`: the rows of the fit; `x`: new ones.
LowRankAverages average_draws(const LowRankDraws& draws, const MatrixRef& train,
                              const MatrixMap& x, Executor& executor,
                              const Look& look);

// f given each draw: draws x rows.
MatrixXd latent_by_draw(const LowRankDraws& draws, const MatrixRef& train,
                        const MatrixMap& x, Executor& executor,
                        const Look& look);
}  // namespace bayeskernel
