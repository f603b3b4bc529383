// Decompositions of Eigen that are compiled once. O(n^3).
#pragma once

#include "eigen.hpp"

namespace bayeskernel {
// Of a symmetric matrix, whose lower triangle is read.
class SymmetricEigen {
 public:
  explicit SymmetricEigen(const MatrixXd& a);

  const VectorXd& eigenvalues() const { return values_; }  // ascending
  const MatrixXd& eigenvectors() const { return vectors_; }

 private:
  VectorXd values_;
  MatrixXd vectors_;
};

double determinant(const MatrixXd& a);

// Of a square matrix that need not be symmetric.
MatrixXd inverse(const MatrixXd& a);
}  // namespace bayeskernel
