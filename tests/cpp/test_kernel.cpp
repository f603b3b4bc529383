#include "check.hpp"
#include "ep/mixture.hpp"
#include "error.hpp"
#include "gp/features.hpp"
#include "hinge_problem.hpp"
#include "kernel/columns.hpp"
#include "kernel/tile.hpp"
#include "kernel/tree.hpp"
#include "multinomial/design.hpp"

using bayeskernel::Kernel;
using bayeskernel::KernelColumns;
using Scratch = KernelColumns::Scratch;

namespace {
VectorXd part(const VectorXd& x, const std::vector<Index>& columns) {
  VectorXd out(static_cast<Index>(columns.size()));
  for (Index k = 0; k < out.size(); ++k) out[k] = x[columns[k]];
  return out;
}

// k(x, z) as it is written down.
double textbook(const Kernel& kernel, const VectorXd& x, const VectorXd& z) {
  if (kernel.leaf() && !kernel.columns().empty()) {
    return textbook(kernel.on({}), part(x, kernel.columns()),
                    part(z, kernel.columns()));
  }
  const VectorXd& ell = kernel.lengthscale();
  switch (kernel.kind()) {
    case Kernel::Kind::matern: {
      double sum = 0.0;
      for (Index k = 0; k < x.size(); ++k) {
        const double u = (x[k] - z[k]) / ell[ell.size() == 1 ? 0 : k];
        sum += u * u;
      }
      const double r = std::sqrt(kernel.twice_nu() * sum);
      const double factor = kernel.twice_nu() == 1   ? 1.0
                            : kernel.twice_nu() == 3 ? 1.0 + r
                                                     : 1.0 + r + r * r / 3.0;
      return kernel.variance() * factor * std::exp(-r);
    }
    case Kernel::Kind::periodic: {
      double sum = 0.0;
      for (Index k = 0; k < x.size(); ++k) {
        const double unit = kernel.unit()[kernel.unit().size() == 1 ? 0 : k];
        const double s =
            std::sin(M_PI * unit * (x[k] - z[k]) / kernel.period());
        sum += s * s;
      }
      return kernel.variance() * std::exp(-2.0 * sum / (ell[0] * ell[0]));
    }
    case Kernel::Kind::categorical:
      return x == z ? kernel.variance() : 0.0;
    case Kernel::Kind::rbf: {
      double sum = 0.0;
      for (Index k = 0; k < x.size(); ++k) {
        const double u = (x[k] - z[k]) / ell[ell.size() == 1 ? 0 : k];
        sum += u * u;
      }
      return kernel.variance() * std::exp(-0.5 * sum);
    }
    case Kernel::Kind::projected:
      return kernel.variance() *
             std::exp(-0.5 * (kernel.projection() * (x - z)).squaredNorm());
    case Kernel::Kind::linear:
      return kernel.variance() * x.dot(z);
    case Kernel::Kind::polynomial:
      return kernel.variance() *
             std::pow(x.dot(z) + kernel.offset(), kernel.degree());
    default: {
      const bool sum = kernel.kind() == Kernel::Kind::sum;
      double out = sum ? 0.0 : 1.0;
      for (const Kernel& child : kernel.children()) {
        const double value = textbook(child, x, z);
        out = sum ? out + value : out * value;
      }
      return out;
    }
  }
}

MatrixXd textbook_block(const Kernel& kernel, const MatrixXd& z,
                        const MatrixXd& x) {
  MatrixXd out(z.cols(), x.cols());
  for (Index i = 0; i < x.cols(); ++i) {
    for (Index j = 0; j < z.cols(); ++j) {
      out(j, i) = textbook(kernel, z.col(j), x.col(i));
    }
  }
  return out;
}

VectorXd scales(Index d) {
  return VectorXd::LinSpaced(d, 0.7, 0.7 + 0.3 * static_cast<double>(d));
}

Kernel shared_rbf() { return Kernel::rbf(VectorXd::Constant(1, 1.3), 1.7); }

// r directions in d columns.
MatrixXd directions(Index r, Index d) {
  MatrixXd out(r, d);
  for (Index k = 0; k < r * d; ++k) out.data()[k] = std::sin(1.0 + 2.0 * k);
  return out;
}

// Every kind, alone and combined, for points of d numbers.
std::vector<Kernel> kernels(Index d) {
  const Kernel ard = Kernel::rbf(scales(d), 0.8);
  const Kernel linear = Kernel::linear(0.3);
  const Kernel cubic = Kernel::polynomial(3, 0.5, 0.2);
  const Kernel rough = Kernel::matern(1, VectorXd::Constant(1, 2.0), 1.4);
  const Kernel matern = Kernel::matern(3, scales(d), 0.9);
  const Kernel smooth = Kernel::matern(5, VectorXd::Constant(1, 1.1), 0.6);
  const Kernel wave =
      Kernel::periodic(1.7, VectorXd::Constant(1, 0.8), 1.2, 0.7);
  const Kernel last = Kernel::rbf(VectorXd::Constant(1, 0.9), 1.3).on({d - 1});
  std::vector<Index> ends = {d - 1};
  if (d > 1) ends.push_back(0);
  const Index some = static_cast<Index>(ends.size());
  return {
      rough,
      matern,
      smooth,
      wave,
      last,
      Kernel::matern(5, scales(some), 1.2).on(ends),
      Kernel::periodic(2.3, scales(some), 0.9, 1.1).on(ends),
      Kernel::projected(directions(1, d), 0.8),
      Kernel::sum({Kernel::projected(directions(2, some), 1.2).on(ends),
                   Kernel::product({Kernel::projected(directions(3, d), 1.0),
                                    cubic.on({0})})}),
      linear.on(ends),
      cubic.on({0}),
      Kernel::sum({Kernel::product({last, wave.on({0})}), rough.on(ends),
                   Kernel::product({matern, linear.on({0})})}),
      Kernel::sum({Kernel::product({ard, Kernel::categorical(0.4).on({0})}),
                   Kernel::categorical(0.5)}),
      shared_rbf(),
      ard,
      linear,
      cubic,
      Kernel::polynomial(1, 0.0, 1.1),
      Kernel::sum({shared_rbf(), linear}),
      Kernel::product({ard, cubic}),
      Kernel::product({linear, linear, shared_rbf()}),
      Kernel::sum({Kernel::product({shared_rbf(), linear}), ard,
                   Kernel::product({Kernel::sum({cubic, ard}), linear})})};
}

MatrixXd block(const KernelColumns& columns, const MatrixXd& x) {
  Scratch scratch;
  MatrixXd out(columns.columns(), x.cols());
  columns.block(x.data(), x.cols(), scratch, out.data());
  return out;
}

std::vector<bool> widths() {
  std::vector<bool> out = {false};
  if (bayeskernel::simd::has_avx2()) out.push_back(true);
  return out;
}

double largest(const MatrixXd& difference) {
  return difference.cwiseAbs().maxCoeff();
}

// F = sum G * K(Z, X), for differences.
double weighted_sum(const Kernel& kernel, const MatrixXd& z, const MatrixXd& x,
                    const MatrixXd& g) {
  return textbook_block(kernel, z, x).cwiseProduct(g).sum();
}

Kernel moved(const Kernel& kernel, Index parameter, double step) {
  Kernel out = kernel;
  VectorXd values = kernel.log_parameters();
  values[parameter] += step;
  out.set_log_parameters(values);
  return out;
}
}  // namespace

