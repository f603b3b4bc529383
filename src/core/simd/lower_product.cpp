#include "simd/lower_product.hpp"

#include <cstring>

#include "simd/simd.hpp"

namespace bayeskernel {
#if BAYESKERNEL_HAS_AVX2

namespace simd {
namespace detail {
// Rows r .. r + 7 of U x for R vectors p apart; `panel` holds them column by
// column, `columns` of them. Stored to `out` unless it is null, of which
// `rows` rows exist; norm += their squares.
template <int R>
BAYESKERNEL_AVX2 inline void lower_panel(const double* panel, Index columns,
                                         Index p, Index rows, const double* x,
                                         double* out, double* norm) {
  Vector4 low[R], high[R];
  for (int i = 0; i < R; ++i) low[i] = high[i] = Vector4{0.0, 0.0, 0.0, 0.0};
  for (Index c = 0; c < columns; ++c, panel += 8) {
    const Vector4 u0 = *reinterpret_cast<const Vector4*>(panel);
    const Vector4 u1 = *reinterpret_cast<const Vector4*>(panel + 4);
#pragma GCC unroll 6
    for (int i = 0; i < R; ++i) {
      low[i] += u0 * x[i * p + c];
      high[i] += u1 * x[i * p + c];
    }
  }
  for (int i = 0; i < R; ++i) {
    if (out != nullptr) {
      double both[8];
      std::memcpy(both, &low[i], 32);
      std::memcpy(both + 4, &high[i], 32);
      std::memcpy(out + i * p, both,
                  static_cast<std::size_t>(rows) * sizeof(double));
    }
    const Vector4 square = low[i] * low[i] + high[i] * high[i];
    norm[i] += (square[0] + square[1]) + (square[2] + square[3]);
  }
}
}  // namespace detail

// `packed`: rows 8 k .. 8 k + 7 of U are 8 (k + 1) columns (p at most, and p if
// it is square) of 8 numbers, one panel after another. Vectors are taken 48 at
// a time, so that they stay in the cache while the panels pass.
BAYESKERNEL_AVX2 inline void lower_product(const double* packed, Index p,
                                           bool square, const double* x,
                                           Index n, double* out, double* norm) {
  constexpr Index kVectors = 48;
  for (Index first = 0; first < n; first += kVectors) {
    const Index end = std::min(n, first + kVectors);
    const double* panel = packed;
    for (Index r = 0; r < p; r += 8) {
      const Index columns = square ? p : std::min(p, r + 8);
      const Index rows = std::min<Index>(8, p - r);
      double* to = out == nullptr ? nullptr : out + r;
      const auto at = [&](Index i) {
        return to == nullptr ? nullptr : to + i * p;
      };
      Index i = first;
      for (; i + 6 <= end; i += 6) {
        detail::lower_panel<6>(panel, columns, p, rows, x + i * p, at(i),
                               norm + i);
      }
      for (; i + 4 <= end; i += 4) {
        detail::lower_panel<4>(panel, columns, p, rows, x + i * p, at(i),
                               norm + i);
      }
      for (; i < end; ++i) {
        detail::lower_panel<1>(panel, columns, p, rows, x + i * p, at(i),
                               norm + i);
      }
      panel += 8 * columns;
    }
  }
}
}  // namespace simd

#endif

void LowerProduct::set(const MatrixXd& u, bool square) {
  p_ = u.rows();
  square_ = square;
  if (!simd::enabled()) {
    narrow_ = u;
    if (!square) narrow_.triangularView<Eigen::StrictlyUpper>().setZero();
    return;
  }
  const auto width = [&](Index r) { return square ? p_ : std::min(p_, r + 8); };
  Index size = 0;
  for (Index r = 0; r < p_; r += 8) size += 8 * width(r);
  packed_.setZero(size);
  double* to = packed_.data();
  for (Index r = 0; r < p_; r += 8) {
    for (Index c = 0; c < width(r); ++c, to += 8) {
      const Index first = square ? r : std::max(r, c);
      const Index last = std::min(p_, r + 8);
      std::copy(u.data() + c * p_ + first, u.data() + c * p_ + last,
                to + (first - r));
    }
  }
}

void LowerProduct::apply(const double* x, Index n, double* out,
                         double* norm) const {
  std::fill(norm, norm + n, 0.0);
#if BAYESKERNEL_HAS_AVX2
  if (simd::enabled()) {
    simd::lower_product(packed_.data(), p_, square_, x, n, out, norm);
    return;
  }
#endif
  // Eigen takes four columns at a time: the last are filled up to four.
  const Index whole = n / 4 * 4;
  multiply(x, whole, out, norm);
  if (whole == n) return;
  MatrixXd from = MatrixXd::Zero(p_, 4), to(p_, 4);
  VectorXd squares = VectorXd::Zero(4);
  from.leftCols(n - whole) = MatrixMap(x + whole * p_, p_, n - whole);
  multiply(from.data(), 4, to.data(), squares.data());
  std::copy_n(to.data(), (n - whole) * p_, out + whole * p_);
  std::copy_n(squares.data(), n - whole, norm + whole);
}

void LowerProduct::add_norms(const double* x, Index n, MatrixXd& work,
                             double* norm) const {
#if BAYESKERNEL_HAS_AVX2
  if (simd::enabled()) {
    simd::lower_product(packed_.data(), p_, square_, x, n, nullptr, norm);
    return;
  }
#endif
  if (work.rows() != p_ || work.cols() < n) work.resize(p_, n);
  multiply(x, n, work.data(), norm);
}

void LowerProduct::multiply(const double* x, Index n, double* out,
                            double* norm) const {
  if (n == 0) return;
  Eigen::Map<MatrixXd> to(out, p_, n);
  to.noalias() = narrow_ * MatrixMap(x, p_, n);
  // In this order wherever the column lies.
  for (Index i = 0; i < n; ++i) {
    double sum = 0.0;
    for (Index j = 0; j < p_; ++j) sum += to(j, i) * to(j, i);
    norm[i] += sum;
  }
}
}  // namespace bayeskernel
