// The climb to the likeliest hyperparameters.
#include "check.hpp"
#include "ep/mode.hpp"

using namespace bayeskernel;

// One coordinate is known a thousand times better than the others, of which the
// guess of the inverse Hessian says nothing: the first step is far too long.
TEST("a mode is found from a guess that is far too long in one coordinate") {
  VectorXd top(3);
  top << -2.2, -7.0, -0.7;
  const VectorXd curvature = (VectorXd(3) << 46.0, 0.4, 900.0).finished();
  const auto value = [&](const VectorXd& x) {
    const VectorXd gap = x - top;
    return HyperValue{-2600.0 - 0.5 * gap.cwiseAbs2().dot(curvature),
                      -gap.cwiseProduct(curvature)};
  };
  VectorXd start = top;
  start[0] += 0.26;
  start[1] += 2.0;
  start[2] += 7e-4;
  const VectorXd guess = (VectorXd(3) << 1.0 / 130, 1.0 / 66, 1.0).finished();
  const HyperMode mode = climb(value, start, guess.asDiagonal(), 2e-3);
  CHECK(mode.at.value > -2600.0 - 0.05);
  CHECK(mode.updates > 0);
}
