// Random walks along many coordinates at once, whose covariance is learned
// during warmup (Haario, Saksman and Tamminen 2001, Bernoulli 7, 223-242).
#pragma once

#include "eigen.hpp"

namespace bayeskernel {
class LearnedStep {
 public:
  explicit LearnedStep(Index size);

  Index size() const { return mean_.size(); }

  // Where the chain is: what was long ago counts less. size^2.
  void observe(const VectorXd& at);

  // From standard normal numbers a step of the learned covariance times
  // (2.38 sd)^2 / size, which is about the best one for sd = 1. size^2, and
  // size^3 / 6 after an observation.
  VectorXd step(const VectorXd& normal, double sd);

  // All that was learned, in a row: as many numbers as numbers() says.
  std::vector<double> learned() const;
  Index numbers() const { return 1 + mean_.size() + covariance_.size(); }
  void restore(const std::vector<double>& learned);

 private:
  static constexpr double kFirst = 0.1;  // variance before the first
  static constexpr double kLeast = 1e-4;
  static constexpr double kEarly = 20.0;  // observations that it counts for
  static constexpr double kLeastGain = 5e-4;

  double seen_ = 0.0;
  VectorXd mean_;
  MatrixXd covariance_, root_;
  bool fresh_ = false;
};
}  // namespace bayeskernel
