// The mode of log Z + log prior in the hyperparameters x, by BFGS with the
// gradient that EP gives away; each evaluation starts from the messages of the
// one before. Few coordinates.
#ifndef BAYESKERNEL_EP_MODE_HPP
#define BAYESKERNEL_EP_MODE_HPP

#include <Eigen/Core>
#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>

namespace bayeskernel {

struct HyperValue {
  double value = -std::numeric_limits<double>::infinity();
  Eigen::VectorXd gradient;
};

struct HyperMode {
  Eigen::VectorXd x;
  HyperValue at;
  Eigen::MatrixXd inverse_hessian;  // of minus the value, as far as learned
  int updates = 0;                  // steps that taught it
};

// From x until the step that is left gains less than `gain`. `inverse` is a
// guess of the inverse Hessian of minus the value.
HyperMode climb(
    const std::function<HyperValue(const Eigen::VectorXd&)>& evaluate,
    const Eigen::VectorXd& x, const Eigen::MatrixXd& inverse, double gain);

}  // namespace bayeskernel

#endif
