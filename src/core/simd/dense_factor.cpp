#include "simd/dense_factor.hpp"

#include "simd/lower_product.hpp"
#include "simd/outer_panel.hpp"
#include "simd/simd.hpp"

namespace bayeskernel {
namespace {
constexpr Index kFactorBlock = 64;

#if BAYESKERNEL_HAS_AVX2

// Lower triangle of a (n x n, `stride` apart) -= panel panel'; `packed` holds
// the panel's rows 8 at a time, `width` columns of 8 numbers; ones: width.
BAYESKERNEL_AVX2 void subtract_square(const double* packed, const double* ones,
                                      Index width, Index n, double* a,
                                      Index stride) {
  double sum[8 * 4];
  for (Index c = 0; c < n; c += 4) {
    const double* right = packed + c / 8 * 8 * width + c % 8;
    for (Index r = c / 8 * 8; r < n; r += 8) {
      simd::detail::outer_panel<4>(packed + r * width, right, ones, width, 8,
                                   sum);
      const Index rows = std::min<Index>(8, n - r);
      const Index columns = std::min<Index>(4, n - c);
      for (Index k = 0; k < columns; ++k) {
        double* to = a + (c + k) * stride + r;
        for (Index j = 0; j < rows; ++j) to[j] -= sum[8 * k + j];
      }
    }
  }
}

#endif

// Lower triangle of a -= panel panel'. What lies above it is used up.
void subtract_panel(const MatrixRef& panel, VectorXd& packed,
                    Eigen::Ref<MatrixXd> a) {
#if BAYESKERNEL_HAS_AVX2
  if (simd::enabled()) {
    const Index n = panel.rows(), width = panel.cols();
    packed.setZero((n + 7) / 8 * 8 * width);
    for (Index r = 0; r < n; r += 8) {
      const Index rows = std::min<Index>(8, n - r);
      for (Index k = 0; k < width; ++k) {
        std::copy_n(panel.data() + k * panel.outerStride() + r, rows,
                    packed.data() + r * width + k * 8);
      }
    }
    const VectorXd ones = VectorXd::Ones(width);
    subtract_square(packed.data(), ones.data(), width, n, a.data(),
                    a.outerStride());
    return;
  }
#endif
  a.triangularView<Eigen::Lower>() -= panel * panel.transpose();
}

// R M for R lower triangular.
MatrixXd lower_times(const MatrixXd& r, const MatrixXd& m) {
  MatrixXd out(m.rows(), m.cols());
  VectorXd norm(m.cols());
  LowerProduct(r).apply(m.data(), m.cols(), out.data(), norm.data());
  return out;
}
}  // namespace

bool factor_lower(MatrixXd& a) {
  const Index n = a.rows();
  VectorXd packed;
  for (Index k = 0; k < n; k += kFactorBlock) {
    const Index width = std::min(kFactorBlock, n - k);
    const Index below = n - k - width;
    Eigen::Ref<MatrixXd> corner = a.block(k, k, width, width);
    const Eigen::LLT<Eigen::Ref<MatrixXd>> diagonal(corner);
    if (diagonal.info() != Eigen::Success) return false;
    if (!a.diagonal().segment(k, width).array().isFinite().all()) return false;
    if (below == 0) break;
    auto panel = a.block(k + width, k, below, width);
    const MatrixXd root = corner.triangularView<Eigen::Lower>();
    root.triangularView<Eigen::Lower>()
        .transpose()
        .solveInPlace<Eigen::OnTheRight>(panel);
    subtract_panel(panel, packed, a.block(k + width, k + width, below, below));
  }
  return true;
}

void invert_lower_into(const MatrixRef& l, Eigen::Ref<MatrixXd> out) {
  const Index n = l.rows();
  if (n <= kFactorBlock) {
    MatrixXd small = MatrixXd::Identity(n, n);
    l.triangularView<Eigen::Lower>().solveInPlace(small);
    out = small;
    return;
  }
  // [A 0; B C] has the inverse [A^-1 0; -C^-1 B A^-1, C^-1].
  const Index top = n / 2 / 8 * 8, low = n - top;
  auto a = out.topLeftCorner(top, top);
  auto c = out.bottomRightCorner(low, low);
  invert_lower_into(l.topLeftCorner(top, top), a);
  invert_lower_into(l.bottomRightCorner(low, low), c);
  MatrixXd product = lower_times(c, l.bottomLeftCorner(low, top));
  // X A^-1 = (A^-T X')', where A^-T is lower triangular in reversed order.
  product = product.transpose().colwise().reverse().eval();
  product = lower_times(a.transpose().reverse(), product);
  out.bottomLeftCorner(low, top) = -product.colwise().reverse().transpose();
  out.topRightCorner(top, low).setZero();
}

MatrixXd invert_lower(const MatrixRef& l) {
  MatrixXd out(l.rows(), l.cols());
  invert_lower_into(l, out);
  return out;
}
}  // namespace bayeskernel
