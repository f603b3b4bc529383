// Sites of columns under selection: theta_k has the prior
//   (1 - rho) delta_0 + rho Laplace(scale),
// which sends it the message exp(b theta - kappa theta^2 / 2) as rows do theirs
// (sites.hpp). The messages are written into the precision and mean that the
// columns have in a copy of the prior, which EpFit reads.
#ifndef BAYESKERNEL_EP_SELECTION_SITES_HPP
#define BAYESKERNEL_EP_SELECTION_SITES_HPP

#include <Eigen/Core>
#include <algorithm>
#include <array>
#include <cmath>

#include "prior/blocks.hpp"
#include "math/normal.hpp"
#include "math/special.hpp"
#include "linear/completions.hpp"
#include "prior/indicators.hpp"

namespace bayeskernel {

// The law of theta where its prior meets the cavity N(m, v).
struct SpikeSlabMoments {
  double log_z, inclusion, mean, variance;
};

// `log_in`, `log_out`: logarithms of the prior weights of slab and spike. The
// slab's halves are normals of mean m -/+ v / scale cut off at 0.
inline SpikeSlabMoments spike_slab(double m, double v, double log_in,
                                   double log_out, double scale) {
  const double root = std::sqrt(v), u = m / root, ratio = root / scale;
  SpikeSlabMoments out;
  // Spike, positive half, negative half; less -u^2 / 2, which they share.
  std::array<double, 3> weight{
      log_out - detail::kLogSqrtTwoPi - std::log(root), 0.0, 0.0};
  std::array<double, 3> mean{}, variance{};
  for (const int side : {1, 2}) {
    const double sign = side == 1 ? 1.0 : -1.0;
    const double a = sign * u - ratio;
    const BelowNormal half = below_normal(a);
    weight[side] = log_in - std::log(2.0 * scale) +
                   (a < 0.0 ? std::log(mills_ratio(-a)) - detail::kLogSqrtTwoPi
                            : 0.5 * a * a + half.log_cdf);
    mean[side] = sign * root * half.excess;
    variance[side] = v * half.variance;
  }
  out.log_z = softmax(3, weight.data()) - 0.5 * u * u;
  out.inclusion = weight[1] + weight[2];
  out.mean = weight[1] * mean[1] + weight[2] * mean[2];
  out.variance = 0.0;
  for (std::size_t j = 0; j < 3; ++j) {
    const double away = mean[j] - out.mean;
    out.variance += weight[j] * (variance[j] + away * away);
  }
  return out;
}

class SelectionSites {
 public:
  // The slab is not log-concave: precisions of its messages may be negative,
  // and are held above this, by the variance of the slab where that is large.
  static constexpr double kFloor = 1e-3;
  // A variance of the tilted law below this share of the cavity's counts as
  // that: beyond, the cavity would be lost in rounding.
  static constexpr double kLeastShare = 1e-8;

  SelectionSites(const Prior& prior, const Selection& selection)
      : selection_(selection),
        prior_(prior),
        kappa_(VectorXd::Ones(selection.size())),
        b_(VectorXd::Zero(selection.size())),
        inclusion_(b_),
        mean_(b_),
        variance_(b_) {
    write();
  }
  SelectionSites(const SelectionSites&) = delete;
  SelectionSites& operator=(const SelectionSites&) = delete;

  // With the messages.
  const Prior& prior() const { return prior_; }
  Index size() const { return kappa_.size(); }

  // What the messages settle at: the scale of the slab, log rho / (1 - rho).
  void set(double scale, double logit_rho) {
    scale_ = scale;
    log_in_ = log_expit(logit_rho);
    log_out_ = log_expit(-logit_rho);
  }

  // Columns that are in have the slab's variance, the others the precision
  // `out`.
  void start(const VectorXd& in, double out) {
    for (Index k = 0; k < size(); ++k) {
      kappa_[k] = in[k] > 0.5 ? 0.5 / (scale_ * scale_) : out;
      b_[k] = 0.0;
    }
    write();
  }

  // Messages anew from the moments of theta under q; what the columns add to
  // log Z at q, the messages before the update being priors of weight one.
  double update(const VectorXd& m, const VectorXd& s, double damping) {
    double evidence = 0.0;
    change_ = 0.0;
    const double floor = kFloor * std::min(1.0, 1.0 / (scale_ * scale_));
    for (Index k = 0; k < size(); ++k) {
      const Index c = selection_.columns[k];
      const double kappa = kappa_[k], b = b_[k];
      const double v = s[c] / std::max(1.0 - kappa * s[c], 1e-10);
      const double cavity = m[c] + (kappa * m[c] - b) * v;
      const SpikeSlabMoments tilted =
          spike_slab(cavity, v, log_in_, log_out_, scale_);
      const double both = v + 1.0 / kappa, gap = cavity - b / kappa;
      evidence += tilted.log_z + detail::kLogSqrtTwoPi +
                  0.5 * (std::log(both) + gap * gap / both);
      inclusion_[k] = tilted.inclusion;
      mean_[k] = tilted.mean;
      variance_[k] = tilted.variance;
      const double share = std::max(tilted.variance / v, kLeastShare);
      const double precision = std::max((1.0 / share - 1.0) / v, floor);
      // The mean is kept whatever the precision.
      const double shift =
          tilted.mean * precision + (tilted.mean - cavity) / v;
      const double d_kappa = precision - kappa, d_b = shift - b;
      change_ = std::max(change_, std::abs(d_kappa) * s[c] +
                                      std::abs(d_b - m[c] * d_kappa) *
                                          std::sqrt(s[c]));
      kappa_[k] += damping * d_kappa;
      b_[k] += damping * d_b;
    }
    write();
    return evidence;
  }

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
  void restore(const State& from) {
    kappa_ = from.kappa;
    b_ = from.b;
    write();
  }

 private:
  void write() {
    for (Index k = 0; k < size(); ++k) {
      const Index c = selection_.columns[k];
      prior_.precision[c] = kappa_[k];
      prior_.mean[c] = b_[k] / kappa_[k];
    }
  }

  const Selection& selection_;
  Prior prior_;
  VectorXd kappa_, b_, inclusion_, mean_, variance_;
  double scale_ = 1.0, change_ = 0.0;
  double log_in_ = 0.0, log_out_ = 0.0;  // log rho, log(1 - rho)
};

}  // namespace bayeskernel

#endif
