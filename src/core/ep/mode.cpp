#include "ep/mode.hpp"

namespace bayeskernel {
HyperMode climb(const std::function<HyperValue(const VectorXd&)>& evaluate,
                const VectorXd& x, const MatrixXd& inverse, double gain) {
  constexpr int kSteps = 25;
  constexpr double kLongest = 1.5;  // a factor of 4.5 in a variance
  HyperMode out{x, evaluate(x), inverse, 0};
  for (int k = 0; k < kSteps; ++k) {
    const VectorXd& g = out.at.gradient;
    VectorXd step = out.inverse_hessian * g;
    if (0.5 * g.dot(step) < gain) break;
    step *= std::min(1.0, kLongest / step.cwiseAbs().maxCoeff());
    HyperValue next;
    bool up = false;
    for (int halving = 0; halving < 20 && !up; ++halving) {
      if (halving > 0) step *= 0.4;
      next = evaluate(out.x + step);
      up = next.value >= out.at.value - 1e-6 * (1.0 + std::abs(out.at.value));
    }
    if (!up) break;
    const VectorXd fall = g - next.gradient;
    const double curvature = fall.dot(step);
    if (curvature > 1e-8 * step.squaredNorm()) {
      const MatrixXd& h = out.inverse_hessian;
      const VectorXd hf = h * fall;
      out.inverse_hessian +=
          (1.0 + fall.dot(hf) / curvature) / curvature * step *
              step.transpose() -
          (hf * step.transpose() + step * hf.transpose()) / curvature;
      ++out.updates;
    }
    out.x += step;
    out.at = next;
  }
  return out;
}
}  // namespace bayeskernel
