#include "mcmc/convergence.hpp"

#include "math/normal.hpp"
#include "mcmc/autocovariance.hpp"

namespace bayeskernel {
namespace detail {
MatrixXd split_chains(MatrixRef x) {
  const Index half = x.rows() / 2;
  MatrixXd split(half, 2 * x.cols());
  split << x.topRows(half), x.bottomRows(half);
  return split;
}

MatrixXd normal_scores(MatrixRef x) {
  const Index size = x.size();
  std::vector<std::pair<double, Index>> order(size);
  MatrixXd scores = x;
  for (Index i = 0; i < size; ++i) order[i] = {scores.data()[i], i};
  std::sort(order.begin(), order.end());
  for (Index first = 0, last; first < size; first = last) {
    last = first + 1;
    while (last < size && order[last].first == order[first].first) ++last;
    const double rank = 0.5 * (first + 1 + last);
    const double score = normal_quantile((rank - 0.375) / (size + 0.25));
    for (Index i = first; i < last; ++i) {
      scores.data()[order[i].second] = score;
    }
  }
  return scores;
}

double sample_variance(VectorRef x) {
  return (x.array() - x.mean()).square().sum() / (x.size() - 1);
}

double split_rhat(MatrixRef x) {
  if (is_constant(x)) return kMissing;
  const double n = static_cast<double>(x.rows());
  const VectorXd means = x.colwise().mean();
  double within = 0.0;
  for (Index chain = 0; chain < x.cols(); ++chain) {
    within += sample_variance(x.col(chain)) / x.cols();
  }
  const double between = n * sample_variance(means);
  return std::sqrt((between / within + n - 1.0) / n);
}

double split_ess(MatrixRef x) {
  const Index n = x.rows();
  if (n < 3 || is_constant(x)) return kMissing;
  Autocovariance autocovariance(x);
  const double within = autocovariance(0) * n / (n - 1.0);
  const VectorXd means = x.colwise().mean();
  const double total = autocovariance(0) + sample_variance(means);
  const auto correlation = [&](Index lag) {
    return 1.0 - (within - autocovariance(lag)) / total;
  };

  std::vector<double> rho{1.0, correlation(1)};
  double even = rho[0], odd = rho[1];
  Index last = 0;
  while (last < n - 5 && even + odd > 0.0) {
    last += 2;
    even = correlation(last);
    odd = correlation(last + 1);
    const bool keep = even + odd >= 0.0;
    rho.push_back(keep ? even : 0.0);
    rho.push_back(keep ? odd : 0.0);
  }
  if (even > 0.0) rho[last] = even;
  for (Index lag = 2; lag <= last - 2; lag += 2) {
    const double before = rho[lag - 2] + rho[lag - 1];
    if (rho[lag] + rho[lag + 1] > before) rho[lag] = rho[lag + 1] = before / 2;
  }
  double time = -1.0 + rho[last];
  // At least lag 0 is counted twice, also when it is the last one.
  const Index counted = std::max<Index>(last, 1);
  for (Index lag = 0; lag < counted; ++lag) time += 2.0 * rho[lag];
  const double draws = static_cast<double>(x.size());
  return draws / std::max(time, 1.0 / std::log10(draws));
}

double quantile(std::vector<double>& values, double probability) {
  const double position = (values.size() - 1) * probability + 1.0;
  const double below = std::floor(position);
  const auto lower = values.begin() + static_cast<std::ptrdiff_t>(below) - 1;
  std::nth_element(values.begin(), lower, values.end());
  if (position == below) return *lower;
  const double upper = *std::min_element(lower + 1, values.end());
  const double h = position - below;
  return upper == *lower ? upper : (1.0 - h) * *lower + h * upper;
}
}  // namespace detail

Convergence convergence(MatrixRef draws) {
  using detail::split_chains, detail::split_ess, detail::split_rhat;
  Convergence result;
  if (draws.rows() < 4 || !draws.allFinite()) return result;
  MatrixXd centred = draws;
  std::vector<double> values(centred.data(), centred.data() + centred.size());
  centred.array() -= detail::quantile(values, 0.5);
  const MatrixXd scores = detail::normal_scores(split_chains(draws));
  const double bulk = split_rhat(scores);
  const double tail =
      split_rhat(detail::normal_scores(split_chains(centred).cwiseAbs()));
  result.rhat = std::isnan(tail) ? tail : std::max(bulk, tail);
  result.ess_bulk = split_ess(scores);
  result.ess_mean = split_ess(split_chains(centred));
  const VectorMap all(centred.data(), centred.size());
  result.mcse_mean = std::sqrt(detail::sample_variance(all) / result.ess_mean);

  if (detail::is_constant(draws)) return result;
  const auto indicator_ess = [&](double probability) {
    const double q = detail::quantile(values, probability);
    return split_ess(
        split_chains((draws.array() <= q).cast<double>().matrix()));
  };
  const double low = indicator_ess(0.05);
  const double high = indicator_ess(0.95);
  result.ess_tail = std::isnan(low) ? low : std::min(high, low);
  return result;
}
}  // namespace bayeskernel
