// Points for integrals over many variances, where a grid would have too
// many: spread evenly over the unit cube, and mapped to each axis by a density
// that was learned on a line along it. What the product of these misses is made
// up for by weights.
#pragma once

#include <array>

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
MatrixXd scattered_points(Index n, Index d);
}  // namespace bayeskernel
