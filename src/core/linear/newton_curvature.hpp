// The curvature of the bound in the mean, summed over a tile. For the hinge, rows
// far from the margin, chi > 900 s, carry less than 1e-3 of the curvature of a row on it:
// the matrix of a step does without them where all of them together carry
// little. Between separated classes they do not, and a covariance that is
// reported needs them all.
#ifndef BAYESKERNEL_LINEAR_NEWTON_CURVATURE_HPP
#define BAYESKERNEL_LINEAR_NEWTON_CURVATURE_HPP

#include "eigen.hpp"
#include "likelihood/rules.hpp"
#include "linear/accumulate.hpp"
#include "rows/rows.hpp"
#include "rows/sums.hpp"
#include "simd/gram.hpp"

namespace bayeskernel {

struct NewtonScratch {
  VectorXd weight;  // of every row, to be filled
  MatrixXd near_x;
  VectorXd near_weight;
};

// gram += sum weight x x' and the groups of the tile, at the moments m and s.
inline void accumulate_newton(const RowSource& rows, const TileSpan& span,
                              const Tile& tile, const double* m,
                              const double* s, Second which,
                              NewtonScratch& scratch, MatrixXd& work,
                              MatrixXd& gram, Curvature& out) {
  constexpr double kNear = 900.0, kLittle = 0.05;
  const Index p = tile.x.rows(), n = tile.x.cols();
  const auto is_near = [&](Index i) {
    const double shortfall = 1.0 - tile.y[i] * m[i];
    return shortfall * shortfall <= (kNear - 1.0) * s[i];
  };
  Index near = 0;
  double weight_near = 0.0, weight_far = 0.0;
  for (Index i = 0; i < n; ++i) {
    const bool yes = is_near(i);
    near += yes;
    (yes ? weight_near : weight_far) += scratch.weight[i];
  }
  if (which == Second::exact || tile.z.rows() > 0 || 2 * near >= n ||
      weight_far > kLittle * weight_near) {
    accumulate_curvature(rows, span, tile, scratch.weight.data(), work, gram,
                         out);
    return;
  }
  if (scratch.near_x.rows() != p || scratch.near_x.cols() < near) {
    scratch.near_x.resize(p, near);
    scratch.near_weight.resize(near);
  }
  Index at = 0;
  for (Index i = 0; i < n; ++i) {
    if (!is_near(i)) continue;
    scratch.near_x.col(at) = tile.x.col(i);
    scratch.near_weight[at++] = scratch.weight[i];
  }
  weighted_gram(scratch.near_x.leftCols(at), scratch.near_weight.head(at),
                work, gram);
}

}  // namespace bayeskernel

#endif
