#include "sequential/posterior.hpp"

namespace bayeskernel {
ParticlePosterior posterior_of(const std::vector<Particle>& particles,
                               const Grid& grid, Index kmax, bool blind) {
  ParticlePosterior out;
  std::vector<Index> place(static_cast<std::size_t>(grid.points()), -1);
  ParticleWork work(kmax);
  for (const Particle& particle : particles) {
    work.load(particle, grid, 0.0, 0.0, blind);
    out.size.push_back(particle.size());
    for (const Index c : particle.centres) {
      if (place[c] < 0) {
        place[c] = count_of(out.grid_point);
        out.grid_point.push_back(c);
      }
      out.centre.push_back(place[c]);
    }
    const Index m = particle.size() + 1;
    const std::size_t means = out.mean.size(), roots = out.root.size();
    out.mean.resize(means + static_cast<std::size_t>(m));
    out.root.resize(roots + static_cast<std::size_t>(m * m));
    work.moments(out.mean.data() + means, out.root.data() + roots);
    out.noise.push_back(particle.noise);
    out.coefficient_variance.push_back(particle.coefficient_variance);
  }
  out.points.resize(grid.dimension(), count_of(out.grid_point));
  for (Index j = 0; j < out.points.cols(); ++j) {
    out.points.col(j) =
        VectorMap(grid.point(out.grid_point[j]), grid.dimension());
  }
  return out;
}

void particle_moments(const ParticlePosterior& posterior, const Kernel& kernel,
                      const MatrixRef& x, Executor& executor,
                      Eigen::Ref<MatrixXd> mean,
                      Eigen::Ref<MatrixXd> variance) {
  constexpr Index kBlock = 16;
  const Index n = x.cols(), count = count_of(posterior.size);
  const Index most =
      count ? *std::max_element(posterior.size.begin(), posterior.size.end())
            : 0;
  const KernelColumns columns(kernel, posterior.points);
  executor.run((n + kBlock - 1) / kBlock, [&](Index block) {
    KernelColumns::Scratch scratch;
    VectorXd value(posterior.points.cols()), row(most + 1), product(most + 1);
    for (Index i = block * kBlock; i < std::min(n, (block + 1) * kBlock); ++i) {
      if (value.size() > 0) {
        columns.block(x.data() + i * x.outerStride(), 1, scratch, value.data());
      }
      const Index* centre = posterior.centre.data();
      const double* beta = posterior.mean.data();
      const bool rooted = posterior.covariance.empty();
      const double* square =
          rooted ? posterior.root.data() : posterior.covariance.data();
      for (Index p = 0; p < count; ++p) {
        const Index m = posterior.size[p] + 1;
        row[0] = 1.0;
        for (Index j = 1; j < m; ++j) row[j] = value[centre[j - 1]];
        const MatrixMap at(square, m, m);
        const auto h = row.head(m);
        const double f = h.dot(VectorMap(beta, m));
        double v = 0.0;
        if (rooted) {
          product.head(m).noalias() = at.triangularView<Eigen::Lower>() * h;
          v = product.head(m).squaredNorm();
        } else {
          product.head(m).noalias() = at * h;
          v = h.dot(product.head(m));
        }
        mean(p, i) = f;
        variance(p, i) = std::max(v, 0.0);
        centre += m - 1;
        beta += m;
        square += m * m;
      }
    }
  });
}
}  // namespace bayeskernel
