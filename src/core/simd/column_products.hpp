// Products of a tall matrix K (n x m, column after column) with itself and
// with vectors. Columns are `stride` apart, a multiple of 4, and filled up
// with zeros; vectors of length n are filled up likewise. Wide where the
// machine is (simd/simd.hpp).
#pragma once

#include "simd/simd.hpp"

namespace bayeskernel {
constexpr Index kLanes = 4;

inline Index padded_size(Index n) { return (n + kLanes - 1) / kLanes * kLanes; }

namespace simd {
// body(lanes, i) for each vector of the rows from `from`, a multiple of the
// width, to n, a multiple of four; the last may be of four.
template <class Lanes, class Body>
BAYESKERNEL_INLINE inline void for_rows(Lanes lanes, Index from, Index n,
                                        const Body& body) {
  Index i = from;
  for (; i + Lanes::width <= n; i += Lanes::width) body(lanes, i);
  if (Lanes::width > kLanes && i < n) body(simd::Lanes<4>(), i);
}
}  // namespace simd

// gram (m x m, both triangles) = K'K. n m^2 / 2 multiply-adds.
void column_gram(const double* k, Index stride, Index m, double* gram,
                 Index gram_stride, simd::Level level = simd::level());

// out (m) = K'v. n m multiply-adds.
void column_dots(const double* k, Index stride, Index m, const double* v,
                 double* out, simd::Level level = simd::level());

// out (n) -= K b. n m multiply-adds.
void subtract_columns(const double* k, Index stride, Index m, const double* b,
                      double* out, simd::Level level = simd::level());

// out_i = S x_i for n vectors of length m, `width` apart (m filled up with
// zeros to a multiple of 4); S m x m, symmetric, columns `stride` apart, a
// multiple of 8. What out holds beyond m means nothing. n m^2 multiply-adds.
void symmetric_rows(const double* s, Index stride, Index m, const double* x,
                    Index width, Index n, double* out,
                    simd::Level level = simd::level());

// Of two vectors of padded length n.
double padded_dot(const double* a, const double* b, Index n,
                  simd::Level level = simd::level());

// to += weight x, of padded length n.
void padded_add(double weight, const double* x, double* to, Index n,
                simd::Level level = simd::level());
}  // namespace bayeskernel
