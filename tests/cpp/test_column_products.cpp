// Every function at every level that the machine has.
#include "bark/basis.hpp"
#include "simd/aligned_buffer.hpp"
#include "simd/column_products.hpp"
#include <cstdint>

#include "check.hpp"
#include "hinge_problem.hpp"

using bayeskernel::AlignedBuffer;
using bayeskernel::padded_size;
namespace simd = bayeskernel::simd;
using simd::Level;

static std::vector<Level> levels() {
  std::vector<Level> out = {Level::narrow};
  if (simd::has_avx2()) out.push_back(Level::avx2);
  if (simd::has_avx512()) out.push_back(Level::avx512);
  return out;
}

TEST("the level is the best one, or the one that is wished for") {
  const char* wish = std::getenv("BAYESKERNEL_SIMD");
  const std::size_t found = static_cast<std::size_t>(simd::level());
  std::size_t most = 2;
  if (wish != nullptr && std::strcmp(wish, "off") == 0) most = 0;
  if (wish != nullptr && std::strcmp(wish, "avx2") == 0) most = 1;
  CHECK(found == std::min(most, levels().size() - 1));
  CHECK(simd::enabled() == (found > 0));
}

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
  for (const Level level : levels()) {
    for (Index m = 0; m <= 20; ++m) {
      for (Index n = 1; n <= 40; ++n) {
        body(Columns(n, m, static_cast<unsigned>(100 * m + n)), level);
      }
      body(Columns(64 + 4 * m, m, static_cast<unsigned>(m)), level);
    }
  }
}

TEST("K'K of every size, in full") {
  for_sizes([](const Columns& x, Level level) {
    const Index gram_stride = padded_size(x.m) + 4;
    AlignedBuffer gram(gram_stride * (x.m + 1));
    bayeskernel::column_gram(x.data.data(), x.stride, x.m, gram.data(),
                             gram_stride, level);
    const MatrixXd expected = x.k.transpose() * x.k;
    for (Index c = 0; c < x.m; ++c) {
      CHECK(gap(gram.data() + c * gram_stride, expected.col(c)) < 1e-12);
      // Nothing is written below the last row.
      CHECK(gram[c * gram_stride + x.m] == 0.0);
    }
  });
}

TEST("K'v of every size") {
  for_sizes([](const Columns& x, Level level) {
    AlignedBuffer out(x.m + 1);
    out[x.m] = 7.0;
    bayeskernel::column_dots(x.data.data(), x.stride, x.m, x.v.data(),
                             out.data(), level);
    CHECK(gap(out.data(), x.k.transpose() * x.right) < 1e-12);
    CHECK(out[x.m] == 7.0);
  });
}

TEST("y - K b of every size") {
  for_sizes([](const Columns& x, Level level) {
    AlignedBuffer out(x.stride);
    std::copy_n(x.v.data(), x.stride, out.data());
    bayeskernel::subtract_columns(x.data.data(), x.stride, x.m, x.b.data(),
                                  out.data(), level);
    CHECK(gap(out.data(), x.right - x.k * x.left) < 1e-12);
    for (Index i = x.n; i < x.stride; ++i) CHECK(out[i] == 0.0);
  });
}

static void check_rows(Index m, Index n, Level level) {
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
  bayeskernel::symmetric_rows(s.data(), stride, m, rows.data(), width, n,
                              out.data(), level);
  for (Index i = 0; i < n; ++i) {
    CHECK(gap(out.data() + i * width, square * x.col(i)) < 1e-11);
  }
}

TEST("S x for many x of every size") {
  for (const Level level : levels()) {
    for (Index m = 1; m <= 18; ++m) {
      for (const Index n : {1, 2, 3, 4, 5, 9}) check_rows(m, n, level);
    }
  }
}

