#include "math/decompositions.hpp"

#include <Eigen/Eigenvalues>
#include <Eigen/LU>

namespace bayeskernel {
SymmetricEigen::SymmetricEigen(const MatrixXd& a) {
  const Eigen::SelfAdjointEigenSolver<MatrixXd> solver(a);
  values_ = solver.eigenvalues();
  vectors_ = solver.eigenvectors();
}

double determinant(const MatrixXd& a) { return a.determinant(); }

MatrixXd inverse(const MatrixXd& a) { return a.inverse(); }
}  // namespace bayeskernel
