// Frames: p x r matrices U with U'U = I, the Stiefel manifold, and random walks
// on it whose proposals are symmetric under its uniform law. A larger
// `step_size` makes larger steps.
//
// Ouyang (2008), eq. 2.4.
#pragma once

#include <Eigen/Eigenvalues>

#include "eigen.hpp"
#include "rng/stream.hpp"

namespace bayeskernel {
class FrameWalk {
 public:
  FrameWalk(Index p, Index r)
      : noise_(p, r), gram_(r, r), root_(r, r), vector_(p), solver_(r) {}

  // From the uniform law, by Gram-Schmidt on normal vectors.
  void draw_uniform(Stream& stream, MatrixXd& u);

  // Column l of u becomes the direction of u_l + step_size e, e normal in the
  // complement of the others; with an infinite step_size it is e's. Not for a
  // square u, which leaves no room.
  bool step_column(Stream& stream, Index l, double step_size, MatrixXd& u);
  // The same for a given e, in all of space.
  bool step_column(Index l, double step_size, const VectorXd& e, MatrixXd& u);

  // Two columns of a square u: the first as above, in the complement of all but
  // them, and the second in what is then left.
  bool step_pair(Stream& stream, Index l, Index m, double step_size,
                 MatrixXd& u);

  // All columns at once: the polar factor of U + step_size E. The density of
  // the proposal depends on the symmetric part of U'U_new alone.
  void step_all(Stream& stream, double step_size, MatrixXd& u);
  void step_all(double step_size, const MatrixXd& e, MatrixXd& u);

  // Columns l and m turned by an angle in their plane.
  static void turn(Index l, Index m, double angle, MatrixXd& u);

  // The polar factor U (U'U)^-1/2, the nearest frame. The second pass is a step
  // of Newton and Schulz, which squares what is left of the error.
  void orthonormalise(MatrixXd& u);

 private:
  static void fill_normal(Stream& stream, VectorXd& to) {
    for (Index k = 0; k < to.size(); ++k) to[k] = stream.normal();
  }
  void subtract_along(const MatrixXd& u, Index k);
  // Into the complement of all columns but l and m.
  void leave_others(const MatrixXd& u, Index l, Index m);
  bool normalise(MatrixXd& u, Index l);

  MatrixXd noise_, gram_, root_;
  VectorXd vector_;
  Eigen::SelfAdjointEigenSolver<MatrixXd> solver_;
};
}  // namespace bayeskernel
