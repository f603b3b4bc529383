#include "likelihood/bounds.hpp"

namespace bayeskernel {
RowTerms gaussian_terms(double y, double w, double m, double s,
                        const Noise& noise) {
  const double precision = w * noise.precision, from = y - m;
  return {precision, precision * from, precision,
          -w * (detail::kLogSqrtTwoPi + 0.5 * noise.log_variance) -
              0.5 * precision * (from * from + s)};
}

RowTerms augmented_terms(Family family, double y, double w, double m, double s,
                         const Noise& noise) {
  switch (family) {
    case Family::hinge:
      return mean_field(y, w, m, s);
    case Family::gaussian:
      return gaussian_terms(y, w, m, s, noise);
    case Family::probit: {
      const MarginTerms at = probit_margin(y * m);
      return {w, w * y * at.slope, w * at.curvature, w * (at.value - 0.5 * s)};
    }
    default: {
      const double c = std::max(std::sqrt(m * m + s), kScaleFloor);
      const MarginTerms at = logit_margin(c);
      const double kappa = w * std::tanh(0.5 * c) / (2.0 * c);
      const double ratio = m / c;
      return {kappa, 0.5 * w * y - kappa * m,
              kappa * s / (c * c) + ratio * ratio * w * at.curvature,
              w * (0.5 * (y * m - c) + at.value)};
    }
  }
}

RowTerms DirectTerms::operator()(Family family, double y, double w, double m,
                                 double s, const Noise& noise) const {
  switch (family) {
    case Family::hinge:
      return hinge(y, w, m, s);
    case Family::gaussian:
      return gaussian_terms(y, w, m, s, noise);
    default:
      return expected(family, y, w, y * m, s);
  }
}

RowTerms DirectTerms::hinge(double y, double w, double m, double s) {
  const double root = std::max(std::sqrt(s), kScaleFloor);
  const double shortfall = 1.0 - y * m, z = shortfall / root;
  const double density = normal_density(z), cdf = normal_cdf(z);
  const double kappa = 2.0 * w * density / root;
  return {kappa, 2.0 * w * y * cdf, kappa,
          -2.0 * w * (shortfall * cdf + root * density)};
}

RowTerms DirectTerms::expected(Family family, double y, double w, double m,
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

Second BoundRule::second() const {
  if (direct_ || gaussian()) return Second::none;
  return family_ == Family::hinge ? Second::step : Second::exact;
}

RowTerms BoundRule::row(double y, double w, double m, double s) const {
  return direct_ ? (*direct_)(family_, y, w, m, s, noise)
                 : augmented_terms(family_, y, w, m, s, noise);
}

double BoundRule::tile(const TileSpan&, const Tile& tile, const double* m,
                       const double* s, RowNumbers out) const {
  return set_rows(
      tile, m, s,
      [this](double y, double w, double mean, double variance) {
        return row(y, w, mean, variance);
      },
      out);
}
}  // namespace bayeskernel
