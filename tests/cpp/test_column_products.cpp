// The wide versions are called by name; in this program the functions that
// choose take the narrow ones.
#include <bayeskernel/bark/basis.hpp>
#include <bayeskernel/math/aligned_buffer.hpp>
#include <bayeskernel/math/column_products.hpp>
#include <cstdint>

#include "check.hpp"
#include "hinge_problem.hpp"

using bayeskernel::AlignedBuffer;
using bayeskernel::padded_size;
namespace simd = bayeskernel::simd;

static const int narrow_only = setenv("BAYESKERNEL_SIMD", "off", 1);

// n x m numbers, padded with zeros; b and v behind it.
struct Columns {
  Columns(Index n, Index m, unsigned seed)
      : n(n), m(m), stride(padded_size(n)), data(stride * m), v(stride), b(m) {
    Draw draw(seed);
    k = draw.matrix(n, m);
    right = draw.matrix(n, 1);
    left = draw.matrix(m, 1);
    for (Index c = 0; c < m; ++c) {
      for (Index i = 0; i < n; ++i) data[c * stride + i] = k(i, c);
      b[c] = left[c];
    }
    for (Index i = 0; i < n; ++i) v[i] = right[i];
  }

  Index n, m, stride;
  AlignedBuffer data, v, b;
  MatrixXd k;
  VectorXd right, left;
};

static double gap(const double* found, const VectorXd& expected) {
  double worst = 0.0;
  for (Index i = 0; i < expected.size(); ++i) {
    worst = std::max(worst, std::abs(found[i] - expected[i]));
  }
  return worst;
}

template <class Body>
static void for_sizes(Body&& body) {
  for (Index m = 0; m <= 13; ++m) {
    for (const Index n : {1, 2, 3, 4, 5, 7, 8, 9, 12, 31, 64}) {
      body(Columns(n, m, static_cast<unsigned>(100 * m + n)));
    }
  }
}

template <class Product>
static void check_gram(const Columns& x, Product&& product) {
  const Index gram_stride = padded_size(x.m) + 4;
  AlignedBuffer gram(gram_stride * (x.m + 1));
  product(x.data.data(), x.stride, x.m, gram.data(), gram_stride);
  const MatrixXd expected = x.k.transpose() * x.k;
  for (Index c = 0; c < x.m; ++c) {
    CHECK(gap(gram.data() + c * gram_stride, expected.col(c)) < 1e-12);
    // Nothing is written below the last row.
    CHECK(gram[c * gram_stride + x.m] == 0.0);
  }
}

TEST("K'K of every size, in full") {
  CHECK(!simd::enabled());
  for_sizes([](const Columns& x) {
    check_gram(x, [](auto... args) { bayeskernel::column_gram(args...); });
#if BAYESKERNEL_HAS_AVX2
    if (!simd::has_avx2()) return;
    check_gram(x, [](auto... args) { simd::column_gram(args...); });
#endif
  });
}

template <class Product>
static void check_dots(const Columns& x, Product&& product) {
  AlignedBuffer out(x.m + 1);
  out[x.m] = 7.0;
  product(x.data.data(), x.stride, x.m, x.v.data(), out.data());
  CHECK(gap(out.data(), x.k.transpose() * x.right) < 1e-12);
  CHECK(out[x.m] == 7.0);
}

TEST("K'v of every size") {
  for_sizes([](const Columns& x) {
    check_dots(x, [](auto... args) { bayeskernel::column_dots(args...); });
#if BAYESKERNEL_HAS_AVX2
    if (!simd::has_avx2()) return;
    check_dots(x, [](auto... args) { simd::column_dots(args...); });
#endif
  });
}

template <class Product>
static void check_subtraction(const Columns& x, Product&& product) {
  AlignedBuffer out(x.stride);
  std::copy_n(x.v.data(), x.stride, out.data());
  product(x.data.data(), x.stride, x.m, x.b.data(), out.data());
  CHECK(gap(out.data(), x.right - x.k * x.left) < 1e-12);
  for (Index i = x.n; i < x.stride; ++i) CHECK(out[i] == 0.0);
}

TEST("y - K b of every size") {
  for_sizes([](const Columns& x) {
    check_subtraction(
        x, [](auto... args) { bayeskernel::subtract_columns(args...); });
#if BAYESKERNEL_HAS_AVX2
    if (!simd::has_avx2()) return;
    check_subtraction(x, [](auto... args) { simd::subtract_columns(args...); });
#endif
  });
}

