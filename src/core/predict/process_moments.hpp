// Moments over draws of a process at inducing points: f = phi'v + e by row,
// e ~ N(0, r) of its own. O(draws m) a row.
//
// Mean and variance of f as in Wenzel et al. (2017), eq. 13.
#pragma once

#include <functional>

#include "eigen.hpp"
#include "gp/features.hpp"
#include "linear/gaussian.hpp"
#include "parallel/executor.hpp"
#include "predict/draw_moments.hpp"
#include "predict/link.hpp"

namespace bayeskernel {
// `points`: v, m x draws.
DrawMoments process_moments(const FeatureRows& rows, const MatrixRef& points,
                            const std::vector<LinkCurve>& links,
                            Executor& executor);

// Means and variances of f, rows x machines, under the Gaussians q(v) of each,
// which are without groups.
struct ProcessMoments {
  MatrixXd mean, variance;
};
ProcessMoments process_moments(const FeatureRows& rows,
                               const std::vector<GaussianPosterior>& q,
                               Executor& executor);

// phi'v of each row and column v of `points`, and the rows' variances r.
// look() is called between tiles.
struct ProcessValues {
  MatrixXd f;
  VectorXd residual;
};
ProcessValues process_values(const FeatureRows& rows, const MatrixRef& points,
                             const std::function<void()>& look);
}  // namespace bayeskernel
