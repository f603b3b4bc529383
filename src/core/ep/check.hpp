// Whether the posterior is as Gaussian as EP has it: k of the importance
// weights of draws from q(theta, u) towards prior times likelihood, at the
// fit's variances. Small models only: in more than some 30 dimensions k says
// nothing even where EP is right.
#pragma once

#include "eigen.hpp"
#include "ep/fit.hpp"
#include "likelihood/likelihood.hpp"
#include "linear/gaussian.hpp"
#include "mcmc/pareto.hpp"
#include "parallel/executor.hpp"
#include "prior/blocks.hpp"
#include "rng/stream.hpp"
#include "rows/rows.hpp"
#include "rows/sums.hpp"
#include "rows/sweep.hpp"

namespace bayeskernel {
// NaN where it is not checked: too many dimensions or rows, rows with a
// residual, completions. O(draws rows (p + r)).
double importance_k(EpFit& fit, Executor& executor, std::uint64_t seed);
}  // namespace bayeskernel
