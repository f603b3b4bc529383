// Anderson acceleration of a fixed-point map z -> g(z) with a short memory
// (Walker & Ni 2011, SIAM J. Numer. Anal. 49, 1715-1735). The residual is
// measured on the first `coordinates` entries; all entries are combined.
#pragma once

#include "eigen.hpp"

namespace bayeskernel {
class Anderson {
 public:
  Anderson(Index size, Index coordinates, int memory)
      : coordinates_(coordinates),
        memory_(memory),
        dz_(size, memory),
        df_(size, memory),
        z_(size),
        f_(size) {}

  void restart() { filled_ = -1; }

  // Replaces g = g(z) by the accelerated point; false when there is nothing to
  // extrapolate from. O(size memory).
  bool combine(const VectorXd& z, VectorXd& g);

 private:
  Index coordinates_;
  int memory_;
  int filled_ = -1;
  MatrixXd dz_, df_;
  VectorXd z_, f_;
};
}  // namespace bayeskernel
