// Where a chain of bark() begins.
#pragma once

#include "bark/basis.hpp"
#include "bark/kernel_moves.hpp"
#include "bark/population.hpp"
#include "bark/prior.hpp"
#include "bark/state.hpp"
#include "eigen.hpp"
#include "expansion/collapsed_gaussian.hpp"
#include "rng/distributions.hpp"
#include "rng/stream.hpp"

namespace bayeskernel {
double draw_varphi(const BarkPrior& prior, Stream& stream);

// As many kernels as the prior expects, at random places.
void start_by_prior(BarkState& state, Stream& stream);

// Coefficients are wide next to the response, three quarters of which the
// kernels are to explain. False without enough rows.
bool start_by_fit(BarkState& state, KernelMoves& moves, Stream& stream);
}  // namespace bayeskernel