TEST("blocks of every kernel equal the textbook, whatever their sizes") {
  for (const bool wide : widths()) {
    for (const Index d : {1, 2, 5, 21}) {
      for (const Index m : {1, 4, 7, 8, 13}) {
        Draw draw(static_cast<unsigned>(100 * d + m));
        const MatrixXd z = draw.matrix(d, m), x = draw.matrix(d, 11);
        for (const Kernel& kernel : kernels(d)) {
          const MatrixXd found = block(KernelColumns(kernel, z, wide), x);
          const MatrixXd expected = textbook_block(kernel, z, x);
          const double size = 1.0 + expected.cwiseAbs().maxCoeff();
          CHECK(largest(found - expected) < 1e-13 * size);
        }
      }
    }
  }
}

TEST("both widths agree to 1e-13") {
  if (!bayeskernel::simd::has_avx2()) return;
  Draw draw(3);
  const MatrixXd z = draw.matrix(21, 30), x = draw.matrix(21, 50);
  for (const Kernel& kernel : kernels(21)) {
    const MatrixXd narrow = block(KernelColumns(kernel, z, false), x);
    const MatrixXd wide = block(KernelColumns(kernel, z, true), x);
    CHECK(largest(narrow - wide) < 1e-13 * (1.0 + largest(narrow)));
  }
}

