// What is left of particles when the stream rests: coefficients of each given
// its centres and variances, N(mean, covariance), which is all that prediction
// needs.
#ifndef BAYESKERNEL_SEQUENTIAL_POSTERIOR_HPP
#define BAYESKERNEL_SEQUENTIAL_POSTERIOR_HPP

#include <algorithm>
#include <vector>

#include "eigen.hpp"
#include "kernel/columns.hpp"
#include "kernel/tree.hpp"
#include "parallel/executor.hpp"
#include "sequential/grid.hpp"
#include "sequential/particle.hpp"

namespace bayeskernel {

struct ParticlePosterior {
  MatrixXd points;                 // d x centres that some particle has
  std::vector<Index> grid_point;   // where they are on the grid
  std::vector<Index> size;         // centres of each particle
  std::vector<Index> centre;       // their columns of `points`, one after
                                   // another
  std::vector<double> mean;        // size + 1 of each, the constant in front
  // (size + 1)^2 of each: R with the variance |R h|^2 of h'b, lower triangles;
  // or the covariance itself, as earlier versions kept it.
  std::vector<double> root, covariance;
  std::vector<double> noise, spread;
};

ParticlePosterior posterior_of(const std::vector<Particle>& particles,
                                      const Grid& grid, Index kmax,
                                      bool blind = false);

// f at rows x (d x n) given each particle: means and variances, particles x n.
inline void particle_moments(const ParticlePosterior& posterior,
                             const Kernel& kernel,
                             const Eigen::Ref<const MatrixXd>& x,
                             Executor& executor, Eigen::Ref<MatrixXd> mean,
                             Eigen::Ref<MatrixXd> variance) {
  constexpr Index kBlock = 16;
  const Index n = x.cols(), count = static_cast<Index>(posterior.size.size());
  const Index most =
      count ? *std::max_element(posterior.size.begin(), posterior.size.end())
            : 0;
  const KernelColumns columns(kernel, posterior.points);
  executor.run((n + kBlock - 1) / kBlock, [&](Index block) {
    KernelColumns::Scratch scratch;
    VectorXd value(posterior.points.cols()), row(most + 1),
          product(most + 1);
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
        const Eigen::Map<const MatrixXd> at(square, m, m);
        const auto h = row.head(m);
        const double f = h.dot(Eigen::Map<const VectorXd>(beta, m));
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

#endif
