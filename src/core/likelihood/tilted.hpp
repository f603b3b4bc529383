// Tilted moments of expectation propagation: Z = E p(y | f)^w for f ~ N(m, V),
// the cavity of a row.
//
// Minka (2001); of the probit Rasmussen and Williams (2006), eq. 3.52 to 3.59.
#pragma once

#include "likelihood/curve_means.hpp"
#include "likelihood/family.hpp"
#include "likelihood/panels.hpp"
#include "math/normal.hpp"

namespace bayeskernel {
struct Tilted {
  double log_z;
  double alpha1;          // d log Z / dm
  double alpha2;          // -d2 log Z / dm2
  double variance_ratio;  // variance of f given y, over V: 1 - V alpha2
};

// A row's approximate factor exp(b x - kappa x^2 / 2).
struct Site {
  double kappa, b;
};

// That of x ~ N(m, v) where f = x + e, e of variance r and V = v + r. The sum
// is 1 - v alpha2 without its cancellation.
inline Site site(const Tilted& tilted, double m, double v, double r) {
  constexpr double kLeast = 1e-10;
  const double total = v + r;
  const double left = std::max((r + v * tilted.variance_ratio) / total, kLeast);
  return {tilted.alpha2 / left, (tilted.alpha1 + m * tilted.alpha2) / left};
}

class TiltedMoments {
 public:
  explicit TiltedMoments(Family family) : family_(family) {
    if (family == Family::logit) logit_.emplace();
  }

  Tilted operator()(double y, double w, double m, double V,
                    double noise_variance) const {
    if (!std::isfinite(m + V)) {
      constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();
      return {kNaN, kNaN, kNaN, kNaN};
    }
    V = std::max(V, kLeastVariance);
    Tilted out;
    switch (family_) {
      case Family::hinge:
        out = hinge(w, y * m, V);
        break;
      case Family::gaussian:
        return gaussian(w, y - m, V, noise_variance);
      case Family::probit:
        out = w == 1.0 ? probit(y * m, V) : integrated(w, y * m, V);
        break;
      default:
        out = w == 1.0 ? logit(y * m, V) : integrated(w, y * m, V);
    }
    out.alpha1 *= y;
    out.alpha2 = std::max(out.alpha2, kLeastCurvature);
    return out;
  }

 private:
  static constexpr double kLeastVariance = 1e-16;
  static constexpr double kLeastCurvature = 1e-12;
  static constexpr double kWide = 100.0;

  static Tilted gaussian(double w, double from, double V, double noise);

  // From here on m is the mean of the margin, y f.

  static Tilted probit(double m, double V);

  // In units of sqrt V from the margin, the part of f that obeys it is N(z1, 1)
  // above 0, the other one N(z2, 1) below, the latter with the probability
  // `violated`. Everything is over phi(z1) while that may underflow.
  static Tilted hinge(double w, double m, double V);

  // Z = 1 - U1 or, with the label against the margin, U1, where U_k is a mean
  // of u^k, u = 1 / (1 + e^|t|); the row's slope is u or 1 - u.
  Tilted logit(double m, double V) const;

  // Of the tilted density p(t)^w phi(t; m, V), over its value at the mode;
  // slopes and t from those there.
  struct Sums {
    double total = 0.0, slope = 0.0, slope2 = 0.0, bend = 0.0;
    double t = 0.0, t2 = 0.0;
  };

  struct Mode {
    double from;  // m
    double at, log_density, slope, curvature;
  };

  Mode mode(double w, double m, double V) const;

  static constexpr int kLanes = 4;
  using Lanes = Eigen::Array<double, kLanes, 1>;

  // Adds nodes d from the mode with the logarithms of their weights; the last
  // share of the sums that they brought.
  double add(double w, double V, const Mode& mode, const Lanes& d,
             const Lanes& log_weight, Sums& sums) const;

  // Gauss-Hermite nodes for a density of which the normal one is a factor.
  template <int N>
  struct ModeNodes {
    Eigen::Array<double, N, 1> node, log_weight;
    ModeNodes() {
      const HermiteNodes<N> rule;
      node = rule.node;
      log_weight =
          rule.weight.log() + 0.5 * node.square() + detail::kLogSqrtTwoPi;
    }
    void add(const TiltedMoments& to, double w, double V, const Mode& mode,
             double width, Sums& sums) const {
      for (int k = 0; k < N; k += kLanes) {
        to.add(w, V, mode, width * node.template segment<kLanes>(k),
               log_weight.template segment<kLanes>(k), sums);
      }
    }
  };

  // About the mode: Gauss-Hermite nodes of a density that is nearly normal, the
  // trapezoidal rule outwards until nothing is added, or panels for wide
  // cavities.
  Tilted integrated(double w, double m, double V) const;

  Family family_;
  std::optional<CurveMeans<LogitPowers>> logit_;
  ModeNodes<8> eight_;
  ModeNodes<12> twelve_;
  MarginPanels panels_;
};
}  // namespace bayeskernel