TEST("a column of a block is the same bits however columns are cut") {
  for (const bool wide : widths()) {
    for (const Index m : {1, 5, 20}) {
      Draw draw(static_cast<unsigned>(m));
      const MatrixXd z = draw.matrix(7, m), x = draw.matrix(7, 61);
      for (const Kernel& kernel : kernels(7)) {
        const KernelColumns columns(kernel, z, wide);
        const MatrixXd whole = block(columns, x);
        for (const Index size : {1, 2, 3, 4, 5, 16}) {
          for (Index i = 0; i < x.cols(); i += size) {
            const Index n = std::min(size, x.cols() - i);
            CHECK(block(columns, x.middleCols(i, n)) == whole.middleCols(i, n));
          }
        }
      }
    }
  }
}

TEST("an rbf of a point with itself is its variance exactly, never above") {
  for (const bool wide : widths()) {
    Draw draw(8);
    for (const Index d : {1, 3, 21, 60}) {
      MatrixXd z = 40.0 * draw.matrix(d, 23);
      z.array() += 1000.0;
      const Kernel kernel = Kernel::rbf(scales(d), 1.7);
      const MatrixXd gram = block(KernelColumns(kernel, z, wide), z);
      CHECK((gram.diagonal().array() == 1.7).all());
      CHECK(gram.maxCoeff() <= 1.7);
      // Points nearer to one another than the rounding of their norms.
      const MatrixXd near = z + 1e-9 * draw.matrix(d, 23);
      const MatrixXd pairs = block(KernelColumns(kernel, z, wide), near);
      CHECK(pairs.maxCoeff() <= 1.7);
      CHECK(pairs.diagonal().minCoeff() > 1.7 * (1.0 - 1e-9));
    }
  }
}

TEST("leaves of distances are 1 at home, and keep digits nearby") {
  for (const bool wide : widths()) {
    Draw draw(14);
    for (const int twice_nu : {1, 3, 5}) {
      MatrixXd z = draw.matrix(3, 17);
      const Kernel kernel = Kernel::matern(twice_nu, scales(3), 1.7);
      const MatrixXd gram = block(KernelColumns(kernel, z, wide), z);
      CHECK((gram.diagonal().array() == 1.7).all());
      CHECK(gram.maxCoeff() <= 1.7);
      const MatrixXd near = z + 1e-7 * draw.matrix(3, 17);
      const MatrixXd pairs = block(KernelColumns(kernel, z, wide), near);
      CHECK(largest(pairs - textbook_block(kernel, z, near)) < 1e-14);
    }
    const MatrixXd z = draw.matrix(2, 5);
    const Kernel wave =
        Kernel::periodic(0.75, VectorXd::Constant(1, 1.0), 0.8, 1.0);
    MatrixXd later = z;
    later.row(0).array() += 3.0;
    later.row(1).array() -= 0.75;
    CHECK(largest(block(KernelColumns(wave, z, wide), later) -
                  block(KernelColumns(wave, z, wide), z)) < 1e-14);
  }
  // Beyond all numbers it is 0.
  const Kernel rough = Kernel::matern(5, VectorXd::Constant(1, 1e-3), 1.0);
  const MatrixXd far = MatrixXd::Constant(1, 1, 1e160);
  CHECK(block(KernelColumns(rough, MatrixXd::Zero(1, 1)), far)(0, 0) == 0.0);
}

