#include "linear/moments.hpp"

#include "linear/accumulate.hpp"
#include "linear/latent_values.hpp"

namespace bayeskernel {
void Moments::tile(const RowSource& rows, const TileSpan& span,
                   const Tile& tile, Scratch& scratch, double* m,
                   double* s) const {
  if (q == nullptr) {
    if (point != nullptr) {
      latent_values(rows, span, tile, *point, m);
      return;
    }
    Eigen::Map<VectorXd>(m, span.rows()) = tile.offset;
    Eigen::Map<VectorXd>(s, span.rows()).setOnes();
    return;
  }
  const Index p = tile.x.rows(), n = tile.x.cols();
  if (column_mean.size() == 0) {
    of_q(rows, span, tile, scratch.active, scratch.work, m, s);
  } else {
    if (scratch.scaled.rows() != p || scratch.scaled.cols() < n) {
      scratch.scaled.resize(p, n);
    }
    scratch.scaled.leftCols(n).noalias() = column_mean.asDiagonal() * tile.x;
    const Tile scaled{MatrixMap(scratch.scaled.data(), p, n),
                      tile.z,
                      tile.y,
                      tile.weight,
                      tile.offset,
                      tile.residual};
    of_q(rows, span, scaled, NonzeroColumns(), scratch.work, m, s);
  }
  for (Index k = 0; k < column_var.size(); ++k) {
    const double v = column_var[k];
    if (!(v > 0.0)) continue;
    const double* x = tile.x.data() + k;
    for (Index i = 0; i < n; ++i) s[i] += v * x[i * p] * x[i * p];
  }
}

void Moments::of_q(const RowSource& rows, const TileSpan& span,
                   const Tile& tile, const NonzeroColumns& active,
                   MatrixXd& work, double* m, double* s) const {
  tile_means(rows, span, tile, q->mean, m, active);
  q->tile_variances(rows, span, tile, work, s, active);
}
}  // namespace bayeskernel
