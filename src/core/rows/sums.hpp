// Sums over rows that one pass leaves behind. Their size depends on p, r and
// the number of groups, never on n.
#pragma once

#include "eigen.hpp"

namespace bayeskernel {
// Quadratic part: sum of kappa (x, z)(x, z)'.
struct Curvature {
  MatrixXd gram;        // p x p, lower triangle: sum kappa x x'
  MatrixXd cross;       // p x (r G): B_g = sum kappa x z'
  MatrixXd group_gram;  // r x (r G): D_g = sum kappa z z', no prior

  Curvature() = default;
  Curvature(Index p, Index r, Index groups);
};

// Linear part: a sum of (x, z), or a point (theta, u) of the same shape.
struct ArrowVector {
  VectorXd x;      // p
  MatrixXd group;  // r x G

  ArrowVector() = default;
  ArrowVector(Index p, Index r, Index groups);

  double dot(const ArrowVector& other) const;
  // The group effects as one vector, group by group.
  VectorMap effects() const { return {group.data(), group.size()}; }
  Eigen::Map<VectorXd> effects() { return {group.data(), group.size()}; }
};

// out += sign * curvature * point.
void add_product(const Curvature& curvature, const ArrowVector& point,
                 double sign, ArrowVector& out);

// What a pass sums up beside the bound: nothing, the linear part, or all. What
// it does not sum up stays as it was.
enum class Gather { nothing, linear, all };

// What a pass leaves behind.
struct Sums {
  Curvature curvature;  // kappa: the conditional precision
  Curvature newton;     // minus the second derivative of the bound in the mean
  ArrowVector linear;   // what the rule calls linear
  double bound = 0.0;   // data part of the bound
  double margin = std::numeric_limits<double>::infinity();  // smallest y E f
  // Gaussian rows, which have no margin: sums of kappa and of
  // kappa E(y - f)^2.
  double power = 0.0, squares = 0.0;

  Sums() = default;
  Sums(Index p, Index r, Index groups)
      : curvature(p, r, groups), newton(p, r, groups), linear(p, r, groups) {}

  // Sums of groups are set by the pass, not added to.
  void clear(Index p, bool with_newton, Gather what = Gather::all);

  // What adds up over rows, groups apart.
  void add(const Sums& part, bool with_newton, Gather what = Gather::all);

  // All that is proportional to kappa, where the gradient is.
  void scale(double factor);
};

// Numbers by row that a pass keeps; null: not kept.
struct RowStore {
  double* mean = nullptr;
  double* variance = nullptr;
  double* kappa = nullptr;
  double* linear = nullptr;
};

// kappa and the linear number of every row, as a pass has kept them.
struct RowMessages {
  const double* kappa = nullptr;
  const double* linear = nullptr;
};
}  // namespace bayeskernel
