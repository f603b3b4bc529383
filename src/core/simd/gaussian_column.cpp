#include "simd/gaussian_column.hpp"

#include "simd/column_products.hpp"
#include "simd/exp.hpp"

namespace bayeskernel {
namespace detail {
inline void narrow_column(const ScaleTerm* terms, Index count, double factor,
                          const double* from, double* sum, double* value,
                          Index stride) {
  using Array = Eigen::Array<double, 4, 1>;
  for (Index i = 0; i < stride; i += kLanes) {
    Array s = Array::Zero();
    if (factor != 0.0) s = factor * Eigen::Map<const Array>(from + i);
    for (Index j = 0; j < count; ++j) {
      const Array step =
          Eigen::Map<const Array>(terms[j].predictor + i) - terms[j].centre;
      s += terms[j].weight * step * step;
    }
    Eigen::Map<Array>(sum + i) = s;
    Eigen::Map<Array> to(value + i);
    to = -s;
    narrow_exp(to, 1.0);
  }
}

inline void narrow_fresh(const FreshColumns& at, int columns, Index stride) {
  using Array = Eigen::Array<double, 4, 1>;
  for (int c = 0; c < columns; ++c) {
    for (Index i = 0; i < stride; i += kLanes) {
      Array s = Eigen::Map<const Array>(at.squares + i) + at.constants[c];
      for (Index l = 0; l < at.variables; ++l) {
        s += at.slopes[c][l] *
             Eigen::Map<const Array>(at.predictors + l * stride + i);
      }
      s = s.max(0.0);
      Eigen::Map<Array>(at.sums[c] + i) = s;
      Eigen::Map<Array> to(at.values[c] + i);
      to = -s;
      narrow_exp(to, 1.0);
    }
  }
}

#if BAYESKERNEL_HAS_AVX2

template <int C, class Lanes>
BAYESKERNEL_WIDE inline void fresh_rows(Lanes, const FreshColumns& at, Index i,
                                        Index stride) {
  using Vector = typename Lanes::Vector;
  Vector s[C];
  const Vector square = simd::view<Lanes>(at.squares + i);
#pragma GCC unroll 4
  for (int c = 0; c < C; ++c) s[c] = square + at.constants[c];
  const double* x = at.predictors + i;
  for (Index l = 0; l < at.variables; ++l, x += stride) {
    const Vector row = simd::view<Lanes>(x);
#pragma GCC unroll 4
    for (int c = 0; c < C; ++c) s[c] += row * at.slopes[c][l];
  }
#pragma GCC unroll 4
  for (int c = 0; c < C; ++c) {
    s[c] = s[c] > 0.0 ? s[c] : Vector{};
    simd::view<Lanes>(at.sums[c] + i) = s[c];
    s[c] = -s[c];
  }
#pragma GCC unroll 4
  for (int c = 0; c < C; ++c) {
    replace_by_exp<Lanes>(s[c]);
    simd::view<Lanes>(at.values[c] + i) = s[c];
  }
}

template <class Lanes>
BAYESKERNEL_WIDE inline void fresh_rows(Lanes lanes, const FreshColumns& at,
                                        int columns, Index i, Index stride) {
  switch (columns) {
    case 4:
      return fresh_rows<4>(lanes, at, i, stride);
    case 3:
      return fresh_rows<3>(lanes, at, i, stride);
    case 2:
      return fresh_rows<2>(lanes, at, i, stride);
    default:
      return fresh_rows<1>(lanes, at, i, stride);
  }
}

template <class Lanes>
BAYESKERNEL_WIDE inline void wide_fresh(Lanes lanes, const FreshColumns& at,
                                        int columns, Index stride) {
  Index i = 0;
  for (; i + Lanes::width <= stride; i += Lanes::width) {
    fresh_rows(lanes, at, columns, i, stride);
  }
  if (i < stride) fresh_rows(simd::Lanes<4>(), at, columns, i, stride);
}

// U vectors from row i on, so that chains of the exponential overlap.
template <int U, class Lanes, class Sum>
BAYESKERNEL_WIDE inline void some_rows(Lanes lanes, const Sum& add_up, Index i,
                                       double* sum, double* value) {
  typename Lanes::Vector s[U];
#pragma GCC unroll 2
  for (int u = 0; u < U; ++u) {
    add_up(lanes, i + u * Lanes::width, s[u]);
    simd::view<Lanes>(sum + i + u * Lanes::width) = s[u];
  }
#pragma GCC unroll 2
  for (int u = 0; u < U; ++u) {
    s[u] = -s[u];
    replace_by_exp<Lanes>(s[u]);
    simd::view<Lanes>(value + i + u * Lanes::width) = s[u];
  }
}

template <class Lanes, class Sum>
BAYESKERNEL_WIDE inline void wide_rows(Lanes lanes, const Sum& add_up,
                                       double* sum, double* value,
                                       Index stride) {
  constexpr Index kWidth = Lanes::width;
  Index i = 0;
  for (; i + 2 * kWidth <= stride; i += 2 * kWidth) {
    some_rows<2>(lanes, add_up, i, sum, value);
  }
  if (i + kWidth <= stride) {
    some_rows<1>(lanes, add_up, i, sum, value);
    i += kWidth;
  }
  if (i < stride) some_rows<1>(simd::Lanes<4>(), add_up, i, sum, value);
}

template <class Lanes>
BAYESKERNEL_WIDE inline void add_term(const ScaleTerm& term, Index i,
                                      typename Lanes::Vector& s) {
  const typename Lanes::Vector step =
      simd::view<Lanes>(term.predictor + i) - term.centre;
  s += term.weight * step * step;
}

template <class Lanes>
BAYESKERNEL_WIDE inline void wide_column(Lanes lanes, const ScaleTerm* terms,
                                         Index count, double factor,
                                         const double* from, double* sum,
                                         double* value, Index stride) {
  if (count == 1 && factor == 1.0) {
    const ScaleTerm term = terms[0];
    wide_rows(
        lanes,
        [=](auto width, Index i, typename decltype(width)::Vector& s)
            BAYESKERNEL_WIDE {
              s = simd::view<decltype(width)>(from + i);
              add_term<decltype(width)>(term, i, s);
            },
        sum, value, stride);
    return;
  }
  wide_rows(
      lanes,
      [=](auto width, Index i, typename decltype(width)::Vector& s)
          BAYESKERNEL_WIDE {
            using Width = decltype(width);
            s = typename Width::Vector{};
            if (factor != 0.0) s = factor * simd::view<Width>(from + i);
            for (Index j = 0; j < count; ++j) {
              add_term<Width>(terms[j], i, s);
            }
          },
      sum, value, stride);
}

#endif

void kernel_column(const ScaleTerm* terms, Index count, double factor,
                   const double* from, double* sum, double* value, Index n,
                   Index stride, simd::Level level) {
  if (level == simd::Level::narrow) {
    narrow_column(terms, count, factor, from, sum, value, stride);
  } else {
#if BAYESKERNEL_HAS_AVX2
    simd::run(level, [=](auto lanes) BAYESKERNEL_WIDE {
      wide_column(lanes, terms, count, factor, from, sum, value, stride);
    });
#endif
  }
  std::fill(value + n, value + stride, 0.0);
}

void fresh_columns(const FreshColumns& at, int columns, Index n, Index stride,
                   simd::Level level) {
  if (level == simd::Level::narrow) {
    narrow_fresh(at, columns, stride);
  } else {
#if BAYESKERNEL_HAS_AVX2
    simd::run(level, [&](auto lanes) BAYESKERNEL_WIDE {
      wide_fresh(lanes, at, columns, stride);
    });
#endif
  }
  for (int c = 0; c < columns; ++c) {
    std::fill(at.values[c] + n, at.values[c] + stride, 0.0);
  }
}
}  // namespace detail
}  // namespace bayeskernel
