#include "math/quadrature.hpp"

#include <Eigen/Eigenvalues>

namespace bayeskernel {
GaussLegendre::GaussLegendre(Index n) {
  VectorXd diagonal = VectorXd::Zero(n), side(n - 1);
  for (Index k = 1; k < n; ++k) {
    const double j = static_cast<double>(k);
    side[k - 1] = j / std::sqrt(4.0 * j * j - 1.0);
  }
  Eigen::SelfAdjointEigenSolver<MatrixXd> eigen;
  eigen.computeFromTridiagonal(diagonal, side);
  node = eigen.eigenvalues();
  weight = 2.0 * eigen.eigenvectors().row(0).array().square();
}

GaussHermite::GaussHermite(Index n) {
  VectorXd diagonal = VectorXd::Zero(n), side(n - 1);
  for (Index k = 1; k < n; ++k) {
    side[k - 1] = std::sqrt(static_cast<double>(k));
  }
  Eigen::SelfAdjointEigenSolver<MatrixXd> eigen;
  eigen.computeFromTridiagonal(diagonal, side);
  node = eigen.eigenvalues();
  weight = eigen.eigenvectors().row(0).array().square();
}
}  // namespace bayeskernel