template <class Product>
static void check_rows(Index m, Index n, Product&& product) {
  const Index width = padded_size(m), stride = (m + 7) / 8 * 8 + 8;
  Draw draw(static_cast<unsigned>(m + 50 * n));
  const MatrixXd square = draw.positive_definite(m), x = draw.matrix(m, n);
  AlignedBuffer s(stride * m), rows(width * n), out(width * n);
  for (Index c = 0; c < m; ++c) {
    for (Index i = 0; i < m; ++i) s[c * stride + i] = square(i, c);
    // Whatever stands below a column has no say.
    for (Index i = m; i < stride; ++i) s[c * stride + i] = 1e9;
  }
  for (Index i = 0; i < n; ++i) {
    for (Index c = 0; c < m; ++c) rows[i * width + c] = x(c, i);
  }
  product(s.data(), stride, m, rows.data(), width, n, out.data());
  for (Index i = 0; i < n; ++i) {
    CHECK(gap(out.data() + i * width, square * x.col(i)) < 1e-11);
  }
}

TEST("S x for many x of every size") {
  for (Index m = 1; m <= 18; ++m) {
    for (const Index n : {1, 2, 3, 4, 5, 9}) {
      check_rows(m, n,
                 [](auto... args) { bayeskernel::symmetric_rows(args...); });
#if BAYESKERNEL_HAS_AVX2
      if (!simd::has_avx2()) continue;
      check_rows(m, n, [](auto... args) { simd::symmetric_rows(args...); });
#endif
    }
  }
}

TEST("sums of padded vectors") {
  for (Index n = 1; n <= 20; ++n) {
    const Columns x(n, 1, static_cast<unsigned>(n));
    const double expected = x.k.col(0).dot(x.right);
    const VectorXd sum = x.right + 0.3 * x.k.col(0);
    CHECK_NEAR(bayeskernel::padded_dot(x.data.data(), x.v.data(), x.stride),
               expected, 1e-13);
    AlignedBuffer to(x.stride);
    std::copy_n(x.v.data(), x.stride, to.data());
    bayeskernel::padded_add(0.3, x.data.data(), to.data(), x.stride);
    CHECK(gap(to.data(), sum) < 1e-13);
#if BAYESKERNEL_HAS_AVX2
    if (!simd::has_avx2()) continue;
    CHECK_NEAR(simd::dot(x.data.data(), x.v.data(), x.stride), expected, 1e-13);
    std::copy_n(x.v.data(), x.stride, to.data());
    simd::add_multiple(0.3, x.data.data(), to.data(), x.stride);
    CHECK(gap(to.data(), sum) < 1e-13);
#endif
  }
}

TEST("a buffer starts on a cache line, holds zeros and can be swapped") {
  AlignedBuffer a(5), b(9), none;
  CHECK(reinterpret_cast<std::uintptr_t>(a.data()) % 64 == 0);
  for (Index i = 0; i < 9; ++i) CHECK(b[i] == 0.0);
  b[8] = 2.0;
  a.swap(b);
  CHECK(a.size() == 9 && b.size() == 5 && a[8] == 2.0);
  none.swap(a);
  CHECK(a.size() == 0 && none[8] == 2.0);
}

// ---- Kernel columns
// ----------------------------------------------------------

struct Terms {
  Terms(const Columns& x, Index count) {
    for (Index j = 0; j < count; ++j) {
      list.push_back({x.data.data() + j * x.stride,
                      0.2 + 0.3 * std::abs(x.left[j]),
                      0.1 * static_cast<double>(j)});
    }
  }
  // factor from + sum_j weight_j (x_j - c_j)^2.
  VectorXd sum(const Columns& x, double factor) const {
    VectorXd out = factor * x.right.cwiseAbs();
    for (std::size_t j = 0; j < list.size(); ++j) {
      const auto step = x.k.col(static_cast<Index>(j)).array() - list[j].centre;
      out.array() += list[j].weight * step.square();
    }
    return out;
  }
  std::vector<bayeskernel::ScaleTerm> list;
};

TEST("kernel columns from sums of any number of terms") {
  for_sizes([](const Columns& x) {
    const Terms terms(x, x.m);
    for (const double factor : {0.0, 1.0, 0.7}) {
      const VectorXd expected = terms.sum(x, factor);
      const VectorXd kernel = (-expected).array().exp();
      AlignedBuffer from(x.stride), sum(x.stride), value(x.stride);
      for (Index i = 0; i < x.n; ++i) from[i] = std::abs(x.right[i]);
      bayeskernel::detail::kernel_column(terms.list.data(), x.m, factor,
                                         from.data(), sum.data(), value.data(),
                                         x.n, x.stride);
      CHECK(gap(sum.data(), expected) < 1e-12);
      CHECK(gap(value.data(), kernel) < 1e-12);
      for (Index i = x.n; i < x.stride; ++i) CHECK(value[i] == 0.0);
#if BAYESKERNEL_HAS_AVX2
      if (!simd::has_avx2()) continue;
      AlignedBuffer wide_sum(x.stride), wide_value(x.stride);
      bayeskernel::detail::wide_column(terms.list.data(), x.m, factor,
                                       from.data(), wide_sum.data(),
                                       wide_value.data(), x.stride);
      CHECK(gap(wide_sum.data(), expected) < 1e-12);
      CHECK(gap(wide_value.data(), kernel) < 1e-12);
#endif
    }
  });
}
