// Sums over rows that one pass leaves behind (engine.md, "The one form").
// Their size depends on p, r and the number of groups, never on n.
#ifndef BAYESKERNEL_HINGE_STATISTICS_HPP
#define BAYESKERNEL_HINGE_STATISTICS_HPP

#include <Eigen/Core>

namespace bayeskernel {

using Eigen::Index;
using Eigen::MatrixXd;
using Eigen::VectorXd;

// Quadratic part: sum of kappa (x, z)(x, z)'.
struct Curvature {
  MatrixXd gram;        // p x p, lower triangle: sum kappa x x'
  MatrixXd cross;       // p x (r G): B_g = sum kappa x z'
  MatrixXd group_gram;  // r x (r G): D_g = sum kappa z z', no prior

  Curvature() = default;
  Curvature(Index p, Index r, Index groups)
      : gram(MatrixXd::Zero(p, p)),
        cross(MatrixXd::Zero(p, r * groups)),
        group_gram(MatrixXd::Zero(r, r * groups)) {}
};

// Linear part: sum of shift (x, z), or a point (theta, u) of the same shape.
struct ArrowVector {
  VectorXd x;      // p
  MatrixXd group;  // r x G

  ArrowVector() = default;
  ArrowVector(Index p, Index r, Index groups)
      : x(VectorXd::Zero(p)), group(MatrixXd::Zero(r, groups)) {}

  double dot(const ArrowVector& other) const {
    return x.dot(other.x) + group.cwiseProduct(other.group).sum();
  }
};

}  // namespace bayeskernel

#endif
