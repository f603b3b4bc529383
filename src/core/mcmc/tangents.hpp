// An upper hull of a log-concave density from its tangents, piecewise
// exponential, for adaptive rejection sampling (Gilks and Wild 1992, Applied
// Statistics 41, 337-348).
#pragma once

#include "eigen.hpp"

namespace bayeskernel {
// Of a log density at `at`; where it has a kink, two of them.
struct Tangent {
  double at, value, slope;
};

class TangentHull {
 public:
  void clear() { tangents_.clear(); }
  void add(const Tangent& tangent);

  // The rest needs a tangent that rises and a later one that falls.

  // log of the integral.
  double log_mass() const { return log_mass_; }
  double log_density(double t) const;
  // The quantile of `u` within the piece that `pick` chooses, both in (0, 1).
  double draw(double pick, double u) const;

 private:
  struct Piece {
    double low, high, log_mass;
  };

  void measure();

  std::vector<Tangent> tangents_;
  std::vector<Piece> pieces_;
  double log_mass_ = 0.0;
};
}  // namespace bayeskernel
