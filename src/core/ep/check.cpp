#include "ep/check.hpp"

namespace bayeskernel {
double importance_k(EpFit& fit, Executor& executor, std::uint64_t seed) {
  constexpr Index kMostDimensions = 30;
  constexpr Index kDraws = 2000;
  constexpr double kMostWork = 1e7;  // likelihoods
  const RowSource& rows = fit.rows();
  const GaussianPosterior& q = fit.posterior();
  const Index p = q.mean.x.size(), r = q.mean.group.rows();
  const Index groups = q.mean.group.cols();
  const double n = static_cast<double>(rows.rows());
  if (p + r * groups > kMostDimensions || n * kDraws > kMostWork ||
      fit.completions() != nullptr || fit.residuals()) {
    return std::numeric_limits<double>::quiet_NaN();
  }
  Stream stream(seed, 0, Purpose::check, 0, 0);
  MatrixXd theta(p, kDraws), effects(r * groups, kDraws);
  VectorXd log_weight = VectorXd::Zero(kDraws);
  ArrowVector draw(p, r, groups), gradient(p, r, groups);
  const ArrowVector none(p, r, groups);
  for (Index s = 0; s < kDraws; ++s) {
    double squares = 0.0;
    const auto normal = [&] {
      const double z = stream.normal();
      squares += z * z;
      return z;
    };
    fit.sample_noise(none, normal, draw);
    draw.x += q.mean.x;
    draw.group += q.mean.group;
    theta.col(s) = draw.x;
    effects.col(s) = draw.effects();
    // -(1/2) (draw - mu0)'Lambda (draw - mu0).
    gradient.x.setZero();
    gradient.group.setZero();
    fit.prior().subtract_gradient(fit.precisions(), draw, gradient);
    draw.x -= fit.prior().mean;
    log_weight[s] = 0.5 * (gradient.dot(draw) + squares);
  }
  std::vector<VectorXd> part(rows.blocks());
  Sweep{rows, executor, nullptr}.run([&](Index block, Index) {
    part[block] = VectorXd::Zero(kDraws);
    MatrixXd buffer, f;
    for (const TileSpan& span : rows.block_tiles(block)) {
      const Tile tile = rows.tile(span, buffer);
      f.noalias() = theta.transpose() * tile.x;  // draws x rows
      rows.for_groups(span, [&](Index g, Index begin, Index end) {
        f.middleCols(begin, end - begin).noalias() +=
            effects.middleRows(g * r, r).transpose() *
            tile.z.middleCols(begin, end - begin);
      });
      for (Index i = 0; i < span.rows(); ++i) {
        const double offset = tile.offset[i], w = tile.weight[i];
        for (Index s = 0; s < kDraws; ++s) {
          part[block][s] +=
              w * log_likelihood(fit.family(), tile.y[i], f(s, i) + offset,
                                 fit.noise_variance());
        }
      }
    }
  });
  for (const VectorXd& one : part) log_weight += one;
  // Weights that hardly vary need no tail; that of such a one, in which little
  // but the skewness is left, looks long in one or two dimensions.
  const VectorXd weight = (log_weight.array() - log_weight.maxCoeff()).exp();
  const double lost =
      1.0 - weight.sum() * weight.sum() /
                (static_cast<double>(kDraws) * weight.squaredNorm());
  const double k = pareto_k(log_weight);
  return lost < 0.1 ? std::min(k, lost) : k;
}
}  // namespace bayeskernel