TEST("codes agree up to the rounding of what standardised them") {
  MatrixXd z(2, 3), x(2, 2);
  z << 1.0, 2.0, 2.0, 0.1, 0.1, 7.0;
  x << 2.0, 1.0, 0.3 - 0.2, 7.0;
  const Kernel both = Kernel::categorical(2.0);
  MatrixXd expected(3, 2);
  expected << 0.0, 0.0, 2.0, 0.0, 0.0, 0.0;
  CHECK(block(KernelColumns(both, z), x) == expected);
  expected << 0.0, 2.0, 2.0, 0.0, 2.0, 0.0;
  CHECK(block(KernelColumns(both.on({0}), z), x) == expected);
}

TEST("points far from the origin keep the digits of their distances") {
  for (const bool wide : widths()) {
    Draw draw(9);
    const MatrixXd z = draw.matrix(4, 12), x = draw.matrix(4, 9);
    const MatrixXd z_far = z.array() + 1024.0, x_far = x.array() + 1024.0;
    const KernelColumns columns(shared_rbf(), z_far, wide);
    const MatrixXd found = block(columns, x_far);
    CHECK(largest(found - textbook_block(shared_rbf(), z_far, x_far)) < 1e-13);
  }
}

TEST("exp is within two units of the last place and 0 below -709") {
  const auto checked = [](void (*exp)(double*, Index, double)) {
    std::vector<double> x = {0.0, -0.0, -1e-300, -1e-17, -708.0};
    for (double v = -1e-12; v > -708.0; v = 1.0003 * v - 1e-6) x.push_back(v);
    for (int k = 0; k <= 2000; ++k) x.push_back(-0.3465735902799726 * k);
    std::vector<double> value = x;
    exp(value.data(), static_cast<Index>(x.size()), 1.0);
    double worst = 0.0;
    for (std::size_t i = 0; i < x.size(); ++i) {
      if (x[i] < -708.0) continue;
      const double truth = std::exp(x[i]);
      const double unit = std::nextafter(truth, 2.0) - truth;
      worst = std::max(worst, std::abs(value[i] - truth) / unit);
    }
    CHECK(worst <= 2.0);
    CHECK(value[0] == 1.0 && value[1] == 1.0);
    double far[] = {-709.1, -745.0, -1e5, -1e18, -1e300, -INFINITY, 1e-13};
    exp(far, 7, 2.0);
    for (int k = 0; k < 6; ++k) CHECK(far[k] == 0.0);
    CHECK(far[6] == 2.0);
  };
  checked(bayeskernel::detail::NarrowTile::exp);
#if BAYESKERNEL_HAS_AVX2
  if (bayeskernel::simd::has_avx2()) {
    checked(bayeskernel::detail::WideTile::exp);
    double nan[] = {NAN};
    bayeskernel::detail::WideTile::exp(nan, 1, 1.0);
    CHECK(std::isnan(nan[0]));
  }
#endif
}

TEST("parameters come depth first and go back as they came") {
  const Kernel kernel = Kernel::sum(
      {Kernel::product({Kernel::linear(2.0), Kernel::rbf(scales(2), 3.0)}),
       Kernel::periodic(6.0, VectorXd::Ones(1), 7.0, 8.0),
       Kernel::categorical(5.0)});
  VectorXd expected(8);
  expected << 2.0, 3.0, scales(2), 8.0, 7.0, 6.0, 5.0;
  CHECK(kernel.parameters() == 8);
  CHECK(largest(kernel.log_parameters() - VectorXd(expected.array().log())) <
        1e-15);
  Kernel other = kernel;
  const VectorXd values = VectorXd::LinSpaced(8, -1.0, 1.0);
  other.set_log_parameters(values);
  CHECK(largest(other.log_parameters() - values) < 1e-15);
  CHECK_THROWS(other.set_log_parameters(VectorXd::Zero(4)),
               bayeskernel::ArgumentError);
}

TEST("length-scales of a leaf are a family, other parameters one each") {
  const Kernel kernel = Kernel::sum(
      {Kernel::product({Kernel::linear(2.0), Kernel::rbf(scales(3), 3.0)}),
       Kernel::periodic(6.0, VectorXd::Ones(1), 7.0, 8.0),
       Kernel::projected(MatrixXd::Ones(1, 2), 1.0)});
  const std::vector<Index> expected{0, 1, 2, 2, 2, 5, 6, 7, 8, 9, 10};
  CHECK(kernel.families() == expected);
}

