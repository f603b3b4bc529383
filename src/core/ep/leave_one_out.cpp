#include "ep/leave_one_out.hpp"

#include "likelihood/family.hpp"
#include "likelihood/tilted.hpp"
#include "math/normal.hpp"

namespace bayeskernel {
VectorXd leave_one_out(const RowSource& rows, const SiteRule& rule,
                       const SiteRows& sites) {
  VectorXd out = sites.log_z;
  const Family family = rule.family();
  for_tiles(rows, [&](const TileSpan& span, const Tile& tile) {
    for (Index i = 0; i < span.rows(); ++i) {
      const Index at = span.row_begin + i;
      const bool whole =
          sites.responsibility.size() == 0 || sites.responsibility[at] == 1.0;
      if (tile.weight[i] == 1.0 && whole && family != Family::hinge) continue;
      const double r = tile.residual_of(i);
      const double m = sites.cavity_mean[at];
      const double v = sites.cavity_variance[at] + r;
      out[at] =
          family == Family::hinge
              ? log_normal_cdf(tile.y[i] * m / std::sqrt(1.0 + v))
              : rule.tilted()(tile.y[i], 1.0, m, v, rule.noise_variance).log_z;
    }
  });
  return out;
}

LeftOutMoments left_out_moments(const RowSource& rows, const SiteRows& sites) {
  LeftOutMoments out{sites.cavity_mean, sites.cavity_variance};
  for_tiles(rows, [&](const TileSpan& span, const Tile& tile) {
    if (tile.residual.size() == 0) return;
    out.variance.segment(span.row_begin, span.rows()) +=
        tile.residual.head(span.rows());
  });
  return out;
}
}  // namespace bayeskernel
