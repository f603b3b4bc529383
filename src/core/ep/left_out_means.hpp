// What a grid of variances makes of theta without a row. Each of its points moves
// by what one step says, and weighs less the better it explained the row: at one
// point alone theta may stand still where the weights of the points do not, as
// where a prior's scale is all but 0.
#ifndef BAYESKERNEL_EP_LEFT_OUT_MEANS_HPP
#define BAYESKERNEL_EP_LEFT_OUT_MEANS_HPP

#include <Eigen/Core>
#include <cmath>
#include <utility>

#include "ep/fit.hpp"
#include "ep/influence.hpp"

namespace bayeskernel {

class LeftOutMeans {
 public:
  // `copies`: of how many equal observations each row stands, one of which is
  // left out.
  explicit LeftOutMeans(VectorXd copies) : copies_(std::move(copies)) {}

  // A point of the grid; O(n p^2).
  void add(const EpFit& fit, double weight) {
    const RowInfluence rows = site_influence(fit.sites);
    const VectorXd& mean = fit.posterior().mean.x;
    const MatrixXd cov = fit.posterior().theta_covariance();
    const Index n = rows.mean.size();
    const bool first = held_out_.size() == 0;
    if (first) {
      held_out_ = origin_ = VectorXd::Zero(n);
      moved_ = MatrixXd::Zero(mean.size(), n);
    }
    MatrixXd step;
    for_tiles(fit.rows(), [&](const TileSpan& span, const Tile& tile) {
      step.noalias() = cov * tile.x;
      for (Index i = 0; i < span.rows(); ++i) {
        const Index at = span.row_begin + i;
        const double copies = copies_[at];
        if (!(copies > 0.0)) continue;
        const double kappa = rows.kappa[at], s = rows.variance[at];
        const double gradient = rows.gradient[at];
        const double share = share_of_others(kappa / copies, s);
        // log Z of one of them: of the site's c-th root.
        const double log_z =
            (fit.sites.log_z[at] + log_without(gradient, kappa, s)) / copies -
            log_without(gradient / copies, kappa / copies, s);
        if (first) origin_[at] = log_z;
        const double scale = weight * std::exp(origin_[at] - log_z);
        held_out_[at] += scale;
        moved_.col(at) +=
            scale * (mean - step.col(i) * (gradient / (copies * share)));
      }
    });
  }

  // sum delta delta' of the observations, delta what leaving one out moves
  // `mean` by.
  MatrixXd jackknife(const VectorXd& mean) const {
    MatrixXd delta = MatrixXd::Zero(mean.size(), held_out_.size());
    for (Index i = 0; i < held_out_.size(); ++i) {
      if (!(held_out_[i] > 0.0)) continue;
      delta.col(i) =
          std::sqrt(copies_[i]) * (mean - moved_.col(i) / held_out_[i]);
    }
    return delta * delta.transpose();
  }

 private:
  // log E_q exp(-g u + kappa u^2 / 2), u = f - m ~ N(0, s): what q gains where
  // the site is taken out.
  static double log_without(double gradient, double kappa, double s) {
    const double share = share_of_others(kappa, s);
    return 0.5 * (gradient * gradient * s / share - std::log(share));
  }

  VectorXd copies_, held_out_, origin_;
  MatrixXd moved_;  // p x n, sums
};

}  // namespace bayeskernel

#endif
