// Sites of columns under selection: theta_k has the prior
//   (1 - rho) delta_0 + rho Laplace(scale),
// which sends it the message exp(b theta - kappa theta^2 / 2) as rows do theirs
// (sites.hpp). The messages are written into the precision and mean that the
// columns have in a copy of the prior, which EpFit reads.
#pragma once

#include "eigen.hpp"
#include "prior/blocks.hpp"
#include "prior/indicators.hpp"

namespace bayeskernel {
// The law of theta where its prior meets the cavity N(m, v).
struct SpikeSlabMoments {
  double log_z, inclusion, mean, variance;
};

// `log_in`, `log_out`: logarithms of the prior weights of slab and spike. The
// slab's halves are normals of mean m -/+ v / scale cut off at 0.
SpikeSlabMoments spike_slab(double m, double v, double log_in, double log_out,
                            double scale);

class SelectionSites {
 public:
  // The slab is not log-concave: precisions of its messages may be negative,
  // and are held above this, by the variance of the slab where that is large.
  static constexpr double kFloor = 1e-3;
  // A variance of the tilted law below this ratio of the cavity's counts as
  // that: beyond, the cavity would be lost in rounding.
  static constexpr double kLeastRatio = 1e-8;

  SelectionSites(const Prior& prior, const Selection& selection);
  SelectionSites(const SelectionSites&) = delete;
  SelectionSites& operator=(const SelectionSites&) = delete;

  // With the messages.
  const Prior& prior() const { return prior_; }
  Index size() const { return kappa_.size(); }

  // What the messages settle at: the scale of the slab, log rho / (1 - rho).
  void set(double scale, double logit_rho);

  // Columns that are in have the slab's variance, the others the precision
  // `out`.
  void start(const VectorXd& in, double out);

  // Messages anew from the moments of theta under q; what the columns add to
  // log Z at q, the messages before the update being priors of weight one.
  double update(const VectorXd& m, const VectorXd& s, double damping);

  // The largest move of a message, before damping.
  double change() const { return change_; }
  // Of the tilted laws, in the order of Selection::columns.
  const VectorXd& inclusion() const { return inclusion_; }
  const VectorXd& mean() const { return mean_; }
  const VectorXd& variance() const { return variance_; }

  // Messages to go on from.
  struct State {
    VectorXd kappa, b;
  };
  State state() const { return {kappa_, b_}; }
  void restore(const State& from);

 private:
  void write();

  const Selection& selection_;
  Prior prior_;
  VectorXd kappa_, b_, inclusion_, mean_, variance_;
  double scale_ = 1.0, change_ = 0.0;
  double log_in_ = 0.0, log_out_ = 0.0;  // log rho, log(1 - rho)
};
}  // namespace bayeskernel
