// The log likelihood of logistic regression on few columns, in one pass: f is
// formed and used at once.
#pragma once

#include "simd/exp.hpp"
#include "simd/simd.hpp"

namespace bayeskernel {
namespace detail {
// log(1 + e_1) + log(1 + e_2) + ... has one logarithm for so many rows, since
// factors are at most two.
constexpr Index kLogRows = 512;

// sum_i log expit(s_i f_i), f = K b: what is below, for rows from..to.
double narrow_logistic(const double* k, Index stride, Index m, const double* b,
                       const double* s, Index from, Index to, double* f);

#if BAYESKERNEL_HAS_AVX2

template <class Lanes>
BAYESKERNEL_WIDE inline double wide_logistic(Lanes lanes, const double* k,
                                             Index stride, Index m,
                                             const double* b, const double* s,
                                             Index from, Index to, double* f) {
  double linear = 0.0, product = 1.0;
  const auto block = [&](auto width, Index first, Index last) BAYESKERNEL_WIDE {
    using Width = decltype(width);
    using Vector = typename Width::Vector;
    Vector lower{}, factors = lower + 1.0;
    for (Index i = first; i < last; i += Width::width) {
      Vector value{};
      for (Index j = 0; j < m; ++j) {
        value += b[j] * simd::view<Width>(k + j * stride + i);
      }
      if (f != nullptr) simd::view<Width>(f + i) = value;
      value *= simd::view<Width>(s + i);
      Vector far = value > 0.0 ? -value : value;
      lower += 0.5 * (value + far);
      replace_by_exp<Width>(far);
      factors *= 1.0 + far;
    }
    for (Index w = 0; w < Width::width; ++w) {
      linear += lower[w];
      product *= factors[w];
    }
  };
  const Index whole = from + (to - from) / Lanes::width * Lanes::width;
  block(lanes, from, whole);
  if (whole < to) block(simd::Lanes<4>(), whole, to);
  return linear - std::log(product);
}

#endif
}  // namespace detail

// sum_i log expit(s_i f_i) over the n rows, f = K b with m columns `stride`
// apart. A sign of 0 leaves its row out but for log 2; so do rows of the
// padding, which are not counted. `f` (padded) may be null. n m multiply-adds,
// n exponentials.
inline double logistic_sum(const double* k, Index stride, Index m,
                           const double* b, const double* s, Index n, double* f,
                           simd::Level level = simd::level()) {
  double sum = 0.0;
  for (Index from = 0; from < stride; from += detail::kLogRows) {
    const Index to = std::min(stride, from + detail::kLogRows);
#if BAYESKERNEL_HAS_AVX2
    if (level != simd::Level::narrow) {
      sum += simd::run(level, [=](auto lanes) BAYESKERNEL_WIDE {
        return detail::wide_logistic(lanes, k, stride, m, b, s, from, to, f);
      });
      continue;
    }
#endif
    sum += detail::narrow_logistic(k, stride, m, b, s, from, to, f);
  }
  constexpr double kLogTwo = 0.69314718055994530942;
  return sum + kLogTwo * static_cast<double>(stride - n);
}
}  // namespace bayeskernel
