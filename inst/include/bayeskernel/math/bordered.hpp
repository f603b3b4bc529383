// Elimination of the first m unknowns of the bordered symmetric matrix
//     [ A  q ]
//     [ q' c ],  A (m x m) positive definite, m of some tens,
// whose pivots are at least `least` but for rounding (1 where A >= I), and
// stored as a lower triangle, columns `stride` apart, a multiple of 4. What
// stands above the diagonal is used up. Wide where the machine is.
#ifndef BAYESKERNEL_MATH_BORDERED_HPP
#define BAYESKERNEL_MATH_BORDERED_HPP

#include <Eigen/Core>
#include <algorithm>
#include <cmath>

#include "column_products.hpp"

namespace bayeskernel {

// log of a product of positive numbers with few logarithms.
class LogProduct {
 public:
  void multiply(double factor) {
    if (factor > 1e100) {
      log_ += std::log(factor);
      return;
    }
    product_ *= factor;
    if (product_ > 1e200 || product_ < 1e-200) {
      log_ += std::log(product_);
      product_ = 1.0;
    }
  }
  double value() const { return log_ + std::log(product_); }

 private:
  double product_ = 1.0;
  double log_ = 0.0;
};

namespace detail {

// One or two pivots: their columns, in full, and reciprocals.
struct Pivots {
  const double* first;
  const double* second;  // null where there is one
  double first_inverse;
  double second_inverse;
};

// a_j -= sum over the pivots of (r_j / pivot) r for columns from <= j < size,
// rows from j (and up to three before) on.
inline void narrow_eliminate(double* a, Eigen::Index stride, Eigen::Index from,
                             Eigen::Index size, const Pivots& by) {
  for (Eigen::Index j = from; j < size; ++j) {
    double* column = a + j * stride;
    const double first = by.first[j] * by.first_inverse;
    for (Eigen::Index i = j; i < size; ++i) column[i] -= first * by.first[i];
    if (by.second == nullptr) continue;
    const double second = by.second[j] * by.second_inverse;
    for (Eigen::Index i = j; i < size; ++i) column[i] -= second * by.second[i];
  }
}

#if BAYESKERNEL_HAS_AVX2

BAYESKERNEL_AVX2 inline void wide_eliminate(double* a, Eigen::Index stride,
                                            Eigen::Index from,
                                            Eigen::Index size,
                                            const Pivots& by) {
  using simd::detail::load4;
  using simd::detail::Vector4;
  const double* const r = by.first;
  const double* const s = by.second;
  for (Eigen::Index j = from; j < size; ++j) {
    const double first = r[j] * by.first_inverse;
    double* column = a + j * stride;
    if (s == nullptr) {
      for (Eigen::Index i = j / kLanes * kLanes; i < size; i += kLanes) {
        *reinterpret_cast<Vector4*>(column + i) =
            load4(column + i) - first * load4(r + i);
      }
      continue;
    }
    const double second = s[j] * by.second_inverse;
    for (Eigen::Index i = j / kLanes * kLanes; i < size; i += kLanes) {
      *reinterpret_cast<Vector4*>(column + i) =
          load4(column + i) - first * load4(r + i) - second * load4(s + i);
    }
  }
}

#endif

inline void eliminate(double* a, Eigen::Index stride, Eigen::Index from,
                      Eigen::Index size, const Pivots& by) {
#if BAYESKERNEL_HAS_AVX2
  if (simd::enabled()) {
    wide_eliminate(a, stride, from, size, by);
    return;
  }
#endif
  narrow_eliminate(a, stride, from, size, by);
}

// Column k of a symmetric matrix of which the lower triangle is stored.
inline void symmetric_column(const double* a, Eigen::Index stride,
                             Eigen::Index size, Eigen::Index k, double* out) {
  for (Eigen::Index j = 0; j < k; ++j) out[j] = a[j * stride + k];
  for (Eigen::Index i = k; i < size; ++i) out[i] = a[k * stride + i];
}

inline void set_symmetric_column(double* a, Eigen::Index stride,
                                 Eigen::Index size, Eigen::Index k,
                                 const double* from) {
  for (Eigen::Index j = 0; j < k; ++j) a[j * stride + k] = from[j];
  for (Eigen::Index i = k; i < size; ++i) a[k * stride + i] = from[i];
}

}  // namespace detail

// Column k becomes d_k times that of the unit lower factor L of A = L D L',
// with d_k on the diagonal; the border D L'x for A x = q; the corner
// c - q'A^-1 q. Returns log|A|, or NaN if A is not positive definite. Takes
// two unknowns at a time. m^3 / 6 multiply-adds.
inline double eliminate_forward(double* a, Eigen::Index stride, Eigen::Index m,
                                double least = 0.0) {
  LogProduct determinant;
  for (Eigen::Index k = 0; k < m; k += 2) {
    detail::Pivots by{a + k * stride, nullptr, 0.0, 0.0};
    const double pivot = std::max(by.first[k], least);
    a[k * stride + k] = pivot;
    if (!(pivot > 0.0)) return std::nan("");
    determinant.multiply(pivot);
    by.first_inverse = 1.0 / pivot;
    if (k + 1 < m) {
      double* next = a + (k + 1) * stride;
      const double factor = by.first[k + 1] * by.first_inverse;
      for (Eigen::Index i = k + 1; i <= m; ++i) {
        next[i] -= factor * by.first[i];
      }
      const double second = std::max(next[k + 1], least);
      next[k + 1] = second;
      if (!(second > 0.0)) return std::nan("");
      determinant.multiply(second);
      by.second = next;
      by.second_inverse = 1.0 / second;
    }
    detail::eliminate(a, stride, k + 2, m + 1, by);
    if (k + 1 == m)
      a[m * stride + m] -= by.first[m] * by.first[m] * by.first_inverse;
  }
  return determinant.value();
}

// A becomes -A^-1 (lower triangle), the border A^-1 q, the corner
// c - q'A^-1 q: the sweep operator (Goodnight 1979) on each unknown, two at a
// time. Returns log|A|, or NaN if A is not positive definite. `work`: two
// times stride numbers. m^3 / 2 multiply-adds.
inline double sweep_bordered(double* a, Eigen::Index stride, Eigen::Index m,
                             double* work, double least = 0.0) {
  LogProduct determinant;
  double* const r = work;
  double* const s = work + stride;
  const Eigen::Index size = m + 1;
  for (Eigen::Index k = 0; k < m; k += 2) {
    detail::symmetric_column(a, stride, size, k, r);
    const double pivot = r[k] = std::max(r[k], least);
    if (!(pivot > 0.0)) return std::nan("");
    determinant.multiply(pivot);
    const double inverse = 1.0 / pivot;
    if (k + 1 == m) {
      detail::eliminate(a, stride, 0, size, {r, nullptr, inverse, 0.0});
      for (Eigen::Index i = 0; i < size; ++i) r[i] *= inverse;
      r[k] = -inverse;
      detail::set_symmetric_column(a, stride, size, k, r);
      break;
    }
    // Column k + 1 after the first sweep; its entry k is that of column k.
    detail::symmetric_column(a, stride, size, k + 1, s);
    const double factor = r[k + 1] * inverse;
    for (Eigen::Index i = 0; i < size; ++i) s[i] -= factor * r[i];
    s[k] = factor;
    const double second = s[k + 1] = std::max(s[k + 1], least);
    if (!(second > 0.0)) return std::nan("");
    determinant.multiply(second);
    const double second_inverse = 1.0 / second;
    detail::eliminate(a, stride, 0, size, {r, s, inverse, second_inverse});
    const double carried = s[k] * second_inverse;
    for (Eigen::Index i = 0; i < size; ++i) {
      r[i] = r[i] * inverse - s[i] * carried;
      s[i] *= second_inverse;
    }
    r[k] = -inverse - factor * carried;
    r[k + 1] = carried;
    s[k] = carried;
    s[k + 1] = -second_inverse;
    detail::set_symmetric_column(a, stride, size, k, r);
    detail::set_symmetric_column(a, stride, size, k + 1, s);
  }
  return determinant.value();
}

}  // namespace bayeskernel

#endif
