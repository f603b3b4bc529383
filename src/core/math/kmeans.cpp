#include "math/kmeans.hpp"

#include <limits>
#include <utility>

#include "eigen.hpp"
#include "parallel/executor.hpp"
#include "simd/simd.hpp"

namespace bayeskernel {

Centres::Centres(VectorXd origin, Index capacity)
    : d_(origin.size()),
      origin_(std::move(origin)),
      panels_(MatrixXd::Zero(kWidth * d_, (capacity + kWidth - 1) / kWidth)),
      half_(VectorXd::Constant(kWidth * panels_.cols(),
                               std::numeric_limits<double>::infinity())) {}

void Centres::assign(const MatrixXd& z) {
  size_ = z.cols();
  for (Index j = 0; j < size_; ++j) set(j, z.col(j));
}

void Centres::set(Index j, const Eigen::Ref<const VectorXd>& z) {
  Eigen::Map<MatrixXd> panel(panels_.col(j / kWidth).data(), kWidth, d_);
  panel.row(j % kWidth) = (z - origin_).transpose();
  half_[j] = 0.5 * (z - origin_).squaredNorm() + origin_.dot(z - origin_);
}

}  // namespace bayeskernel
