// Sliced average variance estimation (Cook & Weisberg 1991) of the directions
// that two classes depend on, where chains begin.
#pragma once

#include "eigen.hpp"

namespace bayeskernel {
namespace detail {
// Divisor n - 1; a single row has the identity.
MatrixXd class_covariance(const MatrixXd& z);
}  // namespace detail

// The frame of r directions; `positive`: whether a row is of the second class.
// O(n p^2 + p^3).
MatrixXd save_frame(const MatrixRef& x, const VectorRef& positive, Index r);
}  // namespace bayeskernel
