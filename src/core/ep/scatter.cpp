#include "ep/scatter.hpp"

namespace bayeskernel {
LineDensity::LineDensity(const std::vector<double>& at,
                         const std::vector<double>& value, double flatten) {
  const std::size_t n = at.size();
  if (n < 2 || value.size() != n) {
    throw ArgumentError("a density on a line needs two places");
  }
  std::vector<double> slope(n);
  for (std::size_t i = 0; i < n; ++i) slope[i] = slope_at(at, value, i);
  // Outwards it falls, by a nat in four of its units or more.
  slope[0] = std::max(slope[0], kLeastSlope);
  slope[n - 1] = std::min(slope[n - 1], -kLeastSlope);
  const double low = at[0] - kBeyond, high = at[n - 1] + kBeyond;
  width_ = (high - low) / kCells;
  low_ = low;
  std::vector<double> log_mass(kCells);
  std::size_t piece = 0;
  for (int c = 0; c < kCells; ++c) {
    const double z = low + (c + 0.5) * width_;
    while (piece + 2 < n && z > at[piece + 1]) ++piece;
    double v;
    if (z <= at[0]) {
      v = value[0] + slope[0] * (z - at[0]);
    } else if (z >= at[n - 1]) {
      v = value[n - 1] + slope[n - 1] * (z - at[n - 1]);
    } else {
      const double h = at[piece + 1] - at[piece];
      const double t = (z - at[piece]) / h, s = 1.0 - t;
      v = s * s * (1.0 + 2.0 * t) * value[piece] +
          t * t * (1.0 + 2.0 * s) * value[piece + 1] +
          h * s * t * (s * slope[piece] - t * slope[piece + 1]);
    }
    log_mass[c] = flatten * v;
  }
  const double most = *std::max_element(log_mass.begin(), log_mass.end());
  below_.assign(kCells + 1, 0.0);
  for (int c = 0; c < kCells; ++c) {
    below_[c + 1] = below_[c] + std::exp(log_mass[c] - most);
  }
  for (double& b : below_) b /= below_[kCells];
}

double LineDensity::quantile(double u) const {
  const Index c = cell_of(u);
  const double mass = below_[c + 1] - below_[c];
  return low_ + width_ * (static_cast<double>(c) + (u - below_[c]) / mass);
}

double LineDensity::log_density(double u) const {
  const Index c = cell_of(u);
  return std::log((below_[c + 1] - below_[c]) / width_);
}

double LineDensity::slope_at(const std::vector<double>& at,
                             const std::vector<double>& value, std::size_t i) {
  const auto secant = [&](std::size_t k) {
    return (value[k + 1] - value[k]) / (at[k + 1] - at[k]);
  };
  if (i == 0) return secant(0);
  if (i + 1 == at.size()) return secant(i - 1);
  const double before = at[i] - at[i - 1], after = at[i + 1] - at[i];
  return (after * secant(i - 1) + before * secant(i)) / (before + after);
}

Index LineDensity::cell_of(double u) const {
  const auto above = std::upper_bound(below_.begin(), below_.end(), u);
  const Index c = static_cast<Index>(above - below_.begin()) - 1;
  return std::clamp(c, Index{0}, Index{kCells - 1});
}

MatrixXd scattered_points(Index n, Index d) {
  constexpr std::array<Index, 8> kBase{2, 3, 5, 7, 11, 13, 17, 19};
  if (d > count_of(kBase)) {
    throw ArgumentError("points are spread over at most 8 dimensions");
  }
  MatrixXd out(d, n);
  std::vector<double> at(n);
  std::vector<Index> order(n);
  for (Index k = 0; k < d; ++k) {
    for (Index j = 0; j < n; ++j) {
      double digit = 1.0;
      at[j] = 0.0;
      for (Index rest = j + 1; rest > 0; rest /= kBase[k]) {
        digit /= static_cast<double>(kBase[k]);
        at[j] += digit * static_cast<double>(rest % kBase[k]);
      }
      order[j] = j;
    }
    std::sort(order.begin(), order.end(),
              [&](Index i, Index j) { return at[i] < at[j]; });
    for (Index rank = 0; rank < n; ++rank) {
      out(k, order[rank]) =
          (static_cast<double>(rank) + 0.5) / static_cast<double>(n);
    }
  }
  return out;
}
}  // namespace bayeskernel
