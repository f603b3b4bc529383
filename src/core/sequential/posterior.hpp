// What is left of particles when the stream rests: coefficients of each given
// its centres and variances, N(mean, covariance), which is all that prediction
// needs.
#pragma once

#include "eigen.hpp"
#include "kernel/columns.hpp"
#include "kernel/tree.hpp"
#include "parallel/executor.hpp"
#include "sequential/grid.hpp"
#include "sequential/particle.hpp"

namespace bayeskernel {
struct ParticlePosterior {
  MatrixXd points;                // d x centres that some particle has
  std::vector<Index> grid_point;  // where they are on the grid
  std::vector<Index> size;        // centres of each particle
  std::vector<Index> centre;      // their columns of `points`, one after
                                  // another
  std::vector<double> mean;       // size + 1 of each, the constant in front
  // (size + 1)^2 of each: R with the variance |R h|^2 of h'b, lower triangles;
  // or the covariance itself, as earlier versions kept it.
  std::vector<double> root, covariance;
  std::vector<double> noise, coefficient_variance;
};

ParticlePosterior posterior_of(const std::vector<Particle>& particles,
                               const Grid& grid, Index kmax,
                               bool blind = false);

// f at rows x (d x n) given each particle: means and variances, particles x n.
void particle_moments(const ParticlePosterior& posterior, const Kernel& kernel,
                      const MatrixRef& x, Executor& executor,
                      Eigen::Ref<MatrixXd> mean, Eigen::Ref<MatrixXd> variance);
}  // namespace bayeskernel
