// Eigen, and the names of it that stand bare in the core.
#ifndef BAYESKERNEL_EIGEN_HPP
#define BAYESKERNEL_EIGEN_HPP

#include <Eigen/Core>

namespace bayeskernel {

using Eigen::Index;
using Eigen::MatrixXd;
using Eigen::VectorXd;

}  // namespace bayeskernel

#endif
