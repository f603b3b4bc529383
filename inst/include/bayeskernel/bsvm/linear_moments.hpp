// Mean and variance of offset + x'theta for many rows under theta ~ N(mean,
// covariance), x centred and scaled on the way. n p^2 / 2 multiply-adds.
#ifndef BAYESKERNEL_BSVM_LINEAR_MOMENTS_HPP
#define BAYESKERNEL_BSVM_LINEAR_MOMENTS_HPP

#include <Eigen/Cholesky>
#include <Eigen/Core>
#include <algorithm>

#include "../error.hpp"
#include "../math/lower_product.hpp"
#include "../parallel/executor.hpp"

namespace bayeskernel {

// U lower triangular with a = U'U: the Cholesky factor of a with rows and
// columns in reverse order.
inline Eigen::MatrixXd lower_root(const Eigen::MatrixXd& a) {
  const Eigen::LLT<Eigen::MatrixXd> llt(a.reverse());
  if (llt.info() != Eigen::Success) {
    throw NumericError("a covariance matrix is not positive definite");
  }
  const Eigen::MatrixXd lower = llt.matrixL();
  return lower.reverse().transpose();
}

struct LinearMoments {
  Eigen::VectorXd mean, var;
};

inline LinearMoments linear_moments(
    const Eigen::Ref<const Eigen::MatrixXd>& x,
    const Eigen::Ref<const Eigen::VectorXd>& center,
    const Eigen::Ref<const Eigen::VectorXd>& scale,
    const Eigen::Ref<const Eigen::VectorXd>& offset,
    const Eigen::VectorXd& mean, const Eigen::MatrixXd& covariance,
    Executor& executor) {
  const Eigen::Index n = x.rows(), p = x.cols();
  LinearMoments out{offset, Eigen::VectorXd::Zero(n)};
  if (p == 0) return out;
  const LowerProduct root(lower_root(covariance));
  constexpr Eigen::Index kRows = 256;
  constexpr Eigen::Index kStrips = 16;  // of kRows, in one block
  const Eigen::Index block_rows = kRows * kStrips;
  executor.run((n + block_rows - 1) / block_rows, [&](Eigen::Index block) {
    Eigen::MatrixXd tile(p, kRows), white;
    const Eigen::Index end = std::min(n, (block + 1) * block_rows);
    for (Eigen::Index begin = block * block_rows; begin < end;
         begin += kRows) {
      const Eigen::Index rows = std::min(kRows, end - begin);
      for (Eigen::Index k = 0; k < p; ++k) {
        tile.row(k).head(rows) =
            (x.col(k).segment(begin, rows).array() - center[k]).transpose() /
            scale[k];
      }
      const auto z = tile.leftCols(rows);
      out.mean.segment(begin, rows).noalias() += z.transpose() * mean;
      root.add_norms(tile.data(), rows, white, out.var.data() + begin);
    }
  });
  return out;
}

}  // namespace bayeskernel

#endif
