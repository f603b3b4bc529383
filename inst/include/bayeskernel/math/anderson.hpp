// Anderson acceleration of a fixed-point map z -> g(z) with a short memory
// (Walker & Ni 2011, SIAM J. Numer. Anal. 49, 1715-1735). The residual is
// measured on the first `coordinates` entries; all entries are combined.
#ifndef BAYESKERNEL_MATH_ANDERSON_HPP
#define BAYESKERNEL_MATH_ANDERSON_HPP

#include <Eigen/Cholesky>
#include <Eigen/Core>

namespace bayeskernel {

class Anderson {
 public:
  Anderson(Eigen::Index size, Eigen::Index coordinates, int memory)
      : coordinates_(coordinates),
        memory_(memory),
        dg_(size, memory),
        df_(coordinates, memory),
        g_(size),
        f_(coordinates) {}

  void restart() { filled_ = -1; }

  // Replaces g = g(z) by the accelerated point; false when there is nothing to
  // extrapolate from. Of z the first `coordinates` entries are looked at.
  // O(size memory).
  bool combine(const Eigen::VectorXd& z, Eigen::VectorXd& g) {
    const Eigen::Index k = coordinates_;
    if (filled_ >= 0) {
      const int slot = filled_ % memory_;
      dg_.col(slot) = g - g_;
      df_.col(slot) = (g.head(k) - z.head(k)) - f_;
    }
    g_ = g;
    f_ = g.head(k) - z.head(k);
    ++filled_;
    const int used = filled_ < memory_ ? filled_ : memory_;
    if (used == 0) return false;
    const auto residual_change = df_.leftCols(used);
    Eigen::MatrixXd normal = residual_change.transpose() * residual_change;
    normal.diagonal().array() += 1e-10 * normal.diagonal().maxCoeff();
    const Eigen::VectorXd gamma = normal.ldlt().solve(
        residual_change.transpose() * f_);
    if (!gamma.allFinite()) return false;
    g.noalias() -= dg_.leftCols(used) * gamma;
    return true;
  }

 private:
  Eigen::Index coordinates_;
  int memory_;
  int filled_ = -1;
  // Changes of g and of the residual, and the last of both.
  Eigen::MatrixXd dg_, df_;
  Eigen::VectorXd g_, f_;
};

}  // namespace bayeskernel

#endif
