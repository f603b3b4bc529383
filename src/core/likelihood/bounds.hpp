// The rows of a variational bound, f ~ N(m, s): E log p(y | f)^w, or a bound
// below it that is quadratic in f (augmented: truncated normals and Polya-Gamma
// variables). kappa = -2 d/ds of the row's term, gradient = d/dm, newton =
// -d2/dm2.
//
// The bound of the logistic is that of Jaakkola and Jordan (2000); that of the
// hinge Wenzel et al. (2017), eq. 8.
#pragma once

#include "likelihood/curve_means.hpp"
#include "likelihood/family.hpp"
#include "likelihood/likelihood.hpp"
#include "likelihood/panels.hpp"
#include "likelihood/rules.hpp"
#include "math/normal.hpp"
#include "rows/rows.hpp"

namespace bayeskernel {
RowTerms gaussian_terms(double y, double w, double m, double s,
                        const Noise& noise);

// Probit: log Phi(y m) - s / 2, which no optimum over s can make tight.
RowTerms augmented_terms(Family family, double y, double w, double m, double s,
                         const Noise& noise);

// E log p(y | f)^w itself. Its curvature in m is its kappa: the plain pass is
// Newton's step.
class DirectTerms {
 public:
  RowTerms operator()(Family family, double y, double w, double m, double s,
                      const Noise& noise) const;

 private:
  static RowTerms hinge(double y, double w, double m, double s);

  // The margin is N(m, s).
  RowTerms expected(Family family, double y, double w, double m,
                    double s) const;

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
            const Lanes weight =
                unit * half *
                (log_weight.segment<kLanes>(k) - (t - m).square() / (2.0 * s))
                    .exp();
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

  Second second() const override;
  bool gaussian() const override { return family_ == Family::gaussian; }

  RowTerms row(double y, double w, double m, double s) const;

  double tile(const TileSpan&, const Tile& tile, const double* m,
              const double* s, RowNumbers out) const override;

 private:
  Family family_;
  std::shared_ptr<const DirectTerms> direct_;
};
}  // namespace bayeskernel
