// Preconditioned conjugate gradients for several right-hand sides at once, the
// rows of `rhs`, each with step lengths of its own.
#pragma once

#include "eigen.hpp"
#include "error.hpp"

namespace bayeskernel {
// x A = rhs for a symmetric positive definite A, from x as it is on entry
// (`from_zero`: from 0): apply(v, out) sets out = v A, precondition(r, out)
// out = r M. Stops when the preconditioned residuals of all rows are below
// `tolerance` times those of rhs. Returns the number of steps.
template <class Apply, class Precondition>
int conjugate_gradients(Apply&& apply, Precondition&& precondition,
                        const MatrixXd& rhs, bool from_zero, double tolerance,
                        MatrixXd& x) {
  constexpr int kSteps = 5000;
  MatrixXd z(rhs.rows(), rhs.cols()), product(rhs.rows(), rhs.cols());
  MatrixXd residual = rhs;
  precondition(rhs, z);
  const ArrayXd enough =
      tolerance * tolerance * rhs.cwiseProduct(z).rowwise().sum().array();
  if (from_zero) {
    x.setZero(rhs.rows(), rhs.cols());
  } else {
    apply(x, product);
    residual -= product;
    precondition(residual, z);
  }
  MatrixXd direction = z;
  ArrayXd size = residual.cwiseProduct(z).rowwise().sum();
  for (int step = 0; step < kSteps; ++step) {
    if (!size.isFinite().all()) break;
    if ((size <= enough).all()) return step;
    apply(direction, product);
    const ArrayXd curvature = direction.cwiseProduct(product).rowwise().sum();
    // A row that has arrived stands still.
    const VectorXd length =
        (size > enough && curvature > 0.0).select(size / curvature, 0.0);
    x += length.asDiagonal() * direction;
    residual -= length.asDiagonal() * product;
    precondition(residual, z);
    const ArrayXd next = residual.cwiseProduct(z).rowwise().sum();
    const VectorXd ratio = (size > 0.0).select(next / size, 0.0);
    direction = z + ratio.asDiagonal() * direction;
    size = next;
  }
  throw NumericError("the equations of the random effects could not be solved");
}
}  // namespace bayeskernel
