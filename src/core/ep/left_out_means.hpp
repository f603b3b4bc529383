// What a grid of variances makes of theta without a row. Each of its points
// moves by what one step says, and weighs less the better it explained the row:
// at one point alone theta may stand still where the weights of the points do
// not, as where a prior's scale is all but 0.
#pragma once

#include "eigen.hpp"
#include "ep/fit.hpp"

namespace bayeskernel {
class LeftOutMeans {
 public:
  // `copies`: of how many equal observations each row stands, one of which is
  // left out.
  explicit LeftOutMeans(VectorXd copies) : copies_(std::move(copies)) {}

  // A point of the grid; O(n p^2).
  void add(const EpFit& fit, double weight);

  // sum delta delta' of the observations, delta what leaving one out moves
  // `mean` by.
  MatrixXd jackknife(const VectorXd& mean) const;

 private:
  // log E_q exp(-g u + kappa u^2 / 2), u = f - m ~ N(0, s): what q gains where
  // the site is taken out.
  static double log_without(double gradient, double kappa, double s);

  VectorXd copies_, held_out_, origin_;
  MatrixXd moved_;  // p x n, sums
};
}  // namespace bayeskernel
