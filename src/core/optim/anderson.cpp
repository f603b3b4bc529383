#include "optim/anderson.hpp"

namespace bayeskernel {
bool Anderson::combine(const VectorXd& z, VectorXd& g) {
  if (filled_ >= 0) {
    const int slot = filled_ % memory_;
    dz_.col(slot) = z - z_;
    df_.col(slot) = (g - z) - f_;
  }
  z_ = z;
  f_ = g - z;
  ++filled_;
  const int used = filled_ < memory_ ? filled_ : memory_;
  if (used == 0) return false;
  const auto residual_change = df_.topLeftCorner(coordinates_, used);
  MatrixXd normal = residual_change.transpose() * residual_change;
  normal.diagonal().array() += 1e-10 * normal.diagonal().maxCoeff();
  const VectorXd gamma =
      normal.ldlt().solve(residual_change.transpose() * f_.head(coordinates_));
  if (!gamma.allFinite()) return false;
  g.noalias() -= dz_.leftCols(used) * gamma;
  g.noalias() -= df_.leftCols(used) * gamma;
  return true;
}
}  // namespace bayeskernel
