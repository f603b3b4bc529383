#include "likelihood/line_terms.hpp"

#include <algorithm>
#include <cmath>

#include "likelihood/likelihood.hpp"
#include "math/normal.hpp"
#include "simd/lanes_exp.hpp"

namespace bayeskernel {

namespace {

using Index = Eigen::Index;

void add_row(Family family, const LineRows& rows, double t, Index i,
             LineTerms& out) {
  const double margin = t * rows.s[i] - rows.gap[i];
  double value, slope;
  if (family == Family::hinge) {
    value = 2.0 * std::min(margin, 0.0);
    slope = margin < 0.0 ? 2.0 : 0.0;
  } else {
    const MarginTerms terms = margin_terms(family, margin);
    value = terms.value;
    slope = terms.slope;
  }
  out.value += rows.w[i] * value;
  out.slope += rows.w[i] * slope * rows.s[i];
}

#if BAYESKERNEL_HAS_AVX2

template <class Lanes>
BAYESKERNEL_WIDE inline double total(const typename Lanes::Vector& v) {
  double sum = 0.0;
  for (Index k = 0; k < Lanes::width; ++k) sum += v[k];
  return sum;
}

template <class Lanes>
BAYESKERNEL_WIDE inline void hinge_lanes(const LineRows& rows, double t,
                                         Index end, LineTerms& out) {
  using Vector = typename Lanes::Vector;
  const Vector none{};
  Vector value{}, slope{};
  for (Index i = 0; i < end; i += Lanes::width) {
    const Vector s = simd::view<Lanes>(rows.s + i);
    const Vector margin = t * s - simd::view<Lanes>(rows.gap + i);
    const Vector w = margin < none ? simd::view<Lanes>(rows.w + i) : none;
    value += w * margin;
    slope += w * s;
  }
  out.value += 2.0 * total<Lanes>(value);
  out.slope += 2.0 * total<Lanes>(slope);
}

// log(1 + e_1) + log(1 + e_2) + ... has one logarithm for so many rows, since
// factors are at most two. Powers are 1, as below.
template <class Lanes>
BAYESKERNEL_WIDE inline void logit_lanes(const LineRows& rows, double t,
                                         Index end, LineTerms& out) {
  using Vector = typename Lanes::Vector;
  constexpr Index kRows = 512;
  const Vector none{};
  Vector value{}, slope{};
  for (Index from = 0; from < end; from += kRows) {
    Vector factors = none + 1.0;
    for (Index i = from; i < std::min(end, from + kRows); i += Lanes::width) {
      const Vector s = simd::view<Lanes>(rows.s + i);
      const Vector margin = t * s - simd::view<Lanes>(rows.gap + i);
      Vector e = margin > none ? -margin : margin;
      value += margin < none ? margin : none;
      simd::replace_by_exp<Lanes>(e);
      const Vector far = 1.0 + e;
      factors *= far;
      slope += (margin > none ? e : none + 1.0) / far * s;
    }
    for (Index k = 0; k < Lanes::width; ++k) out.value -= std::log(factors[k]);
  }
  out.value += total<Lanes>(value);
  out.slope += total<Lanes>(slope);
}

// With a = |margin| and r = Q(a) / phi(a): below 0 Phi = phi(a) r and the slope
// is 1 / r, above it Phi = 1 - phi(a) r.
template <class Lanes>
BAYESKERNEL_WIDE inline void probit_lanes(const LineRows& rows, double t,
                                          Index end, LineTerms& out) {
  using Vector = typename Lanes::Vector;
  constexpr Index kRows = 64;
  const Vector none{};
  Vector value{}, slope{};
  double below = 0.0;
  for (Index from = 0; from < end; from += kRows) {
    Vector factors = none + 1.0;
    for (Index i = from; i < std::min(end, from + kRows); i += Lanes::width) {
      const Vector s = simd::view<Lanes>(rows.s + i);
      const Vector margin = t * s - simd::view<Lanes>(rows.gap + i);
      Vector r = margin > none ? margin : -margin;
      const Vector half = -0.5 * r * r;
      detail::replace_by_mills(r);
      Vector density = half;
      simd::replace_by_exp<Lanes>(density);
      density *= 1.0 / detail::kSqrtTwoPi;
      const Vector upper = 1.0 - density * r;
      factors *= margin < none ? r : upper;
      value += margin < none ? half - detail::kLogSqrtTwoPi : none;
      slope += (margin < none ? 1.0 / r : density / upper) * s;
    }
    for (Index k = 0; k < Lanes::width; ++k) below += std::log(factors[k]);
  }
  out.value += below + total<Lanes>(value);
  out.slope += total<Lanes>(slope);
}

#endif

}  // namespace

LineTerms line_terms(Family family, const LineRows& rows, double t,
                     [[maybe_unused]] simd::Level level) {
  LineTerms out;
  Index i = 0;
#if BAYESKERNEL_HAS_AVX2
  if (level != simd::Level::narrow && (family == Family::hinge || rows.equal)) {
    const Index end = rows.n / 8 * 8;
    simd::run(level, [&](auto lanes) BAYESKERNEL_WIDE {
      using Lanes = decltype(lanes);
      if (family == Family::hinge) {
        hinge_lanes<Lanes>(rows, t, end, out);
      } else if (family == Family::logit) {
        logit_lanes<Lanes>(rows, t, end, out);
      } else {
        probit_lanes<Lanes>(rows, t, end, out);
      }
      return 0;
    });
    i = end;
  }
#endif
  for (; i < rows.n; ++i) add_row(family, rows, t, i, out);
  return out;
}

}  // namespace bayeskernel
