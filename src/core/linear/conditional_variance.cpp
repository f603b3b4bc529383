#include "linear/conditional_variance.hpp"

#include "error.hpp"
#include "rows/rows.hpp"

namespace bayeskernel {
ConditionalVariance::ConditionalVariance(VectorXd& residual, Index n,
                                         const Prior& prior, MatrixXd relative)
    : residual_(residual), relative_(std::move(relative)) {
  for (std::size_t l = 0; l < prior.blocks.size(); ++l) {
    if (prior.blocks[l].kind == Block::Kind::point) blocks_.push_back(l);
  }
  if (relative_.cols() != count_of(blocks_) || relative_.rows() != n) {
    throw ArgumentError("residuals of other rows or blocks");
  }
}

void ConditionalVariance::set(const std::vector<MatrixXd>& precision) {
  variance_.resize(relative_.cols());
  for (std::size_t c = 0; c < blocks_.size(); ++c) {
    variance_[static_cast<Index>(c)] = 1.0 / precision[blocks_[c]](0, 0);
  }
  residual_.noalias() = relative_ * variance_;
}

double ConditionalVariance::slope(std::size_t l,
                                  const VectorXd& by_residual) const {
  const auto at = std::find(blocks_.begin(), blocks_.end(), l);
  if (at == blocks_.end()) return 0.0;
  const Index c = at - blocks_.begin();
  return variance_[c] * relative_.col(c).dot(by_residual);
}

void ConditionalVariance::update(const Prior& prior,
                                 const std::vector<MatrixXd>& moment,
                                 const VectorXd& kappa,
                                 std::vector<BlockPosterior>& q,
                                 std::vector<MatrixXd>& precision) const {
  const VectorXd open = relative_.transpose() * kappa;
  for (std::size_t c = 0; c < blocks_.size(); ++c) {
    const std::size_t l = blocks_[c];
    q[l].value = Prior::point(prior.blocks[l], moment[l](0, 0),
                              open[static_cast<Index>(c)]);
    precision[l] = Prior::expected_precision(prior.blocks[l], q[l]);
  }
}
}  // namespace bayeskernel
