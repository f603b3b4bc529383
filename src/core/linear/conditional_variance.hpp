// Residuals of rows that are multiples of variances: what the features of a
// process leave open of its variance sigma_c^2 at a row is sigma_c^2 times a
// share that is known.
#ifndef BAYESKERNEL_LINEAR_CONDITIONAL_VARIANCE_HPP
#define BAYESKERNEL_LINEAR_CONDITIONAL_VARIANCE_HPP

#include <Eigen/Core>
#include <algorithm>
#include <utility>
#include <vector>

#include "rows/rows.hpp"
#include "error.hpp"
#include "prior/blocks.hpp"

namespace bayeskernel {

// The residuals of the rows belong to this class.
class OpenResiduals {
 public:
  // `residual`: of n rows; `share`: n x the point blocks of the prior, in their
  // order.
  OpenResiduals(VectorXd& residual, Index n, const Prior& prior, MatrixXd share)
      : residual_(residual), share_(std::move(share)) {
    for (std::size_t l = 0; l < prior.blocks.size(); ++l) {
      if (prior.blocks[l].kind == Block::Kind::point) blocks_.push_back(l);
    }
    if (share_.cols() != static_cast<Index>(blocks_.size()) ||
        share_.rows() != n) {
      throw ArgumentError("residuals of other rows or blocks");
    }
  }

  // The residuals at these precisions of the blocks.
  void set(const std::vector<MatrixXd>& precision) {
    variance_.resize(share_.cols());
    for (std::size_t c = 0; c < blocks_.size(); ++c) {
      variance_[static_cast<Index>(c)] = 1.0 / precision[blocks_[c]](0, 0);
    }
    residual_.noalias() = share_ * variance_;
  }
  // sigma_c^2, as they were set.
  double variance(Index c) const { return variance_[c]; }

  // d / d log sigma_l^2 of block l from the rows' derivatives in their
  // residuals; 0 for another kind of block.
  double slope(std::size_t l, const VectorXd& by_residual) const {
    const auto at = std::find(blocks_.begin(), blocks_.end(), l);
    if (at == blocks_.end()) return 0.0;
    const Index c = at - blocks_.begin();
    return variance_[c] * share_.col(c).dot(by_residual);
  }

  // The variances after a pass that left these weights and second moments.
  void update(const Prior& prior, const std::vector<MatrixXd>& moment,
              const VectorXd& kappa, std::vector<BlockPosterior>& q,
              std::vector<MatrixXd>& precision) const {
    const VectorXd open = share_.transpose() * kappa;
    for (std::size_t c = 0; c < blocks_.size(); ++c) {
      const std::size_t l = blocks_[c];
      q[l].value = Prior::point(prior.blocks[l], moment[l](0, 0),
                                open[static_cast<Index>(c)]);
      precision[l] = Prior::expected_precision(prior.blocks[l], q[l]);
    }
  }

 private:
  VectorXd& residual_;
  MatrixXd share_;
  VectorXd variance_;
  std::vector<std::size_t> blocks_;
};

}  // namespace bayeskernel

#endif
