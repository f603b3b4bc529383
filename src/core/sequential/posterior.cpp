#include "sequential/posterior.hpp"

#include <cstddef>
#include <vector>

#include "eigen.hpp"
#include "math/normal.hpp"
#include "parallel/executor.hpp"
#include "sequential/grid.hpp"
#include "sequential/particle.hpp"

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
        place[c] = static_cast<Index>(out.grid_point.size());
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
    out.spread.push_back(particle.spread);
  }
  out.points.resize(grid.dimension(),
                    static_cast<Index>(out.grid_point.size()));
  for (Index j = 0; j < out.points.cols(); ++j) {
    out.points.col(j) = Eigen::Map<const VectorXd>(
        grid.point(out.grid_point[j]), grid.dimension());
  }
  return out;
}

}  // namespace bayeskernel
