// Means and variances over draws that are seen once and not kept.
#ifndef BAYESKERNEL_GIBBS_RUNNING_MOMENTS_HPP
#define BAYESKERNEL_GIBBS_RUNNING_MOMENTS_HPP

#include <Eigen/Core>

namespace bayeskernel {

// Welford's recursion, element by element.
struct RunningMoments {
  double count = 0.0;
  Eigen::ArrayXd mean, squares;

  explicit RunningMoments(Eigen::Index size = 0);

  void add(const Eigen::ArrayXd& draw);

  void merge(const RunningMoments& other);

  Eigen::ArrayXd variance() const;
};

}  // namespace bayeskernel

#endif
