#include "prior/blocks.hpp"

#include "error.hpp"
#include "math/spd.hpp"
#include "math/special.hpp"

namespace bayeskernel {
MatrixXd Block::second_moment(const VectorXd& theta) const {
  const MatrixMap own(theta.data() + first, width, members);
  return own * own.transpose();
}

void Prior::check() const {
  bool fits = mean.size() == columns();
  for (const Block& block : blocks) {
    const Index r = block.width;
    fits = fits && block.members >= 0 && r >= 1 &&
           (block.kind != Block::Kind::unstructured ||
            (block.scale.rows() == r && block.scale.cols() == r)) &&
           (block.coupled.size() == 0 ||
            (block.coupled.rows() == r && block.coupled.cols() == r)) &&
           (block.eliminated ||
            (block.first >= 0 && block.first + block.members * r <= columns()));
  }
  if (!fits) throw ArgumentError("a block of the prior has not its columns");
}

const Block* Prior::eliminated() const {
  for (const Block& block : blocks) {
    if (block.eliminated) return &block;
  }
  return nullptr;
}

bool Prior::learns() const {
  for (const Block& block : blocks) {
    if (block.kind != Block::Kind::held) return true;
  }
  return false;
}

std::vector<MatrixXd> Prior::start() const {
  std::vector<MatrixXd> out;
  for (const Block& block : blocks) {
    out.push_back(block.kind == Block::Kind::held
                      ? block.held_precision()
                      : MatrixXd::Identity(block.width, block.width));
  }
  return out;
}

const MatrixXd& Prior::eliminated_precision(
    const std::vector<MatrixXd>& block_precision) const {
  for (std::size_t l = 0; l < blocks.size(); ++l) {
    if (blocks[l].eliminated) return block_precision[l];
  }
  throw ArgumentError("groups without a block of their own");
}

void Prior::add_precision(const std::vector<MatrixXd>& block_precision,
                          MatrixXd& a) const {
  a.diagonal() += precision;
  for_kept([&](const Block& block, std::size_t l) {
    for (Index m = 0; m < block.members; ++m) {
      const Index at = block.first + m * block.width;
      a.block(at, at, block.width, block.width) += block_precision[l];
    }
  });
}

void Prior::subtract_gradient(const std::vector<MatrixXd>& block_precision,
                              const ArrowVector& at, ArrowVector& out) const {
  out.x.array() -= precision.array() * (at.x - mean).array();
  for_kept([&](const Block& block, std::size_t l) {
    for (Index m = 0; m < block.members; ++m) {
      const Index k = block.first + m * block.width;
      out.x.segment(k, block.width).noalias() -=
          block_precision[l] * at.x.segment(k, block.width);
    }
  });
  for (std::size_t l = 0; l < blocks.size(); ++l) {
    if (blocks[l].eliminated) {
      out.group.noalias() -= block_precision[l] * at.group;
    }
  }
}

double Prior::fixed_bound(const VectorXd& theta,
                          const VectorXd& variance) const {
  double sum = 0.0;
  for (Index k = 0; k < columns(); ++k) {
    if (precision[k] <= 0.0) continue;
    const double d = theta[k] - mean[k];
    sum += std::log(precision[k]) - precision[k] * (d * d + variance[k]);
  }
  return 0.5 * sum;
}

double Prior::point(const Block& block, double moment, double open) {
  const VariancePrior prior = block.variance();
  const double k = block.members_in_all() + 2.0 * prior.shape();
  double value = moment / k;
  // Of a half t q(xi) and the point take turns: the density rises.
  for (int step = 0; step < 500; ++step) {
    const double e = moment + 2.0 * prior.rate(1.0 / value);
    const double weight = std::max(open, -0.2 * k * k / e);
    const double last = value;
    value = 2.0 * e / (k + std::sqrt(k * k + 4.0 * weight * e));
    if (!prior.half_t() || std::abs(value - last) <= 1e-15 * value) break;
  }
  return value;
}

BlockPosterior Prior::posterior(const Block& block, const MatrixXd& moment,
                                const MatrixXd& current_precision) {
  BlockPosterior q;
  if (block.kind == Block::Kind::iid) {
    const VariancePrior prior = block.variance();
    const double count = block.members_in_all();
    const double all = moment(0, 0) + static_cast<double>(block.hidden) /
                                          current_precision(0, 0);
    q.shape = prior.shape() + 0.5 * count;
    q.rate = prior.half_t() ? q.shape / prior.precision(count, all)
                            : block.rate + 0.5 * all;
  } else if (block.kind == Block::Kind::point) {
    q.value = point(block, moment(0, 0), 0.0);
  } else if (block.kind == Block::Kind::unstructured) {
    const CovariancePrior prior = block.covariance();
    q.df = prior.df() + block.members_in_all();
    q.scale = prior.posterior_scale(block.members_in_all(), moment,
                                    current_precision);
  }
  return q;
}

MatrixXd Prior::expected_precision(const Block& block,
                                   const BlockPosterior& q) {
  switch (block.kind) {
    case Block::Kind::held:
      return block.held_precision();
    case Block::Kind::iid:
      return MatrixXd::Constant(1, 1, q.shape / q.rate);
    case Block::Kind::point:
      return MatrixXd::Constant(1, 1, 1.0 / q.value);
    default:
      return q.df * spd_inverse(q.scale, "the covariance of a random effect");
  }
}

double Prior::bound(const Block& block, const BlockPosterior& q,
                    const MatrixXd& moment, const MatrixXd& current_precision) {
  const double count = block.members_in_all();
  const double r = static_cast<double>(block.width);
  double value = 0.0;
  if (block.hidden > 0) {
    value -= 0.5 * static_cast<double>(block.hidden) *
             std::log(current_precision(0, 0));
  }
  if (block.kind == Block::Kind::held) {
    const MatrixXd known = block.held_precision();
    return value + 0.5 * count * spd_log_det(known) -
           0.5 * known.cwiseProduct(moment).sum() -
           0.5 * static_cast<double>(block.hidden);
  }
  if (block.kind == Block::Kind::point) {  // where q(theta, u) was formed
    const double precision = current_precision(0, 0);
    const double log_precision = std::log(precision);
    return value - 0.5 * (precision * moment(0, 0) - count * log_precision) +
           block.variance().log_density(-log_precision);
  }
  if (block.kind == Block::Kind::iid) {
    return value + block.variance().log_constant(q.shape / q.rate) +
           log_gamma(q.shape) - q.shape * std::log(q.rate);
  }
  const CovariancePrior prior = block.covariance();
  return value + prior.log_constant(count, q.scale) -
         0.5 * q.df * spd_log_det(q.scale) + 0.5 * count * r * std::log(2.0) +
         log_multivariate_gamma(0.5 * q.df, block.width) -
         log_multivariate_gamma(0.5 * prior.df(), block.width);
}
}  // namespace bayeskernel
