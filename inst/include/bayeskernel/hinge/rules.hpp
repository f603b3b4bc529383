// Rules: what turns a row's moments into its two numbers (kappa, shift), with
// f the row's latent value, m and s its mean and variance, y its label, w its
// likelihood power (engine.md; svm.md section 1).
#ifndef BAYESKERNEL_HINGE_RULES_HPP
#define BAYESKERNEL_HINGE_RULES_HPP

#include <algorithm>
#include <cmath>


namespace bayeskernel {

// c is floored here: E[1/a] = 1/c would blow up for a row on the margin.
constexpr double kScaleFloor = 1e-8;

struct RowMoments {
  double kappa;  // omega / c
  double shift;  // derivative of the bound in m
  double newton; // minus the second derivative in m at fixed s
  double bound;  // the row's term of the bound
};

// Mean field (svm.md section 4): chi = (1 - y m)^2 + s, c = sqrt(chi).
inline RowMoments mean_field(double y, double w, double m, double s) {
  const double slack = 1.0 - y * m;
  const double chi = slack * slack + s;
  const double root = std::sqrt(chi);
  const double c = std::max(root, kScaleFloor);
  const double kappa = w / c;
  return {kappa, y * (w + kappa * slack), kappa * s / (c * c),
          -w * (slack + 0.5 * (c + chi / c))};
}

// The same at c = 1, where the iteration starts.
inline RowMoments unit_scale(double y, double w, double m) {
  return {w, y * w * (2.0 - y * m), 0.0, 0.0};
}

}  // namespace bayeskernel

#endif
