// Sums of one tile into the statistics of a pass. Per row
// p (p + 1) / 2 + p r + r^2 multiply-adds.
#ifndef BAYESKERNEL_HINGE_ACCUMULATE_HPP
#define BAYESKERNEL_HINGE_ACCUMULATE_HPP

#include <Eigen/Core>

#include "../data/rows.hpp"
#include "../math/gram.hpp"
#include "statistics.hpp"

namespace bayeskernel {

// gram += sum kappa x x' and, for the groups of the tile, cross_g and
// group_gram_g, which are set (a group lies in one tile).
inline void accumulate_curvature(const RowSource& rows, const TileSpan& span,
                                 const Tile& tile, const double* kappa,
                                 MatrixXd& scratch, MatrixXd& gram,
                                 Curvature& out) {
  const Index n = span.row_end - span.row_begin;
  const Index p = tile.x.rows(), r = tile.z.rows();
  weighted_gram(tile.x, Eigen::Map<const VectorXd>(kappa, n), scratch, gram);
  for (Index g = span.group_begin; g < span.group_end; ++g) {
    const Index begin = rows.group_begin(g) - span.row_begin;
    const Index end = rows.group_begin(g + 1) - span.row_begin;
    for (Index k = 0; k < r; ++k) {
      double* cross = out.cross.data() + (g * r + k) * p;
      double* square = out.group_gram.data() + (g * r + k) * r;
      std::fill(cross, cross + p, 0.0);
      std::fill(square, square + r, 0.0);
      for (Index i = begin; i < end; ++i) {
        const double* z = tile.z.data() + i * r;
        const double* x = tile.x.data() + i * p;
        const double kz = kappa[i] * z[k];
        for (Index j = 0; j < p; ++j) cross[j] += kz * x[j];
        for (Index j = 0; j < r; ++j) square[j] += kz * z[j];
      }
    }
  }
}

// x_sum += sum shift x; the groups of the tile are set.
inline void accumulate_shift(const RowSource& rows, const TileSpan& span,
                             const Tile& tile, const double* shift,
                             VectorXd& x_sum, ArrowVector& out) {
  const Index n = span.row_end - span.row_begin;
  const Index p = tile.x.rows(), r = tile.z.rows();
  if (p > 0) {
    x_sum.noalias() += tile.x * Eigen::Map<const VectorXd>(shift, n);
  }
  for (Index g = span.group_begin; g < span.group_end; ++g) {
    const Index begin = rows.group_begin(g) - span.row_begin;
    const Index end = rows.group_begin(g + 1) - span.row_begin;
    for (Index k = 0; k < r; ++k) {
      double sum = 0.0;
      for (Index i = begin; i < end; ++i) {
        sum += shift[i] * tile.z.data()[i * r + k];
      }
      out.group(k, g) = sum;
    }
  }
}

// f = offset + x'theta + z'u_g for the rows of a tile.
inline void tile_means(const RowSource& rows, const TileSpan& span,
                       const Tile& tile, const ArrowVector& point, double* f) {
  const Index n = span.row_end - span.row_begin;
  const Index r = tile.z.rows();
  Eigen::Map<VectorXd> mean(f, n);
  mean = tile.offset;
  if (tile.x.rows() > 0) mean.noalias() += tile.x.transpose() * point.x;
  for (Index g = span.group_begin; g < span.group_end; ++g) {
    const Index begin = rows.group_begin(g) - span.row_begin;
    const Index end = rows.group_begin(g + 1) - span.row_begin;
    const double* u = point.group.data() + g * r;
    for (Index i = begin; i < end; ++i) {
      for (Index k = 0; k < r; ++k) f[i] += u[k] * tile.z.data()[i * r + k];
    }
  }
}

}  // namespace bayeskernel

#endif