TEST("entries of a projection are parameters row after row") {
  const MatrixXd a = directions(2, 3);
  const Kernel kernel =
      Kernel::sum({Kernel::projected(a, 2.0).on({3, 0, 1}),
                   Kernel::rbf(VectorXd::Constant(1, 0.5), 1.0)});
  VectorXd expected(9);
  expected << std::log(2.0), a.row(0).transpose(), a.row(1).transpose(), 0.0,
      std::log(0.5);
  CHECK(largest(kernel.log_parameters() - expected) < 1e-15);
  Kernel other = kernel;
  const VectorXd values = VectorXd::LinSpaced(9, -1.0, 1.0);
  other.set_log_parameters(values);
  CHECK(largest(other.log_parameters() - values) < 1e-15);
  const std::vector<Index> at = kernel.multiplied_columns();
  CHECK((at == std::vector<Index>{-1, 3, 0, 1, 3, 0, 1, -1, -1}));
  const Kernel round = kernel.without_projections();
  CHECK(round.children()[0].kind() == Kernel::Kind::rbf);
  CHECK(round.children()[0].columns() == kernel.children()[0].columns());
  CHECK_NEAR(round.children()[0].lengthscale()[0], std::sqrt(2.0) / a.norm(),
             1e-14);
}

TEST("gradients in the parameters equal central differences") {
  constexpr double kStep = 1e-5;
  for (const bool wide : widths()) {
    Draw draw(11);
    const MatrixXd z = draw.matrix(3, 6), x = draw.matrix(3, 9);
    const MatrixXd g = draw.matrix(6, 9);
    for (const Kernel& kernel : kernels(3)) {
      const KernelColumns columns(kernel, z, wide);
      Scratch scratch;
      const MatrixXd k = block(columns, x);
      // Added to what is there.
      VectorXd gradient = VectorXd::Constant(kernel.parameters(), 0.5);
      columns.add_gradient(x.data(), 9, g.data(), k.data(), scratch, gradient);
      for (Index p = 0; p < kernel.parameters(); ++p) {
        const double slope = (weighted_sum(moved(kernel, p, kStep), z, x, g) -
                              weighted_sum(moved(kernel, p, -kStep), z, x, g)) /
                             (2.0 * kStep);
        CHECK_NEAR(gradient[p], 0.5 + slope, 1e-6);
      }
    }
  }
}

TEST("gradients of the diagonal equal central differences") {
  constexpr double kStep = 1e-5;
  Draw draw(12);
  const MatrixXd x = draw.matrix(3, 9);
  const VectorXd g = draw.matrix(9, 1);
  const auto sum = [&](const Kernel& kernel) {
    VectorXd diagonal(9);
    kernel.diagonal(x, diagonal);
    return diagonal.dot(g);
  };
  for (const Kernel& kernel : kernels(3)) {
    CHECK_NEAR(sum(kernel), textbook_block(kernel, x, x).diagonal().dot(g),
               1e-13);
    const KernelColumns columns(kernel, x);
    Scratch scratch;
    VectorXd gradient = VectorXd::Constant(kernel.parameters(), 0.5);
    columns.add_diagonal_gradient(x.data(), 9, g.data(), scratch, gradient);
    for (Index p = 0; p < kernel.parameters(); ++p) {
      const double slope =
          (sum(moved(kernel, p, kStep)) - sum(moved(kernel, p, -kStep))) /
          (2.0 * kStep);
      CHECK_NEAR(gradient[p], 0.5 + slope, 1e-6);
    }
  }
}

