// Elimination of the first m unknowns of the bordered symmetric matrix
//     [ A  q ]
//     [ q' c ],  A (m x m) positive definite, m of some tens,
// whose pivots are at least `least` but for rounding (1 where A >= I), and
// stored as a lower triangle, columns `stride` apart, a multiple of 4. What
// stands above the diagonal is used up. Wide where the machine is.
#pragma once

#include "eigen.hpp"
#include "simd/column_products.hpp"
#include "simd/simd.hpp"

namespace bayeskernel {
// log of a product of positive numbers with few logarithms.
class LogProduct {
 public:
  void multiply(double factor);
  double value() const { return log_ + std::log(product_); }

 private:
  double product_ = 1.0;
  double log_ = 0.0;
};

namespace detail {
// Columns of two pivots, from the rows that they change on, and reciprocals.
struct Pivots {
  const double* first;
  const double* second;
  double first_inverse;
  double second_inverse;  // 0 where there is one
};

// a_j -= sum over the pivots of (r_j / pivot) r for columns from <= j < size,
// rows from j (and up to seven before) on: some rows of all columns at a time.
template <class Lanes>
BAYESKERNEL_INLINE inline void eliminate(Lanes lanes, double* a, Index stride,
                                         Index from, Index size,
                                         const Pivots& by) {
  using simd::view;
  const auto subtract = [=](auto width, Index i) BAYESKERNEL_INLINE {
    using Width = decltype(width);
    using Vector = typename Width::Vector;
    const Vector first = view<Width>(by.first + i) * by.first_inverse;
    const Vector second = view<Width>(by.second + i) * by.second_inverse;
    const Index end = std::min(i + Width::width, size);
    for (Index j = from; j < end; ++j) {
      Vector& to = view<Width>(a + j * stride + i);
      to = to - first * by.first[j] - second * by.second[j];
    }
  };
  simd::for_rows(lanes, from / Lanes::width * Lanes::width, padded_size(size),
                 subtract);
}

// Columns k and k + 1 of a symmetric matrix of which the lower triangle is
// stored.
void symmetric_columns(const double* a, Index stride, Index size, Index k,
                       double* first, double* second);

void set_symmetric_columns(double* a, Index stride, Index size, Index k,
                           const double* first, const double* second);

// to -= factor times x from row `from` (and up to seven before) on.
template <class Lanes>
BAYESKERNEL_INLINE inline void subtract_multiple(Lanes lanes, double factor,
                                                 const double* x, double* to,
                                                 Index from, Index padded) {
  const Index start = from / Lanes::width * Lanes::width;
  const auto subtract = [=](auto width, Index i) BAYESKERNEL_INLINE {
    using Width = decltype(width);
    simd::view<Width>(to + i) -= factor * simd::view<Width>(x + i);
  };
  simd::for_rows(lanes, start, padded, subtract);
}

// Takes two unknowns at a time; for the last of an odd number the border is
// the second, which is no pivot.
template <class Lanes>
BAYESKERNEL_INLINE inline double eliminate_forward(Lanes lanes, double* a,
                                                   Index stride, Index m,
                                                   double least) {
  LogProduct determinant;
  for (Index k = 0; k < m; k += 2) {
    double* const r = a + k * stride;
    double* const s = r + stride;
    const double pivot = r[k] = std::max(r[k], least);
    if (!(pivot > 0.0)) return std::nan("");
    determinant.multiply(pivot);
    const double inverse = 1.0 / pivot;
    subtract_multiple(lanes, r[k + 1] * inverse, r, s, k + 1,
                      padded_size(m + 1));
    if (k + 1 == m) break;
    const double second = s[k + 1] = std::max(s[k + 1], least);
    if (!(second > 0.0)) return std::nan("");
    determinant.multiply(second);
    eliminate(lanes, a, stride, k + 2, m + 1, {r, s, inverse, 1.0 / second});
  }
  return determinant.value();
}

template <class Lanes>
BAYESKERNEL_INLINE inline double sweep_bordered(Lanes lanes, double* a,
                                                Index stride, Index m,
                                                double* work, double least) {
  using simd::view;
  LogProduct determinant;
  double* const r = work;
  double* const s = work + stride;
  const Index size = m + 1, padded = padded_size(size);
  std::fill(r + size, r + padded, 0.0);
  std::fill(s + size, s + padded, 0.0);
  for (Index k = 0; k < m; k += 2) {
    const bool both = k + 1 < m;
    symmetric_columns(a, stride, size, k, r, s);
    const double pivot = r[k] = std::max(r[k], least);
    if (!(pivot > 0.0)) return std::nan("");
    determinant.multiply(pivot);
    const double inverse = 1.0 / pivot;
    // Column k + 1 after the first sweep; its entry k is that of column k.
    const double factor = r[k + 1] * inverse;
    subtract_multiple(lanes, factor, r, s, 0, padded);
    s[k] = factor;
    double second_inverse = 0.0;
    if (both) {
      const double second = s[k + 1] = std::max(s[k + 1], least);
      if (!(second > 0.0)) return std::nan("");
      determinant.multiply(second);
      second_inverse = 1.0 / second;
    }
    eliminate(lanes, a, stride, 0, size, {r, s, inverse, second_inverse});
    const double carried = factor * second_inverse;
    const double scale = both ? second_inverse : 1.0;
    const auto divide = [=](auto width, Index i) BAYESKERNEL_INLINE {
      using Width = decltype(width);
      typename Width::Vector& first = view<Width>(r + i);
      typename Width::Vector& second = view<Width>(s + i);
      first = first * inverse - second * carried;
      second *= scale;
    };
    simd::for_rows(lanes, 0, padded, divide);
    r[k] = -inverse - factor * carried;
    if (both) {
      r[k + 1] = carried;
      s[k + 1] = -second_inverse;
    }
    set_symmetric_columns(a, stride, size, k, r, s);
  }
  return determinant.value();
}

// body(lanes) for the level.
template <class Body>
inline double run_any(simd::Level level, const Body& body) {
#if BAYESKERNEL_HAS_AVX2
  if (level != simd::Level::narrow) return simd::run(level, body);
#endif
  return body(simd::Lanes<2>());
}
}  // namespace detail

// Column k becomes d_k times that of the unit lower factor L of A = L D L',
// with d_k on the diagonal; the border D L'x for A x = q; the corner
// c - q'A^-1 q. Returns log|A|, or NaN if A is not positive definite.
// m^3 / 6 multiply-adds.
inline double eliminate_forward(double* a, Index stride, Index m,
                                double least = 0.0,
                                simd::Level level = simd::level()) {
  return detail::run_any(level, [=](auto lanes) BAYESKERNEL_INLINE {
    return detail::eliminate_forward(lanes, a, stride, m, least);
  });
}

// A becomes -A^-1 (lower triangle), the border A^-1 q, the corner
// c - q'A^-1 q: the sweep operator (Goodnight 1979) on each unknown. Returns
// log|A|, or NaN if A is not positive definite. `work`: two times stride
// numbers. m^3 / 2 multiply-adds.
inline double sweep_bordered(double* a, Index stride, Index m, double* work,
                             double least = 0.0,
                             simd::Level level = simd::level()) {
  return detail::run_any(level, [=](auto lanes) BAYESKERNEL_INLINE {
    return detail::sweep_bordered(lanes, a, stride, m, work, least);
  });
}
}  // namespace bayeskernel
