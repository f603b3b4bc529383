// Products U x_i of a lower triangular U with many vectors, and their squared
// norms, U square if that is asked for: wide where the machine is
// (simd/simd.hpp). Each column has the same bits however many columns are asked
// for at once.
// n p^2 / 2 multiply-adds, twice that where it is narrow or U square.
#pragma once

#include "eigen.hpp"

namespace bayeskernel {
class LowerProduct {
 public:
  LowerProduct() = default;
  explicit LowerProduct(const MatrixXd& u, bool square = false) {
    set(u, square);
  }

  // Reads the lower triangle of u, all of it if it is `square`.
  void set(const MatrixXd& u, bool square = false);

  // out (p x n) = U x, norm (n) its squared column norms; x and out apart.
  void apply(const double* x, Index n, double* out, double* norm) const;

  // norm (n) += |U x_i|^2; `work` is used where the machine is narrow.
  void add_norms(const double* x, Index n, MatrixXd& work, double* norm) const;

 private:
  void multiply(const double* x, Index n, double* out, double* norm) const;

  Index p_ = 0;
  bool square_ = false;
  VectorXd packed_;
  MatrixXd narrow_;
};
}  // namespace bayeskernel
