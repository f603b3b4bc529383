// Sliced average variance estimation (Cook & Weisberg 1991) of the directions
// that two classes depend on, where chains begin.
#ifndef BAYESKERNEL_KLR_SAVE_HPP
#define BAYESKERNEL_KLR_SAVE_HPP

#include <Eigen/Core>

namespace bayeskernel {

namespace detail {

// Divisor n - 1; a single row has the identity.
Eigen::MatrixXd class_covariance(const Eigen::MatrixXd& z);

}  // namespace detail

// The frame of r directions; `positive`: whether a row is of the second class.
// O(n p^2 + p^3).
Eigen::MatrixXd save_frame(const Eigen::Ref<const Eigen::MatrixXd>& x,
                           const Eigen::Ref<const Eigen::VectorXd>& positive,
                           Eigen::Index r);

}  // namespace bayeskernel

#endif