TEST("sums of padded vectors") {
  for (const Level level : levels()) {
    for (Index n = 1; n <= 80; ++n) {
      const Columns x(n, 1, static_cast<unsigned>(n));
      const double expected = x.k.col(0).dot(x.right);
      const VectorXd sum = x.right + 0.3 * x.k.col(0);
      CHECK_NEAR(
          bayeskernel::padded_dot(x.data.data(), x.v.data(), x.stride, level),
          expected, 1e-13);
      AlignedBuffer to(x.stride);
      std::copy_n(x.v.data(), x.stride, to.data());
      bayeskernel::padded_add(0.3, x.data.data(), to.data(), x.stride, level);
      CHECK(gap(to.data(), sum) < 1e-13);
    }
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
  for_sizes([](const Columns& x, Level level) {
    const Terms terms(x, x.m);
    for (const double factor : {0.0, 1.0, 0.7}) {
      const VectorXd expected = terms.sum(x, factor);
      const VectorXd kernel = (-expected).array().exp();
      AlignedBuffer from(x.stride), sum(x.stride), value(x.stride);
      for (Index i = 0; i < x.n; ++i) from[i] = std::abs(x.right[i]);
      bayeskernel::detail::kernel_column(terms.list.data(), x.m, factor,
                                         from.data(), sum.data(), value.data(),
                                         x.n, x.stride, level);
      CHECK(gap(sum.data(), expected) < 1e-12);
      CHECK(gap(value.data(), kernel) < 1e-12);
      for (Index i = x.n; i < x.stride; ++i) CHECK(value[i] == 0.0);
    }
  });
}

// exp(-s) by a column that leaves the sums as they are.
static std::vector<double> column_exp(const std::vector<double>& s,
                                      Level level) {
  const Index n = static_cast<Index>(s.size()), stride = padded_size(n);
  AlignedBuffer from(stride), sum(stride), value(stride);
  std::copy(s.begin(), s.end(), from.data());
  bayeskernel::detail::kernel_column(nullptr, 0, 1.0, from.data(), sum.data(),
                                     value.data(), n, stride, level);
  return std::vector<double>(value.data(), value.data() + n);
}

TEST("exp of a column is within two units of the last place, to its edges") {
  std::vector<double> s = {0.0, -0.0, 1e-300, 1e-17, 708.0};
  for (double v = 1e-12; v < 708.0; v = 1.0003 * v + 1e-6) s.push_back(v);
  for (int k = 0; k <= 2000; ++k) s.push_back(0.3465735902799726 * k);
  const std::vector<double> far = {709.1, 745.0, 1e5, 1e18, 1e300, INFINITY};
  for (const Level level : levels()) {
    const std::vector<double> value = column_exp(s, level);
    double worst = 0.0;
    for (std::size_t i = 0; i < s.size(); ++i) {
      if (s[i] > 708.0) continue;
      const double truth = std::exp(-s[i]);
      const double unit = std::nextafter(truth, 2.0) - truth;
      worst = std::max(worst, std::abs(value[i] - truth) / unit);
    }
    CHECK(worst <= 2.0);
    CHECK(value[0] == 1.0 && value[1] == 1.0 && value[2] == 1.0);
    for (const double v : column_exp(far, level)) CHECK(v == 0.0);
    // A sum below 0 is rounding. In each lane of each width.
    for (std::size_t place = 0; place < 28; ++place) {
      std::vector<double> edge(28, 3.0);
      edge[place] = -1e-13;
      CHECK(column_exp(edge, level)[place] == 1.0);
      edge[place] = NAN;
      const std::vector<double> found = column_exp(edge, level);
      for (std::size_t i = 0; i < 28; ++i) {
        CHECK(std::isnan(found[i]) == (i == place));
      }
    }
  }
}

TEST("an element of a column does not depend on its place or the level") {
  std::vector<double> s;
  for (int i = 0; i < 31; ++i) s.push_back(0.37 * i * i + 1e-3);
  const std::vector<Level> all = levels();
  for (const Level level : all) {
    const std::vector<double> whole = column_exp(s, level);
    for (std::size_t from = 0; from < s.size(); ++from) {
      const std::vector<double> part(s.begin() + from, s.end());
      const std::vector<double> found = column_exp(part, level);
      CHECK(std::equal(found.begin(), found.end(), whole.begin() + from));
    }
    // The wide ones do the same operations.
    if (level != Level::narrow) CHECK(whole == column_exp(s, Level::avx2));
  }
}
