#include "sequential/resample.hpp"

#include "error.hpp"
#include "rng/distributions.hpp"

namespace bayeskernel {
double effective_size(const std::vector<double>& log_weight) {
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

double log_total_weight(const std::vector<double>& log_weight) {
  const double most = *std::max_element(log_weight.begin(), log_weight.end());
  if (!std::isfinite(most)) return most;
  double sum = 0.0;
  for (const double each : log_weight) sum += std::exp(each - most);
  return most + std::log(sum);
}

double log_mean_weight(const std::vector<double>& log_weight) {
  return log_total_weight(log_weight) -
         std::log(static_cast<double>(log_weight.size()));
}

namespace detail {
std::vector<double> sorted_uniforms(Stream& stream, Index count) {
  std::vector<double> out(static_cast<std::size_t>(count));
  double sum = 0.0;
  for (double& each : out) each = sum += stream.exponential();
  sum += stream.exponential();
  for (double& each : out) each /= sum;
  return out;
}
}  // namespace detail

std::vector<Index> resample(const std::vector<double>& log_weight,
                            Resampling scheme, Stream& stream) {
  const Index n = count_of(log_weight);
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
  std::vector<Index> out;
  out.reserve(weight.size());
  if (scheme == Resampling::systematic) {
    const double v = stream.uniform();
    detail::invert_weights(
        weight, total, n,
        [&](Index i) { return (static_cast<double>(i) + v) / size; }, out);
  } else if (scheme == Resampling::stratified) {
    detail::invert_weights(
        weight, total, n,
        [&](Index i) {
          return (static_cast<double>(i) + stream.uniform()) / size;
        },
        out);
  } else {
    if (scheme == Resampling::residual) {
      const double scale = size / total;
      total = 0.0;
      for (std::size_t i = 0; i < weight.size(); ++i) {
        const double copies = std::floor(weight[i] * scale);
        out.insert(out.end(), static_cast<std::size_t>(copies),
                   static_cast<Index>(i));
        total += weight[i] = weight[i] * scale - copies;
      }
    }
    const Index rest = n - count_of(out);
    const std::vector<double> u = detail::sorted_uniforms(stream, rest);
    detail::invert_weights(
        weight, total, rest,
        [&](Index i) { return u[static_cast<std::size_t>(i)]; }, out);
  }
  return out;
}
}  // namespace bayeskernel
