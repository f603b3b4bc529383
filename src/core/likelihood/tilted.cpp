#include "likelihood/tilted.hpp"

#include "likelihood/likelihood.hpp"

namespace bayeskernel {
Tilted TiltedMoments::gaussian(double w, double from, double V, double noise) {
  const double own = noise / w, precision = 1.0 / (V + own);
  return {-(w - 1.0) * detail::kLogSqrtTwoPi -
              0.5 * (w * std::log(noise) - std::log(own)) +
              gaussian_log_density(from, V + own),
          from * precision, precision, own * precision};
}

Tilted TiltedMoments::probit(double m, double V) {
  const double scale = 1.0 / (1.0 + V), root = std::sqrt(scale);
  const BelowNormal below = below_normal(m * root);
  return {below.log_cdf, below.slope * root, below.curvature * scale,
          (1.0 + V * below.variance) * scale};
}

Tilted TiltedMoments::hinge(double w, double m, double V) {
  const double root = std::sqrt(V), shortfall = m - 1.0;
  const double z1 = shortfall / root, shift = 2.0 * w * root;
  const double z2 = z1 + shift;
  double log_z, violated, obeyed, density;  // density: phi(z1) / Z
  if (z1 >= 0.0) {
    const double phi = normal_density(z1);
    const double above = 1.0 - phi * mills_ratio(z1);
    const double below = phi * mills_ratio(z2), z = above + below;
    log_z = std::log1p(-phi * (mills_ratio(z1) - mills_ratio(z2)));
    violated = below / z;
    obeyed = above / z;
    density = phi / z;
  } else if (z2 >= 0.0) {
    const double above = mills_ratio(-z1), below = mills_ratio(z2);
    const double z = above + below;
    log_z = std::log(z) - 0.5 * z1 * z1 - detail::kLogSqrtTwoPi;
    violated = below / z;
    obeyed = above / z;
    density = 1.0 / z;
  } else {
    const double far = normal_density(z2);
    const double below = 1.0 - far * mills_ratio(-z2);
    const double ratio = far * mills_ratio(-z1) / below;
    log_z = shift * (z1 + 0.5 * shift) + std::log(below) + std::log1p(ratio);
    violated = 1.0 / (1.0 + ratio);
    obeyed = ratio * violated;
    density = far / below * violated;
  }
  const double slope = 2.0 * w * violated;
  const double alpha2 =
      2.0 * w * density / root - 4.0 * w * w * violated * obeyed;
  const double kept = 1.0 - V * alpha2;
  if (kept > 0.5) return {log_z, slope, alpha2, kept};
  const BelowNormal above = below_normal(z1), below = below_normal(-z2);
  const double between = above.excess + below.excess;
  const double variance_ratio = obeyed * above.variance +
                                violated * below.variance +
                                obeyed * violated * between * between;
  return {log_z, slope, (1.0 - variance_ratio) / V, variance_ratio};
}

Tilted TiltedMoments::logit(double m, double V) const {
  Three u;
  if (!(*logit_)(std::abs(m), V, u)) return integrated(1.0, m, V);
  double log_z, slope, alpha2;
  if (m >= 0.0) {
    const double scale = 1.0 / (1.0 - u[0]);
    log_z = std::log1p(-u[0]);
    slope = (u[0] - u[1]) * scale;
    alpha2 = (u[0] - 2.0 * u[1] + u[2] - (u[1] - u[2])) * scale + slope * slope;
  } else {
    const double scale = 1.0 / u[0], near = u[1] * scale;
    log_z = std::log(u[0]);
    slope = 1.0 - near;
    alpha2 = (u[1] - 2.0 * u[2]) * scale + near * near;
  }
  return {log_z, slope, alpha2, 1.0 - V * alpha2};
}

auto TiltedMoments::mode(double w, double m, double V) const -> Mode {
  // Between m and m + V w l'(m), as l' falls.
  double from = 0.0, low = 0.0;
  double high = V * w * margin_terms(family_, m).slope;
  for (int step = 0;; ++step) {
    const MarginTerms terms = margin_terms(family_, m + from);
    const double gradient = w * terms.slope - from / V;
    const double curvature = w * terms.curvature + 1.0 / V;
    const double move = gradient / curvature;
    if (std::abs(move) * std::sqrt(curvature) < 0.05 || step == 60) {
      return {from, m + from, w * terms.value - 0.5 * from * from / V,
              terms.slope, curvature};
    }
    (gradient > 0.0 ? low : high) = from;
    from += move;
    if (!(from > low && from < high)) from = 0.5 * (low + high);
  }
}

double TiltedMoments::add(double w, double V, const Mode& mode, const Lanes& d,
                          const Lanes& log_weight, Sums& sums) const {
  MarginArray<kLanes> at;
  margin_terms<kLanes>(family_, mode.at + d, at);
  const Lanes weight = (log_weight + w * at.value -
                        (mode.from + d).square() / (2.0 * V) - mode.log_density)
                           .exp();
  const Lanes slope = at.slope - mode.slope, part = weight * slope;
  const double total = weight.sum(), bend = (weight * at.curvature).sum();
  const double slope2 = (part * slope).sum();
  sums.total += total;
  sums.slope += part.sum();
  sums.slope2 += slope2;
  sums.bend += bend;
  sums.t += (weight * d).sum();
  sums.t2 += (weight * d.square()).sum();
  return std::max({total / sums.total, slope2 / sums.slope2, bend / sums.bend});
}

Tilted TiltedMoments::integrated(double w, double m, double V) const {
  const Mode mode = this->mode(w, m, V);
  const double width = 1.0 / std::sqrt(mode.curvature);
  Sums sums;
  double unit = 1.0;
  if (width < 0.1 && w * V < 25.0) {
    unit = width;
    if (width < 0.03) {
      eight_.add(*this, w, V, mode, width, sums);
    } else {
      twelve_.add(*this, w, V, mode, width, sums);
    }
  } else if (V < kWide) {
    // The curvature rises on the way to where the margin is violated.
    const double most =
        w * margin_terms(family_, mode.at - width).curvature + 1.0 / V;
    unit = std::min(w > 3.0 ? 0.3 : 0.4, 0.7 / std::sqrt(most));
    for (const double stride : {unit, -unit}) {
      Lanes d;
      for (int i = 0; i < kLanes; ++i) {
        d[i] = (stride > 0.0 ? i : i + 1) * stride;
      }
      for (int chunk = 0; chunk < 500; ++chunk) {
        if (add(w, V, mode, d, Lanes::Zero(), sums) < 1e-15) break;
        d += kLanes * stride;
      }
    }
  } else {
    // The density is at least as narrow as that of N(mode, V).
    const double reach = std::sqrt(80.0 * V);
    panels_.for_nodes(
        mode.at - reach, mode.at + reach, mode.at, width,
        [&](double middle, double half, const MarginPanels::Nodes& node,
            const MarginPanels::Nodes& log_weight) {
          for (int k = 0; k < node.size(); k += kLanes) {
            add(w, V, mode, middle - mode.at + half * node.segment<kLanes>(k),
                std::log(half) + log_weight.segment<kLanes>(k), sums);
          }
        });
  }
  const double scale = 1.0 / sums.total;
  const double slope = sums.slope * scale, t = sums.t * scale;
  const double variance_ratio = (sums.t2 * scale - t * t) / V;
  const double alpha2 =
      w * sums.bend * scale - w * w * (sums.slope2 * scale - slope * slope);
  const double log_z = mode.log_density + std::log(unit * sums.total) -
                       0.5 * std::log(V) - detail::kLogSqrtTwoPi;
  // Of two forms that cancel the one with smaller terms.
  const bool direct = V * w * sums.bend * scale > 1.0;
  return {log_z, w * (mode.slope + slope),
          direct ? (1.0 - variance_ratio) / V : alpha2, variance_ratio};
}
}  // namespace bayeskernel
