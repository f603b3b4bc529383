// Mean, standard deviation and range of every column in one pass over memory.
#pragma once

#include "eigen.hpp"

namespace bayeskernel {
// `sd` has divisor n - 1 and is 0 for one row. `minimum` and `maximum` pass
// over NaN, which `missing` counts; an empty column has the range (Inf, -Inf).
struct ColumnMoments {
  explicit ColumnMoments(Index p);

  VectorXd mean, sd, minimum, maximum, missing;
};

// O(n p), no copy but of a tile, whose sums then have the same bits wherever
// the rows lie. Each tile stays in the first-level cache for its own two-pass
// moments; tiles are merged by the update of Chan, Golub and LeVeque (1983), so
// a large mean beside a small spread costs no digits.
ColumnMoments column_moments(const MatrixRef& x);
}  // namespace bayeskernel
