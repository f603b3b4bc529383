// One of several by weight.
#pragma once

#include "eigen.hpp"

namespace bayeskernel {
// Of 0 .. count - 1, k with probability weight(k) / total, for `left` uniform
// on (0, total). What rounding leaves goes to the last.
template <class Weight>
Index categorical(double left, Index count, Weight&& weight) {
  Index k = 0;
  for (; k < count - 1; ++k) {
    left -= weight(k);
    if (left < 0.0) break;
  }
  return k;
}
}  // namespace bayeskernel
