#include "simd/gram.hpp"

#include <cstring>

#include "simd/outer_panel.hpp"
#include "simd/simd.hpp"

namespace bayeskernel {
#if BAYESKERNEL_HAS_AVX2

namespace simd {
namespace {
using detail::Vector4;

// outer_panel() of 8 and 6 rows that are packed.
BAYESKERNEL_AVX2 void packed_panel(const double* a, const double* b, Index n,
                                   double* out) {
  Vector4 low[6], high[6];
  for (int c = 0; c < 6; ++c) low[c] = high[c] = Vector4{0.0, 0.0, 0.0, 0.0};
  for (Index i = 0; i < n; ++i, a += 8, b += 6) {
    const Vector4 a0 = *reinterpret_cast<const Vector4*>(a);
    const Vector4 a1 = *reinterpret_cast<const Vector4*>(a + 4);
#pragma GCC unroll 8
    for (int c = 0; c < 6; ++c) {
      low[c] += a0 * b[c];
      high[c] += a1 * b[c];
    }
  }
  for (int c = 0; c < 6; ++c) {
    std::memcpy(out + 8 * c, &low[c], 32);
    std::memcpy(out + 8 * c + 4, &high[c], 32);
  }
}

// Lower triangle of gram += X diag(w) X', X p x n with columns p apart: many
// rows, copied together first, since columns far apart share few places of a
// cache. `packed` has room for packed_gram_size() numbers.
Index packed_gram_size(Index p, Index n) { return ((p + 7) / 8 * 8 + 6) * n; }
BAYESKERNEL_AVX2 void packed_gram(const double* x, const double* w, Index p,
                                  Index n, double* packed, double* gram,
                                  Index gram_stride) {
  double* right = packed + (p + 7) / 8 * 8 * n;
  const auto pack = [&](Index first, Index width, double* to) {
    const Index rows = p - first < width ? p - first : width;
    for (Index i = 0; i < n; ++i, to += width) {
      const double* from = x + i * p + first;
      for (Index j = 0; j < rows; ++j) to[j] = from[j];
      for (Index j = rows; j < width; ++j) to[j] = 0.0;
    }
  };
  for (Index r = 0; r < p; r += 8) {
    double* to = packed + r * n;
    pack(r, 8, to);
    for (Index i = 0; i < n; ++i) {
      for (Index j = 0; j < 8; ++j) to[8 * i + j] *= w[i];
    }
  }
  double panel[8 * 6];
  for (Index c = 0; c < p; c += 6) {
    pack(c, 6, right);
    for (Index r = c / 8 * 8; r < p; r += 8) {
      packed_panel(packed + r * n, right, n, panel);
      const Index rows = p - r < 8 ? p - r : 8;
      const Index columns = p - c < 6 ? p - c : 6;
      for (Index k = 0; k < columns; ++k) {
        double* to = gram + (c + k) * gram_stride + r;
        for (Index j = r < c + k ? c + k - r : 0; j < rows; ++j) {
          to[j] += panel[8 * k + j];
        }
      }
    }
  }
}

// The same of few rows, as they lie; reads up to 7 numbers past the end of X.
// n p^2 multiply-adds.
BAYESKERNEL_AVX2 void weighted_gram(const double* x, const double* w, Index p,
                                    Index n, double* gram, Index gram_stride) {
  double panel[8 * 6];
  for (Index c = 0; c < p; c += 6) {
    const Index columns = p - c < 6 ? p - c : 6;
    for (Index r = c / 8 * 8; r < p; r += 8) {
      switch (columns) {
        case 1:
          detail::outer_panel<1>(x + r, x + c, w, n, p, panel);
          break;
        case 2:
          detail::outer_panel<2>(x + r, x + c, w, n, p, panel);
          break;
        case 3:
          detail::outer_panel<3>(x + r, x + c, w, n, p, panel);
          break;
        case 4:
          detail::outer_panel<4>(x + r, x + c, w, n, p, panel);
          break;
        case 5:
          detail::outer_panel<5>(x + r, x + c, w, n, p, panel);
          break;
        default:
          detail::outer_panel<6>(x + r, x + c, w, n, p, panel);
          break;
      }
      const Index rows = p - r < 8 ? p - r : 8;
      for (Index k = 0; k < columns; ++k) {
        for (Index j = 0; j < rows; ++j) {
          if (r + j < c + k) continue;
          gram[(c + k) * gram_stride + r + j] += panel[8 * k + j];
        }
      }
    }
  }
}
}  // namespace
}  // namespace simd

#endif

namespace {
// Few columns: the square stays in registers (fixed sizes unroll at -O2).
template <int P>
void weighted_gram_small(const double* x, const double* w, Index n,
                         Eigen::Ref<MatrixXd> gram) {
  using Row = Eigen::Matrix<double, P, 1>;
  Eigen::Matrix<double, P, P> sum = Eigen::Matrix<double, P, P>::Zero();
  for (Index i = 0; i < n; ++i, x += P) {
    const Row row = Eigen::Map<const Row>(x);
    const Row weighted = w[i] * row;
    sum.noalias() += weighted.lazyProduct(row.transpose());
  }
  gram.template triangularView<Eigen::Lower>() += sum;
}
}  // namespace

void weighted_gram(const MatrixRef& x, const VectorRef& w, MatrixXd& scratch,
                   Eigen::Ref<MatrixXd> gram) {
  const Index p = x.rows(), n = x.cols();
  if (p == 0 || n == 0) return;
  if (x.outerStride() == p) {
    switch (p) {
      case 1:
        return weighted_gram_small<1>(x.data(), w.data(), n, gram);
      case 2:
        return weighted_gram_small<2>(x.data(), w.data(), n, gram);
      case 3:
        return weighted_gram_small<3>(x.data(), w.data(), n, gram);
      case 4:
        return weighted_gram_small<4>(x.data(), w.data(), n, gram);
      default:
        break;
    }
#if BAYESKERNEL_HAS_AVX2
    // Packing costs n p, which few rows do not gain.
    if (simd::enabled() && p >= 96) {
      const Index size = simd::packed_gram_size(p, n);
      if (scratch.size() < size) scratch.resize(size, 1);
      simd::packed_gram(x.data(), w.data(), p, n, scratch.data(), gram.data(),
                        gram.outerStride());
      return;
    }
    // The last rows go the narrow way: the wide one reads 7 numbers further.
    const Index tail = std::min(n, (7 + p) / p);
    if (simd::enabled()) {
      simd::weighted_gram(x.data(), w.data(), p, n - tail, gram.data(),
                          gram.outerStride());
      for (Index i = n - tail; i < n; ++i) {
        gram.selfadjointView<Eigen::Lower>().rankUpdate(x.col(i), w[i]);
      }
      return;
    }
#endif
  }
  if (scratch.rows() != p || scratch.cols() < n) scratch.resize(p, n);
  scratch.leftCols(n).noalias() = x * w.asDiagonal();
  gram.triangularView<Eigen::Lower>() += scratch.leftCols(n) * x.transpose();
}
}  // namespace bayeskernel
