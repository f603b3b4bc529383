#include "klr/save.hpp"

#include <Eigen/Eigenvalues>

#include "eigen.hpp"
#include "klr/stiefel.hpp"

namespace bayeskernel {
namespace detail {
MatrixXd class_covariance(const MatrixXd& z) {
  if (z.rows() < 2) return MatrixXd::Identity(z.cols(), z.cols());
  const MatrixXd centred = z.rowwise() - z.colwise().mean();
  return centred.transpose() * centred / static_cast<double>(z.rows() - 1);
}
}  // namespace detail

MatrixXd save_frame(const MatrixRef& x, const VectorRef& positive, Index r) {
  const Index n = x.rows(), p = x.cols();
  const MatrixXd centred = x.rowwise() - x.colwise().mean();
  MatrixXd s = detail::class_covariance(centred);
  const double size = s.diagonal().mean();
  s.diagonal().array() += 1e-6 * (size > 0.0 ? size : 1.0);
  const Eigen::SelfAdjointEigenSolver<MatrixXd> whole(s);
  const MatrixXd root = whole.operatorInverseSqrt();
  const MatrixXd z = centred * root;
  MatrixXd m = MatrixXd::Zero(p, p);
  for (const double group : {0.0, 1.0}) {
    MatrixXd rows(n, p);
    Index count = 0;
    for (Index i = 0; i < n; ++i) {
      if ((positive[i] > 0.0) == (group > 0.0)) rows.row(count++) = z.row(i);
    }
    if (count == 0) continue;
    const MatrixXd gap = MatrixXd::Identity(p, p) -
                         detail::class_covariance(rows.topRows(count));
    m += static_cast<double>(count) / static_cast<double>(n) * gap * gap;
  }
  const Eigen::SelfAdjointEigenSolver<MatrixXd> leading(m);
  MatrixXd u = root * leading.eigenvectors().rightCols(r).rowwise().reverse();
  for (Index l = 0; l < r; ++l) u.col(l).normalize();
  FrameWalk(p, r).orthonormalise(u);
  return u;
}
}  // namespace bayeskernel
