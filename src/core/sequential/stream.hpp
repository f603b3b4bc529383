// A stream of rows through a filter, and the particles as columns of numbers.
#pragma once

#include "eigen.hpp"
#include "kernel/tree.hpp"
#include "optim/progress.hpp"
#include "parallel/executor.hpp"
#include "sequential/filter.hpp"
#include "sequential/posterior.hpp"

namespace bayeskernel {
// Rows are the columns of x, with the time that each took.
struct FilteredRows {
  std::vector<FilterStep> steps;
  bool interrupted = false;
};
FilteredRows filter_rows(ParticleFilter& filter, const MatrixRef& x,
                         const VectorRef& y, const KeepGoing& keep_going);

// Particles one after another; latent values (of classes) are columns.
struct ParticleColumns {
  std::vector<Index> size, centre;
  std::vector<double> noise, coefficient_variance;
  MatrixXd latent;

  static ParticleColumns of(const std::vector<Particle>& particles);
  std::vector<Particle> particles() const;
  // Whether a particle has a centre twice.
  bool repeats() const;
};

// Averages over particles at the columns of x: of f, and of the probability of
// the positive class where there are classes.
struct ParticleAverages {
  VectorXd mean, variance, probability, probability_sd;
};
ParticleAverages particle_averages(const ParticlePosterior& posterior,
                                   const Kernel& kernel, const MatrixRef& x,
                                   bool classes, Executor& executor);
}  // namespace bayeskernel
