// How a leaf of a kernel sees points: all of their columns or some; a periodic
// one sees each as a point of a circle, (cos, sin) of 2 pi x / period. A chord
// there has the square 4 sin^2(pi (x - z) / period), which makes it an rbf; a
// projected one sees A x, which does, too.
#pragma once

#include "eigen.hpp"
#include "kernel/tree.hpp"

namespace bayeskernel {
namespace detail {
class LeafView {
 public:
  // z: fixed columns, d x m.
  LeafView(const Kernel& leaf, const MatrixXd& z);

  bool whole() const { return columns_.empty(); }
  bool circular() const { return frequency_.size() > 0; }
  bool projected() const { return projection_.size() > 0; }
  // Numbers of a point as seen.
  Index size() const;

  // out, size() x n, of x, d x n.
  void see(const double* x, Index n, double* out) const;

  // From dF/d what is seen of z to dF/dz: locations (d x m) += that of
  // `slope`, size() x m as `seen` is.
  void add_locations(const MatrixXd& slope, const MatrixRef& seen,
                     Eigen::Ref<MatrixXd> locations) const;

  // sum_ij A_ji sum_k u_k sin(u_k) with u_k the angle between x_i and z_j.
  double turned(const double* x, const double* z, const MatrixRef& seen,
                const MatrixRef& seen_z, const MatrixRef& a) const;

  // gradient += -sum_ij A_ji (s_i - t_j)(x_i - z_j)' with s and t what is seen
  // of x and z, row after row: the derivative in a projection, of which A (m x
  // n) is G dk / d(r^2 / 2) negated. `inner` = S A'.
  void add_projection_gradient(const double* x, Index n, const MatrixXd& z,
                               const MatrixRef& seen, const MatrixRef& seen_z,
                               const MatrixRef& a, const MatrixRef& inner,
                               Eigen::Ref<VectorXd> gradient) const;

 private:
  void project(const double* x, Index n, double* out) const;

  Index d_;
  std::vector<Index> columns_;  // all of them if empty
  VectorXd frequency_, shift_;  // of a periodic leaf
  MatrixXd projection_;         // of a projected one
};
}  // namespace detail
}  // namespace bayeskernel
