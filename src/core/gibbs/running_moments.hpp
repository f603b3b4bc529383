// Means and variances over draws that are seen once and not kept.
#pragma once

#include "eigen.hpp"

namespace bayeskernel {
// Welford's recursion, element by element.
struct RunningMoments {
  double count = 0.0;
  ArrayXd mean, squares;

  explicit RunningMoments(Index size = 0);

  void add(const ArrayXd& draw);

  void merge(const RunningMoments& other);

  ArrayXd variance() const;
};
}  // namespace bayeskernel
