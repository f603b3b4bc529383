// Anderson acceleration of a fixed-point map z -> g(z) with a short memory
// (Walker & Ni 2011, SIAM J. Numer. Anal. 49, 1715-1735). The residual is
// measured on the first `coordinates` entries; all entries are combined.
#ifndef BAYESKERNEL_OPTIM_ANDERSON_HPP
#define BAYESKERNEL_OPTIM_ANDERSON_HPP

#include <Eigen/Cholesky>
#include <Eigen/Core>

namespace bayeskernel {

class Anderson {
 public:
  Anderson(Eigen::Index size, Eigen::Index coordinates, int memory)
      : coordinates_(coordinates),
        memory_(memory),
        dz_(size, memory),
        df_(size, memory),
        z_(size),
        f_(size) {}

  void restart() { filled_ = -1; }

  // Replaces g = g(z) by the accelerated point; false when there is nothing to
  // extrapolate from. O(size memory).
  bool combine(const Eigen::VectorXd& z, Eigen::VectorXd& g) {
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
    Eigen::MatrixXd normal = residual_change.transpose() * residual_change;
    normal.diagonal().array() += 1e-10 * normal.diagonal().maxCoeff();
    const Eigen::VectorXd gamma = normal.ldlt().solve(
        residual_change.transpose() * f_.head(coordinates_));
    if (!gamma.allFinite()) return false;
    g.noalias() -= dz_.leftCols(used) * gamma;
    g.noalias() -= df_.leftCols(used) * gamma;
    return true;
  }

 private:
  Eigen::Index coordinates_;
  int memory_;
  int filled_ = -1;
  Eigen::MatrixXd dz_, df_;
  Eigen::VectorXd z_, f_;
};

}  // namespace bayeskernel

#endif
