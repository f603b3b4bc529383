#include "math/kmeans.hpp"

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

void Centres::set(Index j, const VectorRef& z) {
  Eigen::Map<MatrixXd> panel(panels_.col(j / kWidth).data(), kWidth, d_);
  panel.row(j % kWidth) = (z - origin_).transpose();
  half_[j] = 0.5 * (z - origin_).squaredNorm() + origin_.dot(z - origin_);
}

void lloyd(const MatrixRef& x, int steps, MatrixXd& centres,
           Executor& executor) {
  constexpr Index kBlock = 512;
  const Index n = x.cols(), m = centres.cols();
  const Index blocks = (n + kBlock - 1) / kBlock;
  Centres ready(x.rowwise().mean(), m);
  std::vector<int> label(n, -1);
  std::vector<char> moved(blocks);
  MatrixXd sum(x.rows(), m);
  VectorXd rows(m);
  for (int step = 0; step < steps; ++step) {
    ready.assign(centres);
    executor.run(blocks, [&](Index block) {
      const Index at = block * kBlock, size = std::min(kBlock, n - at);
      int now[kBlock];
      ready.nearest(x.middleCols(at, size), now);
      moved[block] = !std::equal(now, now + size, label.begin() + at);
      std::copy(now, now + size, label.begin() + at);
    });
    if (std::find(moved.begin(), moved.end(), 1) == moved.end()) return;
    sum.setZero();
    rows.setZero();
    for (Index i = 0; i < n; ++i) {
      sum.col(label[i]) += x.col(i);
      rows[label[i]] += 1.0;
    }
    for (Index j = 0; j < m; ++j) {
      if (rows[j] > 0.0) centres.col(j) = sum.col(j) / rows[j];
    }
  }
}
}  // namespace bayeskernel
