#include "gibbs/recorder.hpp"

#include "math/spd.hpp"
#include "rng/stream.hpp"
#include "rows/sums.hpp"

namespace bayeskernel {
Index Recorder::variables() const {
  Index count = center_.size() + (with_noise_ ? 1 : 0);
  for (std::size_t l = 0; l < prior_.blocks.size(); ++l) {
    const Block& block = prior_.blocks[l];
    if (is_random(l) && with_members_) count += block.members * block.width;
    if (block.kind != Block::Kind::held) {
      count += block.width * (block.width + 1) / 2;
    }
  }
  return count;
}

void Recorder::write(const GibbsState& state, std::uint64_t chain, double* out,
                     Index stride) const {
  const Index p = center_.size();
  VectorXd theta(p);
  const Index known = std::min(p, state.point.x.size());
  theta.head(known) = state.point.x.head(known);
  if (wide_.basis.size() > 0) complete(state, chain, theta);
  theta.array() /= scale_.array();
  if (intercept_) theta[0] -= theta.tail(p - 1).dot(center_.tail(p - 1));
  const auto put = [&](double value) {
    *out = value;
    out += stride;
  };
  for (Index k = 0; k < p; ++k) put(theta[k]);
  if (with_members_) {
    for (std::size_t l = 0; l < prior_.blocks.size(); ++l) {
      if (!is_random(l)) continue;
      const Block& block = prior_.blocks[l];
      const double* from = block.eliminated
                               ? state.point.group.data()
                               : state.point.x.data() + block.first;
      const MatrixMap members(from, block.width, block.members);
      for (Index m = 0; m < block.members; ++m) {
        for (Index k = 0; k < block.width; ++k) {
          put(transform_[l].row(k).dot(members.col(m)));
        }
      }
    }
  }
  for (std::size_t l = 0; l < prior_.blocks.size(); ++l) {
    const Block& block = prior_.blocks[l];
    if (block.kind == Block::Kind::held) continue;
    const Index r = block.width;
    MatrixXd covariance =
        spd_inverse(state.precision[l], "the precision of an effect");
    if (is_random(l)) {
      covariance = transform_[l] * covariance * transform_[l].transpose();
    }
    for (Index c = 0; c < r; ++c) {
      for (Index k = c; k < r; ++k) put(covariance(k, c));
    }
  }
  if (with_noise_) put(1.0 / state.noise);
}

void Recorder::complete(const GibbsState& state, std::uint64_t chain,
                        VectorXd& theta) const {
  const Index q = wide_.basis.rows(), n = wide_.basis.cols();
  double precision = 1.0;
  for (std::size_t l = 0; l < prior_.blocks.size(); ++l) {
    if (prior_.blocks[l].hidden > 0) precision = state.precision[l](0, 0);
  }
  Stream stream(seed_, chain, Purpose::predict, state.sweep, 0);
  VectorXd hidden(q);
  for (Index k = 0; k < q; ++k) hidden[k] = stream.normal();
  hidden /= std::sqrt(precision);
  const VectorXd seen =
      state.point.x.segment(wide_.first, n) - wide_.basis.transpose() * hidden;
  theta.segment(wide_.first, q) = hidden + wide_.basis * seen;
}
}  // namespace bayeskernel
