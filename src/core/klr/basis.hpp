// Columns K(x_i, c) = exp{-(1/2) sum_l lambda_l (u_l'(x_i - c))^2} of the rows
// at the centres in use, which are rows too, on their projection to the span
// of U. Column 0 is the intercept, 1 everywhere. Each column is formed afresh
// from the projected rows when its centre, its scales or U change: its
// exponential takes most of the time, and nothing drifts.
#pragma once

#include "eigen.hpp"
#include "simd/aligned_buffer.hpp"
#include "simd/gaussian_column.hpp"

namespace bayeskernel {
// Rows on the model's scale, n x p; shared by the chains.
class LowRankData {
 public:
  explicit LowRankData(const MatrixRef& rows);

  Index rows() const { return n_; }
  Index stride() const { return stride_; }
  Index variables() const { return p_; }

  // out = X u, padded with zeros. n p multiply-adds.
  void project(const double* u, double* out) const;

 private:
  Index n_, p_, stride_;
  AlignedBuffer predictors_;
};

class ProjectedBasis {
 public:
  // At most `capacity` kernels, and one that is tried.
  ProjectedBasis(const LowRankData& data, Index rank, Index capacity);

  const LowRankData& data() const { return data_; }
  Index rank() const { return rank_; }
  Index stride() const { return data_.stride(); }
  // Columns, with the intercept; kernels are columns 1..size() - 1.
  Index size() const { return m_; }
  Index kernels() const { return m_ - 1; }
  const double* values() const { return values_.data(); }
  const double* column(Index j) const { return values_.data() + j * stride(); }
  const double* proposed_values() const { return new_values_.data(); }
  const MatrixXd& frame() const { return frame_; }
  Index centre(Index j) const { return centre_[j]; }
  double log_lambda(Index j, Index l) const { return log_lambda_(l, j); }

  // ---- A column that is tried, behind those in use

  Index& tried_centre() { return centre_[m_]; }
  auto tried_log_lambda() { return log_lambda_.col(m_); }
  // Starts it as column j is.
  void try_from(Index j);
  const double* try_column();
  void append() { ++m_; }
  void replace(Index j) { copy(m_, j); }

  // The last column takes the place of the removed one.
  void remove(Index j) {
    if (j != --m_) copy(m_, j);
  }
  void clear() { m_ = 1; }

  // ---- All columns: another frame, or all log lambda moved by a shift

  MatrixXd& proposed_frame() { return new_frame_; }
  void start_frame() { new_frame_ = frame_; }
  // Fills proposed_values(). Coordinates of unchanged columns of the frame are
  // taken over.
  void propose_frame();
  void accept_frame();
  void propose_shift(double shift);
  void accept_shift();

  // At once, with all columns.
  void set_frame(const MatrixXd& frame);

  // Of a squared difference. Scales beyond 1e-12 and 1e12 are as these: the
  // prior is not cut.
  static double weight(double log_lambda) {
    constexpr double kLargest = 27.631021115928547;
    return 0.5 * std::exp(std::min(std::max(log_lambda, -kLargest), kLargest));
  }

 private:
  void fill(const AlignedBuffer& projected, const MatrixXd& log_lambda, Index j,
            AlignedBuffer& values);
  void copy(Index from, Index to);

  const LowRankData& data_;
  Index rank_;
  Index m_ = 1;
  MatrixXd frame_, new_frame_;  // p x r
  AlignedBuffer projected_, new_projected_;
  AlignedBuffer values_, new_values_, sum_;
  std::vector<Index> centre_;             // by column
  MatrixXd log_lambda_, new_log_lambda_;  // r x columns
  std::vector<ScaleTerm> terms_;
};
}  // namespace bayeskernel
