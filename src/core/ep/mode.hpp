// The mode of log Z + log prior in the hyperparameters x, by BFGS with the
// gradient that EP gives away; each evaluation starts from the messages of the
// one before. Few coordinates.
#pragma once

#include <functional>

#include "eigen.hpp"

namespace bayeskernel {
struct HyperValue {
  double value = -std::numeric_limits<double>::infinity();
  VectorXd gradient;
};

struct HyperMode {
  VectorXd x;
  HyperValue at;
  MatrixXd inverse_hessian;  // of minus the value, as far as learned
  int updates = 0;           // steps that taught it
};

// From x until the step that is left gains less than `gain`. `inverse` is a
// guess of the inverse Hessian of minus the value.
HyperMode climb(const std::function<HyperValue(const VectorXd&)>& evaluate,
                const VectorXd& x, const MatrixXd& inverse, double gain);
}  // namespace bayeskernel
