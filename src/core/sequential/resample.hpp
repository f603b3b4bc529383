// Weights of particles, and the ways of drawing their offspring, all with
// expected counts N w_i / sum w. One cumulative sum, O(N), nothing is sorted.
#ifndef BAYESKERNEL_SEQUENTIAL_RESAMPLE_HPP
#define BAYESKERNEL_SEQUENTIAL_RESAMPLE_HPP

#include <Eigen/Core>
#include <algorithm>
#include <cmath>
#include <vector>

#include "error.hpp"
#include "rng/distributions.hpp"

namespace bayeskernel {

enum class Resampling { systematic, stratified, residual, multinomial };

// (sum w)^2 / sum w^2 from log weights; 0 where no weight is left.
inline double effective_size(const std::vector<double>& log_weight) {
  const double most = *std::max_element(log_weight.begin(), log_weight.end());
  if (!std::isfinite(most)) return 0.0;
  double sum = 0.0, squares = 0.0;
  for (const double each : log_weight) {
    const double w = std::exp(each - most);
    sum += w;
    squares += w * w;
  }
  return sum * sum / squares;
}

// log of the mean weight.
inline double log_mean_weight(const std::vector<double>& log_weight) {
  const double most = *std::max_element(log_weight.begin(), log_weight.end());
  if (!std::isfinite(most)) return most;
  double sum = 0.0;
  for (const double each : log_weight) sum += std::exp(each - most);
  return most + std::log(sum / static_cast<double>(log_weight.size()));
}

namespace detail {

// Appends `count` ancestors to `out`: u_i falls into the weights' cumulative
// sum, for increasing u_i = position(i) in (0, 1).
template <class Position>
void invert_weights(const std::vector<double>& weight, double total,
                    Eigen::Index count, Position&& position,
                    std::vector<Eigen::Index>& out) {
  std::size_t at = 0;
  double reached = weight[0];
  for (Eigen::Index i = 0; i < count; ++i) {
    const double target = position(i) * total;
    while (reached < target && at + 1 < weight.size()) reached += weight[++at];
    out.push_back(static_cast<Eigen::Index>(at));
  }
}

// Increasing uniforms: partial sums of exponentials over their whole sum.
inline std::vector<double> sorted_uniforms(Stream& stream, Eigen::Index count) {
  std::vector<double> out(static_cast<std::size_t>(count));
  double sum = 0.0;
  for (double& each : out) each = sum += stream.exponential();
  sum += stream.exponential();
  for (double& each : out) each /= sum;
  return out;
}

}  // namespace detail

// The parents of as many particles as there are weights.
inline std::vector<Eigen::Index> resample(const std::vector<double>& log_weight,
                                          Resampling scheme, Stream& stream) {
  const Eigen::Index n = static_cast<Eigen::Index>(log_weight.size());
  const double size = static_cast<double>(n);
  const double most = *std::max_element(log_weight.begin(), log_weight.end());
  if (!std::isfinite(most)) {
    throw NumericError("no particle explains the data");
  }
  std::vector<double> weight(log_weight.size());
  double total = 0.0;
  for (std::size_t i = 0; i < weight.size(); ++i) {
    total += weight[i] = std::exp(log_weight[i] - most);
  }
  std::vector<Eigen::Index> out;
  out.reserve(weight.size());
  if (scheme == Resampling::systematic) {
    const double v = stream.uniform();
    detail::invert_weights(weight, total, n, [&](Eigen::Index i) {
      return (static_cast<double>(i) + v) / size;
    }, out);
  } else if (scheme == Resampling::stratified) {
    detail::invert_weights(weight, total, n, [&](Eigen::Index i) {
      return (static_cast<double>(i) + stream.uniform()) / size;
    }, out);
  } else {
    if (scheme == Resampling::residual) {
      const double scale = size / total;
      total = 0.0;
      for (std::size_t i = 0; i < weight.size(); ++i) {
        const double copies = std::floor(weight[i] * scale);
        out.insert(out.end(), static_cast<std::size_t>(copies),
                   static_cast<Eigen::Index>(i));
        total += weight[i] = weight[i] * scale - copies;
      }
    }
    const Eigen::Index rest = n - static_cast<Eigen::Index>(out.size());
    const std::vector<double> u = detail::sorted_uniforms(stream, rest);
    detail::invert_weights(
        weight, total, rest,
        [&](Eigen::Index i) { return u[static_cast<std::size_t>(i)]; }, out);
  }
  return out;
}

}  // namespace bayeskernel

#endif
