// Means and variances over draws that are seen once and not kept.
#ifndef BAYESKERNEL_GIBBS_RUNNING_MOMENTS_HPP
#define BAYESKERNEL_GIBBS_RUNNING_MOMENTS_HPP

#include <Eigen/Core>

namespace bayeskernel {

// Welford's recursion, element by element.
struct RunningMoments {
  double count = 0.0;
  Eigen::ArrayXd mean, squares;

  explicit RunningMoments(Eigen::Index size = 0)
      : mean(Eigen::ArrayXd::Zero(size)), squares(Eigen::ArrayXd::Zero(size)) {}

  void add(const Eigen::ArrayXd& draw) {
    count += 1.0;
    squares += (1.0 - 1.0 / count) * (draw - mean).square();
    mean += (draw - mean) / count;
  }

  void merge(const RunningMoments& other) {
    if (other.count == 0.0) return;
    const double total = count + other.count;
    squares += other.squares +
               (count * other.count / total) * (other.mean - mean).square();
    mean += (other.count / total) * (other.mean - mean);
    count = total;
  }

  Eigen::ArrayXd variance() const {
    if (count < 2.0) return Eigen::ArrayXd::Zero(mean.size());
    return squares / (count - 1.0);
  }
};

}  // namespace bayeskernel

#endif
