#include "linear/accumulate.hpp"

#include <algorithm>

#include "simd/gram.hpp"

namespace bayeskernel {

void accumulate_curvature(const RowSource& rows, const TileSpan& span,
                          const Tile& tile, const double* kappa,
                          MatrixXd& scratch, MatrixXd& gram, Curvature& out) {
  const Index p = tile.x.rows(), r = tile.z.rows();
  weighted_gram(tile.x, Eigen::Map<const VectorXd>(kappa, span.rows()), scratch,
                gram);
  const bool part = rows.is_part(span);
  rows.for_groups(span, [&](Index g, Index begin, Index end) {
    const Index at = part ? 0 : g;
    for (Index k = 0; k < r; ++k) {
      double* cross = out.cross.data() + (at * r + k) * p;
      double* square = out.group_gram.data() + (at * r + k) * r;
      if (!part) {
        std::fill(cross, cross + p, 0.0);
        std::fill(square, square + r, 0.0);
      }
      for (Index i = begin; i < end; ++i) {
        const double* z = tile.z.data() + i * r;
        const double* x = tile.x.data() + i * p;
        const double kz = kappa[i] * z[k];
        for (Index j = 0; j < p; ++j) cross[j] += kz * x[j];
        for (Index j = 0; j < r; ++j) square[j] += kz * z[j];
      }
    }
  });
}

void accumulate_linear(const RowSource& rows, const TileSpan& span,
                       const Tile& tile, const double* number, VectorXd& x_sum,
                       ArrowVector& out) {
  const Index r = tile.z.rows();
  if (tile.x.rows() > 0) {
    x_sum.noalias() += tile.x * Eigen::Map<const VectorXd>(number, span.rows());
  }
  const bool part = rows.is_part(span);
  rows.for_groups(span, [&](Index g, Index begin, Index end) {
    for (Index k = 0; k < r; ++k) {
      double sum = 0.0;
      for (Index i = begin; i < end; ++i) {
        sum += number[i] * tile.z.data()[i * r + k];
      }
      if (part) {
        out.group(k, 0) += sum;
      } else {
        out.group(k, g) = sum;
      }
    }
  });
}

void tile_means(const RowSource& rows, const TileSpan& span, const Tile& tile,
                const ArrowVector& point, double* f) {
  const Index r = tile.z.rows();
  Eigen::Map<VectorXd> mean(f, span.rows());
  mean = tile.offset;
  const Index p = tile.x.rows();
  if (p > 0) mean.noalias() += tile.x.transpose() * point.x.head(p);
  rows.add_sparse(span, point.x, f);
  rows.for_groups(span, [&](Index g, Index begin, Index end) {
    const double* u = point.group.data() + g * r;
    for (Index i = begin; i < end; ++i) {
      for (Index k = 0; k < r; ++k) f[i] += u[k] * tile.z.data()[i * r + k];
    }
  });
}

}  // namespace bayeskernel
