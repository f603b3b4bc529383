#include "likelihood/line_terms.hpp"

#include "likelihood/likelihood.hpp"
#include "math/normal.hpp"
#include "simd/lanes_exp.hpp"

namespace bayeskernel {
namespace {
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

// Sums of rows with powers 1. Of each `step(margin, value, slope)` adds to
// `value`, sets `slope` and returns a factor between 0 and 2: `sign` times
// their logarithms are added, one of the product of `block` rows a lane.
template <class Lanes, class Step>
BAYESKERNEL_WIDE inline void product_lanes(const LineRows& rows, double t,
                                           Index end, Index block, double sign,
                                           const Step& step, LineTerms& out) {
  using Vector = typename Lanes::Vector;
  Vector value{}, slope{};
  double logs = 0.0;
  for (Index from = 0; from < end; from += block) {
    Vector factors = Vector{} + 1.0;
    for (Index i = from; i < std::min(end, from + block); i += Lanes::width) {
      const Vector s = simd::view<Lanes>(rows.s + i);
      const Vector margin = t * s - simd::view<Lanes>(rows.gap + i);
      Vector own;
      factors *= step(margin, value, own);
      slope += own * s;
    }
    for (Index k = 0; k < Lanes::width; ++k) logs += std::log(factors[k]);
  }
  out.value += sign * logs + total<Lanes>(value);
  out.slope += total<Lanes>(slope);
}

// log p = min(m, 0) - log(1 + e^-|m|).
template <class Lanes>
BAYESKERNEL_WIDE inline void logit_lanes(const LineRows& rows, double t,
                                         Index end, LineTerms& out) {
  using Vector = typename Lanes::Vector;
  const auto step = [](const Vector& margin, Vector& value, Vector& slope)
                        BAYESKERNEL_WIDE {
                          const Vector none{};
                          Vector e = margin > none ? -margin : margin;
                          value += margin < none ? margin : none;
                          simd::replace_by_exp<Lanes>(e);
                          const Vector far = 1.0 + e;
                          slope = (margin > none ? e : none + 1.0) / far;
                          return far;
                        };
  product_lanes<Lanes>(rows, t, end, 512, -1.0, step, out);
}

// With a = |margin| and r = Q(a) / phi(a): below 0 Phi = phi(a) r and the slope
// is 1 / r, above it Phi = 1 - phi(a) r.
template <class Lanes>
BAYESKERNEL_WIDE inline void probit_lanes(const LineRows& rows, double t,
                                          Index end, LineTerms& out) {
  using Vector = typename Lanes::Vector;
  const auto step = [](const Vector& margin, Vector& value,
                       Vector& slope) BAYESKERNEL_WIDE {
    const Vector none{};
    Vector r = margin > none ? margin : -margin;
    const Vector half = -0.5 * r * r;
    detail::replace_by_mills(r);
    Vector density = half;
    simd::replace_by_exp<Lanes>(density);
    density *= 1.0 / detail::kSqrtTwoPi;
    const Vector upper = 1.0 - density * r;
    value += margin < none ? half - detail::kLogSqrtTwoPi : none;
    slope = margin < none ? 1.0 / r : density / upper;
    return margin < none ? r : upper;
  };
  product_lanes<Lanes>(rows, t, end, 64, 1.0, step, out);
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
