#include "rows/moments.hpp"

namespace bayeskernel {
ColumnMoments::ColumnMoments(Index p)
    : mean(VectorXd::Zero(p)),
      sd(VectorXd::Zero(p)),
      minimum(VectorXd::Constant(p, std::numeric_limits<double>::infinity())),
      maximum(-minimum),
      missing(VectorXd::Zero(p)) {}

ColumnMoments column_moments(const MatrixRef& x) {
  constexpr Index kTile = 1024;
  ColumnMoments out(x.cols());
  ArrayXd copy(kTile);
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
