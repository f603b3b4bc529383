// Points for integrals over many variances, where a lattice would have too
// many: spread evenly over the unit cube, and mapped to each axis by a density
// that was learned on a line along it. What the product of these misses is made
// up for by weights.
#ifndef BAYESKERNEL_EP_SCATTER_HPP
#define BAYESKERNEL_EP_SCATTER_HPP

#include <algorithm>
#include <array>
#include <cstddef>
#include <vector>

#include "eigen.hpp"
#include "error.hpp"

namespace bayeskernel {

// A density whose logarithm is known at some places, piecewise cubic between
// them and straight beyond. It is a histogram of many cells, so that densities
// are those of the quantiles.
class LineDensity {
 public:
  // `at` increases. The log density is shrunk by `flatten`: what is known along
  // a line through the mode is narrower than what is seen from aside.
  LineDensity(const std::vector<double>& at, const std::vector<double>& value,
              double flatten);

  // Of 0 < u < 1.
  double quantile(double u) const;
  // Log density at that quantile.
  double log_density(double u) const;

 private:
  static constexpr int kCells = 800;
  static constexpr double kBeyond = 3.0, kLeastSlope = 0.25;

  static double slope_at(const std::vector<double>& at,
                         const std::vector<double>& value, std::size_t i);

  Index cell_of(double u) const;

  double low_ = 0.0, width_ = 1.0;
  std::vector<double> below_;  // of the left end of each cell
};

// n points spread over the unit cube of d <= 8 dimensions, d x n: Halton's, by
// their ranks along each axis, so that each part of it has its share of them.
inline Eigen::MatrixXd spread_points(Index n, Index d) {
  constexpr std::array<Index, 8> kBase{2, 3, 5, 7, 11, 13, 17, 19};
  if (d > static_cast<Index>(kBase.size())) {
    throw ArgumentError("points are spread over at most 8 dimensions");
  }
  Eigen::MatrixXd out(d, n);
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

#endif
