// Frames: p x r matrices U with U'U = I, the Stiefel manifold, and random walks
// on it whose proposals are symmetric under its uniform law. A larger `spread`
// makes larger steps.
#ifndef BAYESKERNEL_KLR_STIEFEL_HPP
#define BAYESKERNEL_KLR_STIEFEL_HPP

#include <Eigen/Core>
#include <Eigen/Eigenvalues>
#include <cmath>

#include "rng/distributions.hpp"

namespace bayeskernel {

class FrameWalk {
 public:
  using Index = Eigen::Index;
  using MatrixXd = Eigen::MatrixXd;
  using VectorXd = Eigen::VectorXd;

  FrameWalk(Index p, Index r)
      : noise_(p, r), gram_(r, r), root_(r, r), vector_(p), solver_(r) {}

  // From the uniform law, by Gram-Schmidt on normal vectors.
  void draw_uniform(Stream& stream, MatrixXd& u) {
    for (Index l = 0; l < u.cols(); ++l) {
      do {
        fill_normal(stream, vector_);
        for (Index k = 0; k < l; ++k) subtract_along(u, k);
        for (Index k = 0; k < l; ++k) subtract_along(u, k);
      } while (!normalise(u, l));
    }
  }

  // Column l of u becomes the direction of u_l + spread e, e normal in the
  // complement of the others; with an infinite spread it is e's. Not for a
  // square u, which leaves no room.
  bool step_column(Stream& stream, Index l, double spread, MatrixXd& u) {
    fill_normal(stream, vector_);
    return step_column(l, spread, vector_, u);
  }
  // The same for a given e, in all of space.
  bool step_column(Index l, double spread, const VectorXd& e, MatrixXd& u) {
    vector_ = e;
    leave_others(u, l, l);
    if (std::isfinite(spread)) vector_ = u.col(l) + spread * vector_;
    leave_others(u, l, l);
    return normalise(u, l);
  }

  // Two columns of a square u: the first as above, in the complement of all but
  // them, and the second in what is then left.
  bool step_pair(Stream& stream, Index l, Index m, double spread, MatrixXd& u) {
    fill_normal(stream, vector_);
    leave_others(u, l, m);
    if (std::isfinite(spread)) vector_ = u.col(l) + spread * vector_;
    leave_others(u, l, m);
    if (!normalise(u, l)) return false;
    vector_ = u.col(m);
    leave_others(u, m, m);
    leave_others(u, m, m);
    return normalise(u, m);
  }

  // All columns at once: the polar factor of U + spread E. The density of the
  // proposal depends on the symmetric part of U'U_new alone.
  void step_all(Stream& stream, double spread, MatrixXd& u) {
    for (Index l = 0; l < noise_.cols(); ++l) {
      for (Index k = 0; k < noise_.rows(); ++k) noise_(k, l) = stream.normal();
    }
    step_all(spread, noise_, u);
  }
  void step_all(double spread, const MatrixXd& e, MatrixXd& u) {
    u += spread * e;
    orthonormalise(u);
  }

  // Columns l and m turned by an angle in their plane.
  static void turn(Index l, Index m, double angle, MatrixXd& u) {
    const double c = std::cos(angle), s = std::sin(angle);
    for (Index k = 0; k < u.rows(); ++k) {
      const double first = u(k, l), second = u(k, m);
      u(k, l) = c * first - s * second;
      u(k, m) = s * first + c * second;
    }
  }

  // The polar factor U (U'U)^-1/2, the nearest frame. The second pass is a step
  // of Newton and Schulz, which squares what is left of the error.
  void orthonormalise(MatrixXd& u) {
    gram_.noalias() = u.transpose().lazyProduct(u);
    solver_.compute(gram_);
    const auto& vectors = solver_.eigenvectors();
    root_.noalias() =
        vectors.lazyProduct(solver_.eigenvalues().cwiseSqrt().cwiseInverse()
                                .asDiagonal() * vectors.transpose());
    noise_.noalias() = u.lazyProduct(root_);
    for (int pass = 0; pass < 2; ++pass) {
      gram_.noalias() = -0.5 * noise_.transpose().lazyProduct(noise_);
      gram_.diagonal().array() += 1.5;
      u.noalias() = noise_.lazyProduct(gram_);
      noise_ = u;
    }
  }

 private:
  static void fill_normal(Stream& stream, VectorXd& to) {
    for (Index k = 0; k < to.size(); ++k) to[k] = stream.normal();
  }
  void subtract_along(const MatrixXd& u, Index k) {
    vector_ -= u.col(k) * u.col(k).dot(vector_);
  }
  // Into the complement of all columns but l and m.
  void leave_others(const MatrixXd& u, Index l, Index m) {
    for (Index k = 0; k < u.cols(); ++k) {
      if (k != l && k != m) subtract_along(u, k);
    }
  }
  bool normalise(MatrixXd& u, Index l) {
    const double length = vector_.norm();
    if (!(length > 1e-8)) return false;
    u.col(l) = vector_ / length;
    return true;
  }

  MatrixXd noise_, gram_, root_;
  VectorXd vector_;
  Eigen::SelfAdjointEigenSolver<MatrixXd> solver_;
};

}  // namespace bayeskernel

#endif
