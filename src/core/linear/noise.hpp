// q(v) of the noise variance of Gaussian rows, beside those of the blocks'
// variances.
#pragma once

#include <cmath>

#include "likelihood/family.hpp"

namespace bayeskernel {
struct NoisePosterior {
  double shape = 0.0, rate = 0.0;  // v ~ IG, when learned
  double precision = 1.0;          // E[1/v]

  // What rows see of it. Where E log v is not asked for, it cancels below.
  Noise noise() const { return {precision, -std::log(precision)}; }
};

// Where an iteration starts.
NoisePosterior start_noise(const NoisePrior& prior);

// q(v) after a pass that saw E[1/v] = `seen` and v's logarithm to match, and
// left these sums of kappa and of kappa E(y - f)^2. What is returned takes the
// rows' part of the bound to that of the new q(v), its own terms included.
double update_noise(const NoisePrior& prior, double seen, double power,
                    double squares, NoisePosterior& q);
}  // namespace bayeskernel
