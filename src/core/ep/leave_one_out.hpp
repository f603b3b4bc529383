// Predictions of each row from the others, which the cavities give away.
#ifndef BAYESKERNEL_EP_LEAVE_ONE_OUT_HPP
#define BAYESKERNEL_EP_LEAVE_ONE_OUT_HPP

#include <cmath>

#include "rows/rows.hpp"
#include "math/normal.hpp"
#include "ep/sites.hpp"

namespace bayeskernel {

// log p(y_i | other rows) at power one, from the cavities of the last pass; of
// the hinge, which is no probability of y, the class's under the probit link.
inline VectorXd leave_one_out(const RowSource& rows, const SiteRule& rule,
                              const SiteRows& sites) {
  VectorXd out = sites.log_z;
  const Family family = rule.family();
  for_tiles(rows, [&](const TileSpan& span, const Tile& tile) {
    for (Index i = 0; i < span.rows(); ++i) {
      const Index at = span.row_begin + i;
      const bool whole = sites.share.size() == 0 || sites.share[at] == 1.0;
      if (tile.weight[i] == 1.0 && whole && family != Family::hinge) continue;
      const double r = tile.residual_of(i);
      const double m = sites.cavity_mean[at];
      const double v = sites.cavity_variance[at] + r;
      out[at] = family == Family::hinge
                    ? log_normal_cdf(tile.y[i] * m / std::sqrt(1.0 + v))
                    : rule.tilted()(tile.y[i], 1.0, m, v, rule.noise_variance)
                          .log_z;
    }
  });
  return out;
}

// E f_i and Var f_i given the other rows, residual included.
struct LeftOutMoments {
  VectorXd mean, variance;
};

inline LeftOutMoments left_out_moments(const RowSource& rows,
                                       const SiteRows& sites) {
  LeftOutMoments out{sites.cavity_mean, sites.cavity_variance};
  for_tiles(rows, [&](const TileSpan& span, const Tile& tile) {
    if (tile.residual.size() == 0) return;
    out.variance.segment(span.row_begin, span.rows()) +=
        tile.residual.head(span.rows());
  });
  return out;
}

}  // namespace bayeskernel

#endif
