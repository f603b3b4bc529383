#include "rows/moments.hpp"

#include <Eigen/Core>
#include <limits>

namespace bayeskernel {

ColumnMoments::ColumnMoments(Eigen::Index p)
    : mean(Eigen::VectorXd::Zero(p)),
      sd(Eigen::VectorXd::Zero(p)),
      minimum(Eigen::VectorXd::Constant(
          p, std::numeric_limits<double>::infinity())),
      maximum(-minimum),
      missing(Eigen::VectorXd::Zero(p)) {}

}  // namespace bayeskernel
