#include "linear/newton_curvature.hpp"

namespace bayeskernel {
void accumulate_newton(const RowSource& rows, const TileSpan& span,
                       const Tile& tile, const NonzeroColumns& active,
                       const double* m, const double* s, Second which,
                       NewtonScratch& scratch, MatrixXd& work, MatrixXd& gram,
                       Curvature& out) {
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
    accumulate_curvature(rows, span, tile, active, scratch.weight.data(), work,
                         gram, out);
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
  weighted_gram(scratch.near_x.leftCols(at), scratch.near_weight.head(at), work,
                gram);
}
}  // namespace bayeskernel
