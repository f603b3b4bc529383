#include "klr/stiefel.hpp"

namespace bayeskernel {
void FrameWalk::draw_uniform(Stream& stream, MatrixXd& u) {
  for (Index l = 0; l < u.cols(); ++l) {
    do {
      fill_normal(stream, vector_);
      for (Index k = 0; k < l; ++k) subtract_along(u, k);
      for (Index k = 0; k < l; ++k) subtract_along(u, k);
    } while (!normalise(u, l));
  }
}

bool FrameWalk::step_column(Stream& stream, Index l, double step_size,
                            MatrixXd& u) {
  fill_normal(stream, vector_);
  return step_column(l, step_size, vector_, u);
}

bool FrameWalk::step_column(Index l, double step_size, const VectorXd& e,
                            MatrixXd& u) {
  vector_ = e;
  leave_others(u, l, l);
  if (std::isfinite(step_size)) vector_ = u.col(l) + step_size * vector_;
  leave_others(u, l, l);
  return normalise(u, l);
}

bool FrameWalk::step_pair(Stream& stream, Index l, Index m, double step_size,
                          MatrixXd& u) {
  fill_normal(stream, vector_);
  leave_others(u, l, m);
  if (std::isfinite(step_size)) vector_ = u.col(l) + step_size * vector_;
  leave_others(u, l, m);
  if (!normalise(u, l)) return false;
  vector_ = u.col(m);
  leave_others(u, m, m);
  leave_others(u, m, m);
  return normalise(u, m);
}

void FrameWalk::step_all(Stream& stream, double step_size, MatrixXd& u) {
  for (Index l = 0; l < noise_.cols(); ++l) {
    for (Index k = 0; k < noise_.rows(); ++k) noise_(k, l) = stream.normal();
  }
  step_all(step_size, noise_, u);
}

void FrameWalk::step_all(double step_size, const MatrixXd& e, MatrixXd& u) {
  u += step_size * e;
  orthonormalise(u);
}

void FrameWalk::turn(Index l, Index m, double angle, MatrixXd& u) {
  const double c = std::cos(angle), s = std::sin(angle);
  for (Index k = 0; k < u.rows(); ++k) {
    const double first = u(k, l), second = u(k, m);
    u(k, l) = c * first - s * second;
    u(k, m) = s * first + c * second;
  }
}

void FrameWalk::orthonormalise(MatrixXd& u) {
  gram_.noalias() = u.transpose().lazyProduct(u);
  solver_.compute(gram_);
  const auto& vectors = solver_.eigenvectors();
  root_.noalias() = vectors.lazyProduct(
      solver_.eigenvalues().cwiseSqrt().cwiseInverse().asDiagonal() *
      vectors.transpose());
  noise_.noalias() = u.lazyProduct(root_);
  for (int pass = 0; pass < 2; ++pass) {
    gram_.noalias() = -0.5 * noise_.transpose().lazyProduct(noise_);
    gram_.diagonal().array() += 1.5;
    u.noalias() = noise_.lazyProduct(gram_);
    noise_ = u;
  }
}

void FrameWalk::subtract_along(const MatrixXd& u, Index k) {
  vector_ -= u.col(k) * u.col(k).dot(vector_);
}

void FrameWalk::leave_others(const MatrixXd& u, Index l, Index m) {
  for (Index k = 0; k < u.cols(); ++k) {
    if (k != l && k != m) subtract_along(u, k);
  }
}

bool FrameWalk::normalise(MatrixXd& u, Index l) {
  const double length = vector_.norm();
  if (!(length > 1e-8)) return false;
  u.col(l) = vector_ / length;
  return true;
}
}  // namespace bayeskernel
