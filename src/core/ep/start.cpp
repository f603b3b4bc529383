#include "ep/start.hpp"

#include "eigen.hpp"

namespace bayeskernel {
int StartSites::passes(Family family) {
  switch (family) {
    case Family::hinge:
      return 10;
    case Family::gaussian:
      return 1;
    default:
      return 2;
  }
}

double StartSites::tile(const TileSpan& span, const Tile& tile, const double* m,
                        const double* s, RowNumbers out) const {
  const bool completions =
      sites_ != nullptr && sites_->responsibility.size() > 0;
  if (completions && !cold) {
    responsibilities_->tile(span, tile, m, s, noise_variance, 1.0,
                            sites_->responsibility, out.newton);
  }
  for (Index i = 0; i < span.rows(); ++i) {
    const double r = tile.residual_of(i);
    const double responsibility =
        completions ? Responsibilities::power(
                          sites_->responsibility[span.row_begin + i])
                    : 1.0;
    const RowTerms row = terms(tile.y[i], tile.weight[i] * responsibility, m[i],
                               cold ? 1.0 + r : s[i], r);
    out.kappa[i] = row.kappa;
    out.linear[i] = row.gradient;
    out.newton[i] = row.newton;
  }
  return 0.0;
}

RowTerms StartSites::terms(double y, double w, double m, double s,
                           double r) const {
  if (family_ == Family::hinge) return mean_field(y, w, m, s);
  if (family_ == Family::gaussian) {
    const double kappa = w / (noise_variance + w * r);
    return {kappa, kappa * (y - m), kappa, 0.0};
  }
  return direct_(family_, y, w, m, s, Noise());
}
}  // namespace bayeskernel
