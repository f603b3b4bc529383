#include "ep/left_out_means.hpp"

#include "ep/influence.hpp"
#include "ep/sites.hpp"
#include "linear/gaussian.hpp"
#include "rows/rows.hpp"
#include "rows/sums.hpp"

namespace bayeskernel {
void LeftOutMeans::add(const EpFit& fit, double weight) {
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
      const double cavity = cavity_fraction(kappa / copies, s);
      // log Z of one of them: of the site's c-th root.
      const double log_z =
          (fit.sites.log_z[at] + log_without(gradient, kappa, s)) / copies -
          log_without(gradient / copies, kappa / copies, s);
      if (first) origin_[at] = log_z;
      const double scale = weight * std::exp(origin_[at] - log_z);
      held_out_[at] += scale;
      moved_.col(at) +=
          scale * (mean - step.col(i) * (gradient / (copies * cavity)));
    }
  });
}

MatrixXd LeftOutMeans::jackknife(const VectorXd& mean) const {
  MatrixXd delta = MatrixXd::Zero(mean.size(), held_out_.size());
  for (Index i = 0; i < held_out_.size(); ++i) {
    if (!(held_out_[i] > 0.0)) continue;
    delta.col(i) =
        std::sqrt(copies_[i]) * (mean - moved_.col(i) / held_out_[i]);
  }
  return delta * delta.transpose();
}

double LeftOutMeans::log_without(double gradient, double kappa, double s) {
  const double cavity = cavity_fraction(kappa, s);
  return 0.5 * (gradient * gradient * s / cavity - std::log(cavity));
}
}  // namespace bayeskernel
