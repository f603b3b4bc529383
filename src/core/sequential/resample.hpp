// Weights of particles, and the ways of drawing their offspring, all with
// expected counts N w_i / sum w. One cumulative sum, O(N), nothing is sorted.
#pragma once

#include "eigen.hpp"
#include "rng/stream.hpp"

namespace bayeskernel {
enum class Resampling { systematic, stratified, residual, multinomial };

// (sum w)^2 / sum w^2 from log weights; 0 where no weight is left.
double effective_size(const std::vector<double>& log_weight);

// log of the sum of the weights, and of their mean.
double log_total_weight(const std::vector<double>& log_weight);
double log_mean_weight(const std::vector<double>& log_weight);

namespace detail {
// Appends `count` ancestors to `out`: u_i falls into the weights' cumulative
// sum, for increasing u_i = position(i) in (0, 1).
template <class Position>
void invert_weights(const std::vector<double>& weight, double total,
                    Index count, Position&& position, std::vector<Index>& out) {
  std::size_t at = 0;
  double reached = weight[0];
  for (Index i = 0; i < count; ++i) {
    const double target = position(i) * total;
    while (reached < target && at + 1 < weight.size()) reached += weight[++at];
    out.push_back(static_cast<Index>(at));
  }
}

// Increasing uniforms: partial sums of exponentials over their whole sum.
std::vector<double> sorted_uniforms(Stream& stream, Index count);
}  // namespace detail

// The parents of as many particles as there are weights.
std::vector<Index> resample(const std::vector<double>& log_weight,
                            Resampling scheme, Stream& stream);
}  // namespace bayeskernel
