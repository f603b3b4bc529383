#include "linear/accumulate.hpp"

#include "simd/gram.hpp"

namespace bayeskernel {
void accumulate_curvature(const RowSource& rows, const TileSpan& span,
                          const Tile& tile, const NonzeroColumns& active,
                          const double* kappa, MatrixXd& scratch,
                          MatrixXd& gram, Curvature& out) {
  const Index p = tile.x.rows(), r = tile.z.rows();
  const VectorMap weight(kappa, span.rows());
  if (active.few()) {
    MatrixXd own = MatrixXd::Zero(active.size(), active.size());
    weighted_gram(active.x(), weight, scratch, own);
    active.add_lower(own, gram);
  } else {
    weighted_gram(tile.x, weight, scratch, gram);
  }
  const bool part = rows.is_part(span), few = active.few();
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
        if (few) {
          for (const Index j : active.index()) cross[j] += kz * x[j];
        } else {
          for (Index j = 0; j < p; ++j) cross[j] += kz * x[j];
        }
        for (Index j = 0; j < r; ++j) square[j] += kz * z[j];
      }
    }
  });
}

void accumulate_linear(const RowSource& rows, const TileSpan& span,
                       const Tile& tile, const NonzeroColumns& active,
                       const double* number, VectorXd& x_sum,
                       ArrowVector& out) {
  const Index r = tile.z.rows();
  const VectorMap numbers(number, span.rows());
  if (active.few()) {
    const VectorXd own = active.x() * numbers;
    for (Index k = 0; k < active.size(); ++k)
      x_sum[active.index()[k]] += own[k];
  } else if (tile.x.rows() > 0) {
    x_sum.noalias() += tile.x * numbers;
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
                const ArrowVector& point, double* f,
                const NonzeroColumns& active) {
  const Index r = tile.z.rows();
  Eigen::Map<VectorXd> mean(f, span.rows());
  mean = tile.offset;
  const Index p = tile.x.rows();
  if (active.few()) {
    mean.noalias() += active.x().transpose() * active.rows_of(point.x.head(p));
  } else if (p > 0) {
    mean.noalias() += tile.x.transpose() * point.x.head(p);
  }
  rows.add_sparse(span, point.x, f);
  rows.for_groups(span, [&](Index g, Index begin, Index end) {
    const double* u = point.group.data() + g * r;
    for (Index i = begin; i < end; ++i) {
      for (Index k = 0; k < r; ++k) f[i] += u[k] * tile.z.data()[i * r + k];
    }
  });
}
}  // namespace bayeskernel
