#include "multinomial/conic.hpp"

namespace bayeskernel {
double ConicRule::moments(const double* m, Index t, double* y) {
  count_ = 0;
  for (Index j = 0; j < classes_; ++j) {
    if (j == t) continue;
    a_[count_] = 1.0;
    b_[count_] = m[t] - m[j];
    which_[count_++] = j;
  }
  const double log_z = integrate(y != nullptr);
  if (y == nullptr) return log_z;
  double total = 0.0;
  for (Index k = 0; k < count_; ++k) {
    y[which_[k]] = m[which_[k]] - pull_[k];
    total += pull_[k];
  }
  y[t] = m[t] + total;
  return log_z;
}

void ConicRule::curvature(const double* m, Index t, double* out) {
  moments(m, t, by_class_.data());
  std::fill(out, out + classes_, 0.0);
  const Index used = far_ + near_;
  const double centre = 0.5 * static_cast<double>(grid_.nodes - 1);
  double all = 0.0, mean = 0.0, weights = 0.0;
  for (Index o = 0; o < used; ++o) mean += pull_[order_[o]];
  for (Index k = grid_.first; k < grid_.last; ++k) {
    const double d = grid_.step * (static_cast<double>(k) - centre);
    const double weight = weight_[k];
    double total = 0.0;
    for (Index o = 0; o < used; ++o) {
      const double lambda = lambda_[o * grid_.padded + k];
      const double far = excess_below(d + at_[o], lambda) * lambda;
      const double apart = lambda - pull_[order_[o]];
      out[which_[order_[o]]] += weight * (far - apart * apart);
      all += weight * far;
      total += lambda;
    }
    all -= weight * (total - mean) * (total - mean);
    weights += weight;
  }
  out[t] = all;
  for (Index c = 0; c < classes_; ++c) {
    out[c] = std::clamp(out[c] / weights, 0.0, 1.0);
  }
}

double ConicRule::log_probability(const double* m, const double* s, Index t) {
  count_ = 0;
  for (Index j = 0; j < classes_; ++j) {
    if (j == t) continue;
    a_[count_] = s[t] / s[j];
    b_[count_++] = (m[t] - m[j]) / s[j];
  }
  return integrate(false);
}

void ConicRule::log_probabilities(const double* m, const double* s,
                                  double* out) {
  double sum = 0.0;
  for (Index t = 0; t < classes_; ++t) {
    out[t] = log_probability(m, s, t);
    sum += std::exp(out[t]);
  }
  const double shift = std::log(sum);
  for (Index t = 0; t < classes_; ++t) out[t] -= shift;
}

double ConicRule::slope_below(double z) {
  if (z < 0.0) return 1.0 / mills_ratio(-z);
  const double density = normal_density(z);
  return density / (1.0 - density * mills_ratio(z));
}

double ConicRule::excess_below(double z, double lambda) {
  if (z > -1e3) return std::max(lambda + z, 0.0);
  return -(1.0 - 2.0 / (z * z)) / z;
}

double ConicRule::log_cdf_change(double z, double d) {
  if (z < -10.0 && z + d < -10.0) {
    return std::log(mills_ratio(-z - d) / mills_ratio(-z)) - d * (z + 0.5 * d);
  }
  return std::log(normal_cdf(z + d) / normal_cdf(z));
}

double ConicRule::mode() const {
  double u = 0.0;
  for (int step = 0; step < 100; ++step) {
    double slope = -u, curvature = 1.0;
    for (Index k = 0; k < count_; ++k) {
      const double z = a_[k] * u + b_[k];
      if (z > 38.0) continue;
      const double lambda = slope_below(z);
      slope += a_[k] * lambda;
      curvature += a_[k] * a_[k] * lambda * excess_below(z, lambda);
    }
    const double by = slope / curvature;
    u += by;
    if (!(std::abs(by) > 1e-2 / std::sqrt(curvature) + 1e-13 * std::abs(u))) {
      break;
    }
  }
  return u;
}

void ConicRule::sort_classes(double top, bool with_pull) {
  far_ = near_ = 0;
  order_.resize(count_);
  at_.resize(count_);
  linear_ = -top;
  quadratic_ = 1.0;
  constant_ = -0.5 * top * top;
  shift_ = 0.0;
  for (Index k = 0; k < count_; ++k) {
    const double z = a_[k] * top + b_[k], reach = kHalfWidth * a_[k];
    if (with_pull) pull_[k] = 0.0;
    if (z < -reach - 1.0) {
      order_[far_ + near_] = order_[far_];
      order_[far_++] = k;
      linear_ -= a_[k] * z;
      quadratic_ += a_[k] * a_[k];
      constant_ -= 0.5 * z * z;
      shift_ += std::log(mills_ratio(-z) * detail::kInverseSqrtTwoPi);
    } else if (z - reach < 9.0) {
      order_[far_ + near_++] = k;
      shift_ += log_normal_cdf(z);
    }
  }
  for (Index o = 0; o < far_ + near_; ++o) {
    at_[o] = a_[order_[o]] * top + b_[order_[o]];
  }
  constant_ += shift_;
}

void ConicRule::draw(const double* m, Index t, Stream& stream, double* y) {
  constexpr int kSteps = 3, kMost = 1000000;
  constexpr double kNear = 0.5;
  for (Index j = 0; j < classes_; ++j) b_[j] = m[t] - m[j];
  double start = 0.0, slope = 0.0, pull = 0.0, bend = 0.0;
  for (int step = 0; step <= kSteps; ++step) {
    pull = bend = 0.0;
    for (Index j = 0; j < classes_; ++j) {
      if (j == t) continue;
      const double z = start + b_[j];
      const double lambda = slope_below(z);
      pull += lambda;
      bend += lambda * excess_below(z, lambda);
    }
    slope = pull - start;
    if (step == kSteps || std::abs(slope) < kNear) break;
    start += slope / (1.0 + bend);
  }
  const double steepest = static_cast<double>(classes_ - 1);
  double u = 0.0;
  for (int attempt = 0;; ++attempt) {
    if (attempt == kMost) throw NumericError("a latent vector is not finite");
    const double d = slope + stream.normal(), half = 0.5 * d * d;
    const double level = stream.exponential();
    u = start + d;
    if (level >= (d > 0.0 ? bend : steepest) * half) break;
    if (d < 0.0 && level < bend * half) continue;
    double log_ratio = -d * pull;
    for (Index j = 0; j < classes_; ++j) {
      if (j != t) log_ratio += log_cdf_change(start + b_[j], d);
    }
    if (-level <= log_ratio) break;
  }
  y[t] = m[t] + u;
  for (Index j = 0; j < classes_; ++j) {
    if (j == t) continue;
    constexpr double kInfinity = std::numeric_limits<double>::infinity();
    // Rounding may make them equal far out: then anew.
    do {
      y[j] = m[j] + truncated_normal(stream, -kInfinity, u + b_[j]);
    } while (y[j] > y[t]);
  }
}
}  // namespace bayeskernel
