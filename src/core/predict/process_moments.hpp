// Moments over draws of a process at inducing points: f = phi'v + e by row,
// e ~ N(0, r) of its own. O(draws m) a row.
#ifndef BAYESKERNEL_PREDICT_PROCESS_MOMENTS_HPP
#define BAYESKERNEL_PREDICT_PROCESS_MOMENTS_HPP

#include <vector>

#include "eigen.hpp"
#include "gp/features.hpp"
#include "parallel/executor.hpp"
#include "predict/draw_moments.hpp"
#include "predict/link.hpp"

namespace bayeskernel {

// `points`: v, m x draws.
DrawMoments process_moments(
    const FeatureRows& rows, const Eigen::Ref<const MatrixXd>& points,
    const std::vector<LinkCurve>& links, Executor& executor);

}  // namespace bayeskernel

#endif
