#include "expansion/holmes_held.hpp"

namespace bayeskernel {
void HolmesHeld::prepare(const double* columns, Index stride,
                         const CollapsedGaussian& gaussian) {
  const Index m = gaussian.size();
  width_ = padded_size(m);
  if (rows_.size() < width_ * n_) {
    rows_ = AlignedBuffer(2 * width_ * n_);
    gains_ = AlignedBuffer(2 * width_ * n_);
  }
  for (Index i = 0; i < n_; ++i) {
    double* row = rows_.data() + i * width_;
    for (Index j = 0; j < m; ++j) row[j] = columns[j * stride + i];
    std::fill(row + m, row + width_, 0.0);
  }
  symmetric_rows(gaussian.covariance(0), gaussian.stride(), m, rows_.data(),
                 width_, n_, gains_.data());
  for (Index i = 0; i < n_; ++i) {
    double* gain = gains_.data() + i * width_;
    std::fill(gain + m, gain + width_, 0.0);
    leverage_[i] = padded_dot(rows_.data() + i * width_, gain, width_);
  }
  std::copy_n(gaussian.mean(), m, mean_.data());
  std::fill(mean_.data() + m, mean_.data() + width_, 0.0);
}
}  // namespace bayeskernel
