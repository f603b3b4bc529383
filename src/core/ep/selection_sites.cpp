#include "ep/selection_sites.hpp"

#include <array>

#include "linear/completions.hpp"
#include "math/normal.hpp"
#include "math/special.hpp"

namespace bayeskernel {
SpikeSlabMoments spike_slab(double m, double v, double log_in, double log_out,
                            double scale) {
  const double root = std::sqrt(v), u = m / root, ratio = root / scale;
  SpikeSlabMoments out;
  // Spike, positive half, negative half; less -u^2 / 2, which they ratio.
  std::array<double, 3> weight{log_out - detail::kLogSqrtTwoPi - std::log(root),
                               0.0, 0.0};
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

SelectionSites::SelectionSites(const Prior& prior, const Selection& selection)
    : selection_(selection),
      prior_(prior),
      kappa_(VectorXd::Ones(selection.size())),
      b_(VectorXd::Zero(selection.size())),
      inclusion_(b_),
      mean_(b_),
      variance_(b_) {
  write();
}

void SelectionSites::set(double scale, double logit_rho) {
  scale_ = scale;
  log_in_ = log_expit(logit_rho);
  log_out_ = log_expit(-logit_rho);
}

void SelectionSites::start(const VectorXd& in, double out) {
  for (Index k = 0; k < size(); ++k) {
    kappa_[k] = in[k] > 0.5 ? 0.5 / (scale_ * scale_) : out;
    b_[k] = 0.0;
  }
  write();
}

double SelectionSites::update(const VectorXd& m, const VectorXd& s,
                              double damping) {
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
    const double ratio = std::max(tilted.variance / v, kLeastRatio);
    const double precision = std::max((1.0 / ratio - 1.0) / v, floor);
    // The mean is kept whatever the precision.
    const double shift = tilted.mean * precision + (tilted.mean - cavity) / v;
    const double d_kappa = precision - kappa, d_b = shift - b;
    change_ =
        std::max(change_, std::abs(d_kappa) * s[c] +
                              std::abs(d_b - m[c] * d_kappa) * std::sqrt(s[c]));
    kappa_[k] += damping * d_kappa;
    b_[k] += damping * d_b;
  }
  write();
  return evidence;
}

void SelectionSites::restore(const State& from) {
  kappa_ = from.kappa;
  b_ = from.b;
  write();
}

void SelectionSites::write() {
  for (Index k = 0; k < size(); ++k) {
    const Index c = selection_.columns[k];
    prior_.precision[c] = kappa_[k];
    prior_.mean[c] = b_[k] / kappa_[k];
  }
}
}  // namespace bayeskernel
