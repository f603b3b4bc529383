// Residuals of rows that are multiples of variances: what the features of a
// process leave open of its variance sigma_c^2 at a row is sigma_c^2 times a
// relative that is known.
//
// k_ii - q_ii of Snelson and Ghahramani (2006); the diagonal of K~ in Wenzel et
// al. (2017), eq. 6.
#pragma once

#include "eigen.hpp"
#include "prior/blocks.hpp"

namespace bayeskernel {
// The residuals of the rows belong to this class.
class ConditionalVariance {
 public:
  // `residual`: of n rows; `relative`: n x the point blocks of the prior, in
  // their order.
  ConditionalVariance(VectorXd& residual, Index n, const Prior& prior,
                      MatrixXd relative);

  // The residuals at these precisions of the blocks.
  void set(const std::vector<MatrixXd>& precision);
  // sigma_c^2, as they were set.
  double variance(Index c) const { return variance_[c]; }

  // d / d log sigma_l^2 of block l from the rows' derivatives in their
  // residuals; 0 for another kind of block.
  double slope(std::size_t l, const VectorXd& by_residual) const;

  // The variances after a pass that left these weights and second moments.
  void update(const Prior& prior, const std::vector<MatrixXd>& moment,
              const VectorXd& kappa, std::vector<BlockPosterior>& q,
              std::vector<MatrixXd>& precision) const;

 private:
  VectorXd& residual_;
  MatrixXd relative_;
  VectorXd variance_;
  std::vector<std::size_t> blocks_;
};
}  // namespace bayeskernel
