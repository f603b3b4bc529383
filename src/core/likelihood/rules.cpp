#include "likelihood/rules.hpp"

namespace bayeskernel {
RowTerms mean_field(double y, double w, double m, double s) {
  const double shortfall = 1.0 - y * m;
  const double chi = shortfall * shortfall + s;
  const double root = std::sqrt(chi);
  const double c = std::max(root, kScaleFloor);
  const double kappa = w / c;
  return {kappa, y * (w + kappa * shortfall), kappa * s / (c * c),
          -w * (shortfall + 0.5 * (c + chi / c))};
}

double MeanFieldRule::tile(const TileSpan&, const Tile& tile, const double* m,
                           const double* s, RowNumbers out) const {
  return set_rows(
      tile, m, s,
      [](double y, double w, double mean, double variance) {
        return mean_field(y, w, mean, variance);
      },
      out);
}

double StartRule::tile(const TileSpan& span, const Tile& tile, const double* m,
                       const double*, RowNumbers out) const {
  for (Index i = 0; i < span.rows(); ++i) {
    out.kappa[i] = tile.weight[i];
    out.linear[i] = tile.y[i] * tile.weight[i] * (2.0 - tile.y[i] * m[i]);
    out.newton[i] = 0.0;
  }
  return 0.0;
}
}  // namespace bayeskernel
