#include "sequential/subset_prior.hpp"

namespace bayeskernel {
SubsetPrior::SubsetPrior(double lambda, Index kmax, double rate)
    : lambda_(lambda), kmax_(kmax), rate_(rate) {
  reach(kmax);
  double sum = 0.0, peak = 0.0;
  for (Index j = 0; j <= kmax; ++j) {
    const double term = log_power(j);
    if (term > peak) {
      sum *= std::exp(peak - term);
      peak = term;
    }
    sum += std::exp(term - peak);
    log_total_.push_back(peak + std::log(sum));
  }
}

void SubsetPrior::reach(Index g) {
  while (count_of(log_factorial_) <= g) {
    const double n = static_cast<double>(log_factorial_.size());
    log_factorial_.push_back(n < 1.0 ? 0.0
                                     : log_factorial_.back() + std::log(n));
  }
}

double SubsetPrior::log(Index k, Index g) const {
  if (k > most(g)) return -std::numeric_limits<double>::infinity();
  return log_power(k) - log_total_[most(g)] - log_choose(k, g);
}

double SubsetPrior::birth(Index k, Index g) const {
  if (k >= most(g)) return 0.0;
  return rate_ * std::min(1.0, lambda_ / static_cast<double>(k + 1));
}

double SubsetPrior::death(Index k) const {
  if (k == 0) return 0.0;
  return rate_ * std::min(1.0, static_cast<double>(k) / lambda_);
}

double SubsetPrior::printed_ratio(Index k, Index next, Index g) const {
  if (k == 0 || next == k) return 0.0;
  const double from = static_cast<double>(k);
  return next > k ? std::log(lambda_ / from * static_cast<double>(g - k))
                  : std::log((from - 1.0) / lambda_ * from);
}
}  // namespace bayeskernel
