// log p(y | f) of a row at power 1, and its derivatives in f.
#pragma once

#include "likelihood/family.hpp"
#include "math/normal.hpp"

namespace bayeskernel {
// Of l(t), the log-likelihood at the margin t = y f of a label -1 or +1.
struct MarginTerms {
  double value;      // l
  double slope;      // l'
  double curvature;  // -l''
};

MarginTerms logit_margin(double t);

MarginTerms probit_margin(double t);

// The same for some margins at once.
template <int N>
struct MarginArray {
  Eigen::Array<double, N, 1> value, slope, curvature;
};

// l of logit rows, with e = exp(-|t|) known: log(1 + e) = 2 artanh x,
// x = e / (2 + e) <= 1 / 3, by its series.
template <int N>
inline Eigen::Array<double, N, 1> logit_values(
    const Eigen::Array<double, N, 1>& t, const Eigen::Array<double, N, 1>& e) {
  using Values = Eigen::Array<double, N, 1>;
  const Values x = e / (2.0 + e), x2 = x.square();
  Values series = Values::Constant(1.0 / 29.0);
  for (int k = 27; k >= 1; k -= 2) series = series * x2 + 1.0 / k;
  return t.min(0.0) - 2.0 * x * series;
}

template <int N>
inline void logit_margins(const Eigen::Array<double, N, 1>& t,
                          MarginArray<N>& out) {
  using Values = Eigen::Array<double, N, 1>;
  const Values e = (-t.abs()).exp();
  const Values far = (1.0 + e).inverse(), near = e * far;
  out.value = logit_values<N>(t, e);
  out.slope = (t > 0.0).select(near, far);
  out.curvature = near * far;
}

template <int N>
inline void probit_margins(const Eigen::Array<double, N, 1>& t,
                           MarginArray<N>& out) {
  for (int k = 0; k < N; ++k) {
    const MarginTerms at = probit_margin(t[k]);
    out.value[k] = at.value;
    out.slope[k] = at.slope;
    out.curvature[k] = at.curvature;
  }
}

inline MarginTerms margin_terms(Family family, double t) {
  return family == Family::logit ? logit_margin(t) : probit_margin(t);
}

template <int N>
inline void margin_terms(Family family, const Eigen::Array<double, N, 1>& t,
                         MarginArray<N>& out) {
  if (family == Family::logit) {
    logit_margins(t, out);
  } else {
    probit_margins(t, out);
  }
}

inline double gaussian_log_density(double x, double variance) {
  return -0.5 * (x * x / variance + std::log(variance)) - detail::kLogSqrtTwoPi;
}

double log_likelihood(Family family, double y, double f, double noise_variance);
}  // namespace bayeskernel
