// E f and Var f of rows, as a pass asks for them tile by tile: under q(theta,
// u), at a draw, or before there is either. Columns may be in the model with a
// probability: they enter times its mean, and what is not known of it adds to
// Var f.
#ifndef BAYESKERNEL_LINEAR_MOMENTS_HPP
#define BAYESKERNEL_LINEAR_MOMENTS_HPP

#include <Eigen/Core>
#include <vector>

#include "rows/rows.hpp"
#include "linear/accumulate.hpp"
#include "linear/gaussian.hpp"
#include "linear/latent_values.hpp"

namespace bayeskernel {

struct Moments {
  const GaussianPosterior* q = nullptr;
  const ArrowVector* point = nullptr;  // without q: a draw, whose Var f is not
                                       // set; without both E f is the offset
                                       // and Var f = 1
  VectorXd column_mean;  // p, empty: all columns are in
  VectorXd column_var;   // p, Var f by x_k^2; empty: none

  struct Scratch {
    MatrixXd scaled, work;
  };

  void tile(const RowSource& rows, const TileSpan& span, const Tile& tile,
            Scratch& scratch, double* m, double* s) const {
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
      of_q(rows, span, tile, scratch, m, s);
    } else {
      if (scratch.scaled.rows() != p || scratch.scaled.cols() < n) {
        scratch.scaled.resize(p, n);
      }
      scratch.scaled.leftCols(n).noalias() = column_mean.asDiagonal() * tile.x;
      const Tile scaled{
          Eigen::Map<const MatrixXd>(scratch.scaled.data(), p, n),
          tile.z, tile.y, tile.weight, tile.offset, tile.residual};
      of_q(rows, span, scaled, scratch, m, s);
    }
    for (Index k = 0; k < column_var.size(); ++k) {
      const double v = column_var[k];
      if (!(v > 0.0)) continue;
      const double* x = tile.x.data() + k;
      for (Index i = 0; i < n; ++i) s[i] += v * x[i * p] * x[i * p];
    }
  }

 private:
  void of_q(const RowSource& rows, const TileSpan& span, const Tile& tile,
            Scratch& scratch, double* m, double* s) const {
    tile_means(rows, span, tile, q->mean, m);
    q->tile_variances(rows, span, tile, scratch.work, s);
  }
};

}  // namespace bayeskernel

#endif
