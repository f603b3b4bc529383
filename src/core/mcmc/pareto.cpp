#include "mcmc/pareto.hpp"

namespace bayeskernel {
double pareto_shape(const std::vector<double>& x) {
  const double n = static_cast<double>(x.size());
  const double quartile =
      x[static_cast<std::size_t>(std::floor(n / 4.0 + 0.5)) - 1];
  const int size = 30 + static_cast<int>(std::sqrt(n));
  const auto shape_at = [&](double theta) {
    double sum = 0.0;
    for (double v : x) sum += std::log1p(-theta * v);
    return sum / n;
  };
  ArrayXd theta(size), log_profile(size);
  for (int j = 0; j < size; ++j) {
    theta[j] =
        1.0 / x.back() + (1.0 - std::sqrt(size / (j + 0.5))) / (3.0 * quartile);
    const double k = shape_at(theta[j]);
    log_profile[j] = n * (std::log(-theta[j] / k) - k - 1.0);
  }
  const ArrayXd weight = (log_profile - log_profile.maxCoeff()).exp();
  return shape_at((theta * weight).sum() / weight.sum());
}

double pareto_k(const VectorXd& log_weight) {
  const double most = log_weight.maxCoeff();
  if (!log_weight.allFinite()) return std::numeric_limits<double>::infinity();
  const double draws = static_cast<double>(log_weight.size());
  const auto tail = static_cast<std::size_t>(
      std::ceil(std::min(0.2 * draws, 3.0 * std::sqrt(draws))));
  std::vector<double> sorted(log_weight.data(),
                             log_weight.data() + log_weight.size());
  std::sort(sorted.begin(), sorted.end());
  const std::size_t first = sorted.size() - tail;
  const double cut = std::exp(sorted[first - 1] - most);
  std::vector<double> exceedance;
  for (std::size_t j = first; j < sorted.size(); ++j) {
    exceedance.push_back(std::exp(sorted[j] - most) - cut);
  }
  const double least = 1e-14;  // all weights are one
  if (!(exceedance.back() > least)) return -0.5;
  for (double& v : exceedance) v = std::max(v, least * exceedance.back());
  const double n = static_cast<double>(tail);
  const double k = pareto_shape(exceedance);
  return (n * k + 10.0 * 0.5) / (n + 10.0);
}
}  // namespace bayeskernel
