// What more inducing points would add to the bound of a fit. The features of
// more points are those that there are, and new ones, independent of these
// before the data. With q of the old features as it is, what these say of f is
// an offset and a variance of every row, and the new ones have a fit of their
// own: k x k matrices for k new points.
#pragma once

#include "eigen.hpp"
#include "gp/features.hpp"
#include "optim/ascent.hpp"
#include "optim/progress.hpp"
#include "parallel/executor.hpp"

namespace bayeskernel {
// Of `rows`, whose features are those of the m points of the fit, of which q is
// N(mean, whitener' whitener), and of some more. NaN when interrupted.
double gain_of_more_points(const FeatureRows& rows, const VectorXd& mean,
                           const MatrixRef& whitener, Executor& executor,
                           const MeanFieldSettings& settings,
                           const KeepGoing& keep_going);
}  // namespace bayeskernel
