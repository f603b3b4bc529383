// Mean, standard deviation and range of every column in one pass over memory.
#ifndef BAYESKERNEL_ROWS_MOMENTS_HPP
#define BAYESKERNEL_ROWS_MOMENTS_HPP

#include <algorithm>
#include <cmath>

#include "eigen.hpp"

namespace bayeskernel {

// `sd` has divisor n - 1 and is 0 for one row. `minimum` and `maximum` pass
// over NaN, which `missing` counts; an empty column has the range (Inf, -Inf).
struct ColumnMoments {
  explicit ColumnMoments(Eigen::Index p);

  Eigen::VectorXd mean, sd, minimum, maximum, missing;
};

// O(n p), no copy but of a tile, whose sums then have the same bits wherever
// the rows lie. Each tile stays in the first-level cache for its own two-pass
// moments; tiles are merged by the update of Chan, Golub and LeVeque (1983), so
// a large mean beside a small spread costs no digits.
inline ColumnMoments column_moments(
    const Eigen::Ref<const Eigen::MatrixXd>& x) {
  using Eigen::Index;
  constexpr Index kTile = 1024;
  ColumnMoments out(x.cols());
  Eigen::ArrayXd copy(kTile);
  for (Index j = 0; j < x.cols(); ++j) {
    double mean = 0.0;
    double squares = 0.0;
    for (Index start = 0; start < x.rows(); start += kTile) {
      const Index size = std::min(kTile, x.rows() - start);
      copy.head(size) = x.col(j).segment(start, size).array();
      const auto tile = copy.head(size);
      const double sum = tile.sum();
      if (std::isfinite(sum)) {
        out.minimum(j) = std::min(out.minimum(j), tile.minCoeff());
        out.maximum(j) = std::max(out.maximum(j), tile.maxCoeff());
      } else {
        for (Index i = 0; i < size; ++i) {
          if (std::isnan(tile(i))) {
            out.missing(j) += 1.0;
          } else {
            out.minimum(j) = std::min(out.minimum(j), tile(i));
            out.maximum(j) = std::max(out.maximum(j), tile(i));
          }
        }
      }
      const double tile_mean = sum / static_cast<double>(size);
      const double before = static_cast<double>(start);
      const double after = before + static_cast<double>(size);
      const double gap = tile_mean - mean;
      squares += (tile - tile_mean).square().sum() +
                 gap * gap * (before * static_cast<double>(size) / after);
      mean += gap * (static_cast<double>(size) / after);
    }
    out.mean(j) = mean;
    if (x.rows() > 1) {
      out.sd(j) = std::sqrt(squares / static_cast<double>(x.rows() - 1));
    }
  }
  return out;
}

}  // namespace bayeskernel

#endif
