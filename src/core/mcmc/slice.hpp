// Slice sampling of one number with stepping out (Neal 2003, Ann. Statist. 31,
// 705-767): no width has to be tuned.
#pragma once

#include "rng/stream.hpp"

namespace bayeskernel {
// One draw of t from 0, `log_density` of which may be minus infinity elsewhere.
template <class F>
double slice_log_scale(F&& log_density, Stream& stream, double width = 0.25) {
  constexpr int kSteps = 40;
  const double level = log_density(0.0) - stream.exponential();
  double low = -width * stream.uniform();
  double high = low + width;
  for (int k = 0; k < kSteps && log_density(low) > level; ++k) low -= width;
  for (int k = 0; k < kSteps && log_density(high) > level; ++k) {
    high += width;
  }
  while (high - low > 1e-12) {
    const double t = low + (high - low) * stream.uniform();
    if (log_density(t) > level) return t;
    (t < 0.0 ? low : high) = t;
  }
  return 0.0;
}
}  // namespace bayeskernel