TEST("gradients in the locations equal central differences") {
  constexpr double kStep = 1e-5;
  for (const bool wide : widths()) {
    Draw draw(13);
    const MatrixXd z = draw.matrix(3, 6), x = draw.matrix(3, 9);
    const MatrixXd g = draw.matrix(6, 9);
    for (const Kernel& kernel : kernels(3)) {
      const KernelColumns columns(kernel, z, wide);
      Scratch scratch;
      const MatrixXd k = block(columns, x);
      MatrixXd locations = MatrixXd::Constant(3, 6, 0.5);
      columns.add_location_gradient(x.data(), 9, g.data(), k.data(), scratch,
                                    locations);
      for (Index at = 0; at < z.size(); ++at) {
        MatrixXd up = z, down = z;
        up.data()[at] += kStep;
        down.data()[at] -= kStep;
        const double slope = (weighted_sum(kernel, up, x, g) -
                              weighted_sum(kernel, down, x, g)) /
                             (2.0 * kStep);
        CHECK_NEAR(locations.data()[at], 0.5 + slope, 1e-6);
      }
    }
  }
}

TEST("one scratch serves kernels and tiles of different sizes in turn") {
  Scratch scratch;
  for (const Index d : {5, 2, 9}) {
    Draw draw(static_cast<unsigned>(d));
    const MatrixXd z = draw.matrix(d, 2 * d), x = draw.matrix(d, 30 / d);
    const MatrixXd g = draw.matrix(2 * d, x.cols());
    for (const Kernel& kernel : kernels(d)) {
      const KernelColumns columns(kernel, z);
      MatrixXd k(2 * d, x.cols());
      columns.block(x.data(), x.cols(), scratch, k.data());
      CHECK(k == block(columns, x));
      VectorXd found = VectorXd::Zero(kernel.parameters()), fresh = found;
      Scratch own;
      columns.add_gradient(x.data(), x.cols(), g.data(), k.data(), scratch,
                           found);
      columns.add_gradient(x.data(), x.cols(), g.data(), k.data(), own, fresh);
      CHECK(found == fresh);
    }
  }
}

TEST("what is no kernel is refused") {
  using bayeskernel::ArgumentError;
  CHECK_THROWS(Kernel::linear(0.0), ArgumentError);
  CHECK_THROWS(Kernel::linear(INFINITY), ArgumentError);
  CHECK_THROWS(Kernel::rbf(VectorXd::Constant(1, -1.0), 1.0), ArgumentError);
  CHECK_THROWS(Kernel::rbf(VectorXd(), 1.0), ArgumentError);
  CHECK_THROWS(Kernel::polynomial(0, 1.0, 1.0), ArgumentError);
  CHECK_THROWS(Kernel::polynomial(2, -1.0, 1.0), ArgumentError);
  CHECK_THROWS(Kernel::sum({Kernel::linear(1.0)}), ArgumentError);
  const VectorXd one = VectorXd::Ones(1);
  CHECK_THROWS(Kernel::matern(2, one, 1.0), ArgumentError);
  CHECK_THROWS(Kernel::matern(3, VectorXd(), 1.0), ArgumentError);
  CHECK_THROWS(Kernel::periodic(0.0, one, 1.0, 1.0), ArgumentError);
  CHECK_THROWS(Kernel::periodic(1.0, -one, 1.0, 1.0), ArgumentError);
  CHECK_THROWS(Kernel::periodic(1.0, one, NAN, 1.0), ArgumentError);
  CHECK_THROWS(Kernel::categorical(-1.0), ArgumentError);
  CHECK_THROWS(Kernel::projected(MatrixXd(), 1.0), ArgumentError);
  CHECK_THROWS(Kernel::projected(MatrixXd::Constant(1, 1, NAN), 1.0),
               ArgumentError);
  CHECK_THROWS(KernelColumns(Kernel::projected(directions(1, 3), 1.0),
                             MatrixXd::Ones(2, 4)),
               ArgumentError);
  CHECK_THROWS(KernelColumns(Kernel::linear(1.0).on({2}), MatrixXd::Ones(2, 4)),
               ArgumentError);
  CHECK_THROWS(KernelColumns(Kernel::rbf(scales(3), 1.0).on({0, 1}),
                             MatrixXd::Ones(3, 4)),
               ArgumentError);
  CHECK_THROWS(KernelColumns(Kernel::periodic(1.0, scales(3), 1.0, 1.0),
                             MatrixXd::Ones(2, 4)),
               ArgumentError);
  CHECK_THROWS(KernelColumns(Kernel::rbf(scales(3), 1.0), MatrixXd::Ones(2, 4)),
               ArgumentError);
}
