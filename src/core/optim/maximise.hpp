// The maximum of a smooth function of some ten unknowns: the method of Broyden,
// Fletcher, Goldfarb and Shanno with a dense matrix and steps that are halved
// until they gain.
#pragma once

#include "eigen.hpp"

namespace bayeskernel {
struct Maximum {
  VectorXd at;
  double value = 0.0;
  int evaluations = 0;
  bool converged = false;
};

// `f(x, gradient)` is the value at x, and NaN where there is none; `visit()` is
// called after each step that gained and says whether to go on. Ends when a
// step gains less than `tolerance`. No coordinate moves by more than 2 at once.
template <class F, class Visit>
Maximum maximise(F&& f, const VectorXd& start, double tolerance, int most,
                 Visit&& visit) {
  constexpr double kLongest = 2.0;
  const Index n = start.size();
  VectorXd gradient(n), next_gradient(n);
  Maximum out;
  out.at = start;
  out.value = f(out.at, gradient);
  out.evaluations = 1;
  MatrixXd inverse = MatrixXd::Identity(n, n);
  bool fresh = true;
  while (visit() && out.evaluations < most) {
    VectorXd step = inverse * gradient;
    double slope = step.dot(gradient);
    if (!(slope > 0.0)) {
      inverse.setIdentity();
      fresh = true;
      step = gradient;
      slope = step.squaredNorm();
    }
    if (!(slope > 0.0)) {
      out.converged = true;
      break;
    }
    double length = std::min(1.0, kLongest / step.cwiseAbs().maxCoeff());
    if (fresh) length = std::min(length, 0.5 / step.cwiseAbs().maxCoeff());
    double value = 0.0;
    VectorXd next;
    bool gained = false;
    for (int halving = 0; halving < 12 && out.evaluations < most; ++halving) {
      next = out.at + length * step;
      value = f(next, next_gradient);
      ++out.evaluations;
      gained = value >= out.value + 1e-4 * length * slope;
      if (gained) break;
      length *= 0.4;
    }
    if (!gained) {
      out.converged = length * slope < 10.0 * tolerance;
      if (fresh || out.converged) break;
      inverse.setIdentity();
      fresh = true;
      continue;
    }
    const VectorXd moved = next - out.at, bent = gradient - next_gradient;
    const double gain = value - out.value, curvature = moved.dot(bent);
    out.at = next;
    out.value = value;
    gradient = next_gradient;
    if (curvature > 1e-12 * moved.norm() * bent.norm()) {
      if (fresh) inverse *= curvature / bent.squaredNorm();
      const VectorXd image = inverse * bent;
      inverse +=
          (1.0 + bent.dot(image) / curvature) / curvature * moved *
              moved.transpose() -
          (image * moved.transpose() + moved * image.transpose()) / curvature;
      fresh = false;
    }
    if (gain < tolerance) {
      out.converged = true;
      visit();
      break;
    }
  }
  return out;
}
}  // namespace bayeskernel
