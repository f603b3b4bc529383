// The rows of a variational bound, f ~ N(m, s): E log p(y | f)^w, or a bound
// below it that is quadratic in f (augmented: truncated normals and Polya-Gamma
// variables). kappa = -2 d/ds of the row's term, gradient = d/dm, newton =
// -d2/dm2.
#ifndef BAYESKERNEL_LIKELIHOOD_BOUNDS_HPP
#define BAYESKERNEL_LIKELIHOOD_BOUNDS_HPP

#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>

#include "likelihood/rules.hpp"
#include "likelihood/curve_means.hpp"
#include "likelihood/likelihood.hpp"
#include "likelihood/panels.hpp"

namespace bayeskernel {

inline RowTerms gaussian_terms(double y, double w, double m, double s,
                               const Noise& noise) {
  const double precision = w * noise.precision, from = y - m;
  return {precision, precision * from, precision,
          -w * (detail::kLogSqrtTwoPi + 0.5 * noise.log_variance) -
              0.5 * precision * (from * from + s)};
}

// Probit: log Phi(y m) - s / 2, which no optimum over s can make tight.
inline RowTerms augmented_terms(Family family, double y, double w, double m,
                                double s, const Noise& noise) {
  switch (family) {
    case Family::hinge: return mean_field(y, w, m, s);
    case Family::gaussian: return gaussian_terms(y, w, m, s, noise);
    case Family::probit: {
      const MarginTerms at = probit_margin(y * m);
      return {w, w * y * at.slope, w * at.curvature,
              w * (at.value - 0.5 * s)};
    }
    default: {
      const double c = std::max(std::sqrt(m * m + s), kScaleFloor);
      const MarginTerms at = logit_margin(c);
      const double kappa = w * std::tanh(0.5 * c) / (2.0 * c);
      const double share = m / c;
      return {kappa, 0.5 * w * y - kappa * m,
              kappa * s / (c * c) + share * share * w * at.curvature,
              w * (0.5 * (y * m - c) + at.value)};
    }
  }
}

// E log p(y | f)^w itself. Its curvature in m is its kappa: the plain pass is
// Newton's step.
class DirectTerms {
 public:
  RowTerms operator()(Family family, double y, double w, double m, double s,
                      const Noise& noise) const {
    switch (family) {
      case Family::hinge: return hinge(y, w, m, s);
      case Family::gaussian: return gaussian_terms(y, w, m, s, noise);
      default: return expected(family, y, w, y * m, s);
    }
  }

 private:
  static RowTerms hinge(double y, double w, double m, double s) {
    const double root = std::max(std::sqrt(s), kScaleFloor);
    const double shortfall = 1.0 - y * m, z = shortfall / root;
    const double density = normal_density(z), cdf = normal_cdf(z);
    const double kappa = 2.0 * w * density / root;
    return {kappa, 2.0 * w * y * cdf, kappa,
            -2.0 * w * (shortfall * cdf + root * density)};
  }

  // The margin is N(m, s).
  RowTerms expected(Family family, double y, double w, double m,
                    double s) const {
    MarginTerms mean{0.0, 0.0, 0.0};
    Three u;
    if (family == Family::logit && logit_(std::abs(m), s, u)) {
      mean = {std::min(m, 0.0) - u[0], m >= 0.0 ? u[1] : 1.0 - u[1], u[2]};
    } else if (family == Family::probit && probit_(m, s, u)) {
      mean = {u[0], u[1], u[2]};
    } else {
      mean = wide(family, m, s);
    }
    const double kappa = w * mean.curvature;
    return {kappa, w * y * mean.slope, kappa, w * mean.value};
  }

  MarginTerms wide(Family family, double m, double s) const {
    if (!std::isfinite(m + s)) {
      constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();
      return {kNaN, kNaN, kNaN};
    }
    MarginTerms mean{0.0, 0.0, 0.0};
    const double root = std::sqrt(s), reach = 9.0 * root;
    const double unit = 1.0 / (root * detail::kSqrtTwoPi);
    panels_.for_nodes(
        m - reach, m + reach, m, 0.5 * root,
        [&](double middle, double half, const MarginPanels::Nodes& node,
            const MarginPanels::Nodes& log_weight) {
          for (int k = 0; k < node.size(); k += kLanes) {
            const Lanes t = middle + half * node.segment<kLanes>(k);
            const Lanes weight = unit * half *
                                 (log_weight.segment<kLanes>(k) -
                                  (t - m).square() / (2.0 * s)).exp();
            MarginArray<kLanes> at;
            margin_terms(family, t, at);
            mean.value += (weight * at.value).sum();
            mean.slope += (weight * at.slope).sum();
            mean.curvature += (weight * at.curvature).sum();
          }
        });
    return mean;
  }

  static constexpr int kLanes = 4;
  using Lanes = Eigen::Array<double, kLanes, 1>;

  CurveMeans<LogitBound> logit_;
  CurveMeans<ProbitBound> probit_;
  MarginPanels panels_;
};

// A pass of a family. What a Gaussian row is told of its noise may change
// between passes.
class BoundRule final : public Rule {
 public:
  BoundRule(Family family, bool direct)
      : family_(family),
        direct_(direct ? std::make_shared<const DirectTerms>() : nullptr) {}

  Noise noise;

  Second second() const override {
    if (direct_ || gaussian()) return Second::none;
    return family_ == Family::hinge ? Second::step : Second::exact;
  }
  bool gaussian() const override { return family_ == Family::gaussian; }

  RowTerms row(double y, double w, double m, double s) const {
    return direct_ ? (*direct_)(family_, y, w, m, s, noise)
                   : augmented_terms(family_, y, w, m, s, noise);
  }

  double tile(const TileSpan&, const Tile& tile, const double* m,
              const double* s, RowNumbers out) const override {
    return set_rows(
        tile, m, s,
        [this](double y, double w, double mean, double variance) {
          return row(y, w, mean, variance);
        },
        out);
  }

 private:
  Family family_;
  std::shared_ptr<const DirectTerms> direct_;
};

}  // namespace bayeskernel

#endif
