#include <map>

#include "bark/basis.hpp"
#include "check.hpp"
#include "error.hpp"
#include "gp/inducing.hpp"
#include "hinge_problem.hpp"
#include "math/kmeans.hpp"

using bayeskernel::Centres;
using bayeskernel::inducing_points;
using bayeskernel::InducingMethod;
using bayeskernel::InducingSettings;
using bayeskernel::median_distance;
using bayeskernel::SerialExecutor;

static SerialExecutor serial;

static InducingSettings settings_of(Index count, std::uint64_t seed = 1) {
  InducingSettings settings;
  settings.count = count;
  settings.seed = seed;
  return settings;
}

// Clouds of equal size around `clouds` places.
static MatrixXd clouds_of(Index d, Index n, Index clouds, unsigned seed) {
  Draw draw(seed);
  const MatrixXd place = 4.0 * draw.matrix(d, clouds);
  MatrixXd x = draw.matrix(d, n);
  for (Index i = 0; i < n; ++i) x.col(i) += place.col(i % clouds);
  return x;
}

static Index nearest_naive(const MatrixXd& centres, const VectorXd& x) {
  Index best = 0;
  for (Index j = 1; j < centres.cols(); ++j) {
    if ((centres.col(j) - x).norm() < (centres.col(best) - x).norm()) best = j;
  }
  return best;
}

static double objective(const MatrixXd& x, const MatrixXd& centres) {
  double sum = 0.0;
  for (Index i = 0; i < x.cols(); ++i) {
    const Index j = nearest_naive(centres, x.col(i));
    sum += (x.col(i) - centres.col(j)).squaredNorm();
  }
  return sum;
}

static MatrixXd lloyd_naive(const MatrixXd& x, const MatrixXd& centres) {
  MatrixXd sum = MatrixXd::Zero(x.rows(), centres.cols()), next = centres;
  VectorXd rows = VectorXd::Zero(centres.cols());
  for (Index i = 0; i < x.cols(); ++i) {
    const Index j = nearest_naive(centres, x.col(i));
    sum.col(j) += x.col(i);
    rows[j] += 1.0;
  }
  for (Index j = 0; j < centres.cols(); ++j) {
    if (rows[j] > 0.0) next.col(j) = sum.col(j) / rows[j];
  }
  return next;
}

static Index column_of(const MatrixXd& x, const VectorXd& value) {
  for (Index i = 0; i < x.cols(); ++i) {
    if (x.col(i) == value) return i;
  }
  return -1;
}

// Pearson's statistic of the cells that are expected five times or more, less
// its degrees of freedom, over its standard deviation.
static double excess(const std::map<Index, double>& expected,
                     std::map<Index, double>& found) {
  double statistic = 0.0, cells = 0.0;
  for (const auto& cell : expected) {
    if (cell.second < 5.0) continue;
    const double gap = found[cell.first] - cell.second;
    statistic += gap * gap / cell.second;
    cells += 1.0;
  }
  return (statistic - (cells - 1.0)) / std::sqrt(2.0 * (cells - 1.0));
}

// Expected counts of the ordered triples of seeds under D^2 sampling.
static std::map<Index, double> triple_law(const MatrixXd& x, double draws) {
  std::map<Index, double> law;
  const Index n = x.cols();
  for (Index a = 0; a < n; ++a) {
    const VectorXd from_a =
        (x.colwise() - VectorXd(x.col(a))).colwise().squaredNorm();
    for (Index b = 0; b < n; ++b) {
      const VectorXd from_b =
          (x.colwise() - VectorXd(x.col(b))).colwise().squaredNorm();
      const VectorXd both = from_a.cwiseMin(from_b);
      for (Index c = 0; c < n; ++c) {
        const double p =
            from_a[b] / from_a.sum() * both[c] / both.sum() / double(n);
        if (p > 0.0) law[(a * n + b) * n + c] = draws * p;
      }
    }
  }
  return law;
}

template <class Seeds>
static std::map<Index, double> triples(const MatrixXd& x, Index draws,
                                       Seeds seeds) {
  std::map<Index, double> found;
  const Index n = x.cols();
  for (Index k = 0; k < draws; ++k) {
    const MatrixXd z = seeds(settings_of(3, static_cast<std::uint64_t>(k)));
    if (z.cols() < 3) continue;
    found[(column_of(x, z.col(0)) * n + column_of(x, z.col(1))) * n +
          column_of(x, z.col(2))] += 1.0;
  }
  return found;
}

TEST("seeds follow D^2 sampling, by the exact law and by long chains") {
  Draw draw(3);
  const MatrixXd x = draw.matrix(2, 6);
  const Index draws = check::draws();
  const auto law = triple_law(x, static_cast<double>(draws));
  auto exact = triples(x, draws, [&](InducingSettings settings) {
    return bayeskernel::detail::exact_seeds(x, settings);
  });
  CHECK(excess(law, exact) < 5.0);
  auto chains = triples(x, draws, [&](InducingSettings settings) {
    return bayeskernel::detail::chain_seeds(x, settings);
  });
  CHECK(excess(law, chains) < 5.0);
}

TEST("a chain of one proposal draws from the proposals") {
  Draw draw(4);
  const MatrixXd x = draw.matrix(2, 5);
  const Index n = x.cols(), draws = check::draws();
  std::map<Index, double> law, found;
  for (Index a = 0; a < n; ++a) {
    const VectorXd from =
        (x.colwise() - VectorXd(x.col(a))).colwise().squaredNorm();
    for (Index b = 0; b < n; ++b) {
      const double q = 0.5 * from[b] / from.sum() + 0.5 / double(n);
      law[a * n + b] = static_cast<double>(draws) / double(n) * q;
    }
  }
  for (Index k = 0; k < draws; ++k) {
    InducingSettings settings = settings_of(2, static_cast<std::uint64_t>(k));
    settings.chain = 1;
    const MatrixXd z = bayeskernel::detail::chain_seeds(x, settings);
    const Index a = column_of(x, z.col(0));
    // A proposal that is the first seed adds none.
    const Index b = z.cols() == 2 ? column_of(x, z.col(1)) : a;
    found[a * n + b] += 1.0;
  }
  CHECK(excess(law, found) < 5.0);
}

TEST("the nearest centre is the naive one, in both ways of finding it") {
  for (Index m : {1, 3, 8, 9, 23}) {
    for (Index d : {1, 2, 7}) {
      Draw draw(static_cast<unsigned>(10 * m + d));
      const MatrixXd wide = draw.matrix(d + 2, 139);
      const auto x = wide.topRows(d);
      const MatrixXd z = draw.matrix(d, m);
      Centres centres(x.rowwise().mean(), m);
      centres.assign(z);
      std::vector<int> label(139, -1), portable(139, -1);
      centres.nearest(x, label.data());
      centres.nearest_portable(x, portable.data());
      bool right = true;
      for (Index i = 0; i < 139; ++i) {
        const Index expected = nearest_naive(z, x.col(i));
        right = right && label[i] == expected && portable[i] == expected;
      }
      CHECK(right);
    }
  }
}

TEST("of centres at one distance the first is the nearest") {
  MatrixXd z(1, 14), x = MatrixXd::Zero(1, 5);
  for (Index j = 0; j < 14; ++j) z(0, j) = j < 5 ? 3.0 : (j % 2 ? 1.0 : -1.0);
  Centres centres(VectorXd::Zero(1), 14);
  centres.assign(z);
  std::vector<int> label(5), portable(5);
  centres.nearest(x, label.data());
  centres.nearest_portable(x, portable.data());
  for (int i = 0; i < 5; ++i) CHECK(label[i] == 5 && portable[i] == 5);
}

TEST("data far from 0 have the same nearest centres") {
  const MatrixXd x = clouds_of(3, 200, 5, 8);
  const VectorXd shift = VectorXd::Constant(3, 1e7);
  const MatrixXd far = x.colwise() + shift;
  const MatrixXd z = far.leftCols(40);
  Centres centres(far.rowwise().mean(), 40);
  centres.assign(z);
  std::vector<int> label(200);
  centres.nearest(far, label.data());
  for (Index i = 0; i < 200; ++i)
    CHECK(label[i] == nearest_naive(z, far.col(i)));
}

TEST("Lloyd's steps are the naive ones and never raise the objective") {
  for (Index n : {700, 5200}) {
    const MatrixXd x = clouds_of(3, n, 9, static_cast<unsigned>(n));
    InducingSettings settings = settings_of(20);
    settings.lloyd = 0;
    MatrixXd expected = inducing_points(x, settings, serial);
    CHECK(expected.cols() == 20);
    for (Index j = 0; j < 20; ++j) CHECK(column_of(x, expected.col(j)) >= 0);
    double last = objective(x, expected);
    for (settings.lloyd = 1; settings.lloyd <= 6; ++settings.lloyd) {
      expected = lloyd_naive(x, expected);
      const MatrixXd z = inducing_points(x, settings, serial);
      CHECK(z.cols() == 20 && (z - expected).cwiseAbs().maxCoeff() < 1e-12);
      const double now = objective(x, z);
      CHECK(now < last);
      last = now;
    }
  }
}

TEST("steps end at a fixed point, and a centre without rows stays") {
  const MatrixXd x = clouds_of(2, 300, 4, 5);
  MatrixXd z(2, 4);
  z << x.leftCols(3), VectorXd::Constant(2, 1e3);
  bayeskernel::lloyd(x, 1000, z, serial);
  CHECK((lloyd_naive(x, z) - z).cwiseAbs().maxCoeff() < 1e-12);
  CHECK(z.col(3) == VectorXd::Constant(2, 1e3));
}

TEST("far clouds get a centre each") {
  const MatrixXd x = 0.01 * Draw(6).matrix(2, 6000);
  MatrixXd apart = x;
  for (Index i = 0; i < x.cols(); ++i) apart(0, i) += double(i % 30);
  for (Index n : {600, 6000}) {
    const MatrixXd z =
        inducing_points(apart.leftCols(n), settings_of(30), serial);
    CHECK(objective(apart.leftCols(n), z) < 1e-3 * double(n));
  }
}

TEST("as many points as rows, or more, are the rows that differ") {
  Draw draw(9);
  MatrixXd x(2, 60);
  x.leftCols(20) = draw.matrix(2, 20);
  x.middleCols(20, 20) = x.leftCols(20);
  x.rightCols(20) = x.leftCols(20);
  for (auto method : {InducingMethod::kmeans, InducingMethod::random}) {
    for (Index count : {20, 30, 60, 100}) {
      InducingSettings settings = settings_of(count);
      settings.method = method;
      const MatrixXd z = inducing_points(x, settings, serial);
      CHECK(z.cols() == 20);
      // Lloyd's mean of three equal rows may differ in the last digit.
      CHECK(objective(x, z) < 1e-28);
      if (count >= 60) CHECK(z == x.leftCols(20));
    }
  }
}

TEST("chains on few distinct rows give each at most once") {
  MatrixXd x(1, 6000);
  for (Index i = 0; i < 6000; ++i) x(0, i) = double(i % 4);
  const MatrixXd z = inducing_points(x, settings_of(10), serial);
  CHECK(z.cols() == 4 && objective(x, z) < 1e-20);
}

TEST("rows that are all alike give one point") {
  for (Index n : {1, 50, 6000}) {
    const MatrixXd x = MatrixXd::Constant(3, n, 0.1);
    const MatrixXd z = inducing_points(x, settings_of(5), serial);
    CHECK(z.cols() == 1 && (z - x.leftCols(1)).norm() < 1e-12);
  }
}

TEST("points that are almost one are one") {
  MatrixXd x = Draw(2).matrix(2, 5);
  x.col(4) = x.col(1) + VectorXd::Constant(2, 1e-7);
  CHECK(inducing_points(x, settings_of(9), serial) == x.leftCols(4));
  x.col(4) = x.col(1) + VectorXd::Constant(2, 1e-3);
  CHECK(inducing_points(x, settings_of(9), serial) == x);
}

TEST("random points are distinct rows, each as likely as any other") {
  const MatrixXd x = Draw(7).matrix(2, 12);
  std::map<Index, double> law, found;
  for (Index i = 0; i < 12; ++i) law[i] = check::draws() * 5.0 / 12.0;
  for (int k = 0; k < check::draws(); ++k) {
    InducingSettings settings = settings_of(5, static_cast<std::uint64_t>(k));
    settings.method = InducingMethod::random;
    const MatrixXd z = inducing_points(x, settings, serial);
    std::vector<Index> rows;
    for (Index j = 0; j < z.cols(); ++j) {
      rows.push_back(column_of(x, z.col(j)));
      found[rows.back()] += 1.0;
    }
    std::sort(rows.begin(), rows.end());
    const bool distinct =
        std::adjacent_find(rows.begin(), rows.end()) == rows.end();
    if (z.cols() != 5 || !distinct || rows[0] < 0) CHECK(false);
  }
  // Drawn without replacement: the statistic is 7 / 11 of Pearson's.
  CHECK(excess(law, found) < 4.0);
}

TEST("the answer depends on the seed alone, not on threads or their order") {
  for (Index n : {1400, 5300}) {
    const MatrixXd x = clouds_of(4, n, 11, 21);
    const MatrixXd z = inducing_points(x, settings_of(40, 5), serial);
    CHECK(inducing_points(x, settings_of(40, 5), serial) == z);
    CHECK(inducing_points(x, settings_of(40, 6), serial) != z);
    for (int threads : {2, 3, 8}) {
      ThreadExecutor executor(threads);
      CHECK(inducing_points(x, settings_of(40, 5), executor) == z);
    }
    ReverseExecutor reverse;
    CHECK(inducing_points(x, settings_of(40, 5), reverse) == z);
  }
}

TEST("a strided view of the rows gives the points of its copy") {
  const MatrixXd wide = Draw(12).matrix(5, 900);
  const MatrixXd copy = wide.middleRows(1, 3);
  CHECK(inducing_points(wide.middleRows(1, 3), settings_of(9), serial) ==
        inducing_points(copy, settings_of(9), serial));
}

TEST("no rows, no points and no chain are refused") {
  using bayeskernel::ArgumentError;
  const MatrixXd x = MatrixXd::Ones(2, 5);
  InducingSettings settings = settings_of(0);
  CHECK_THROWS(inducing_points(x, settings, serial), ArgumentError);
  settings = settings_of(3);
  CHECK_THROWS(inducing_points(MatrixXd(2, 0), settings, serial),
               ArgumentError);
  settings.chain = 0;
  CHECK_THROWS(inducing_points(x, settings, serial), ArgumentError);
}

static double median_naive(const MatrixXd& x) {
  std::vector<double> all;
  for (Index i = 0; i < x.cols(); ++i) {
    for (Index k = 0; k < i; ++k) {
      all.push_back((x.col(i) - x.col(k)).norm());
    }
  }
  std::sort(all.begin(), all.end());
  const std::size_t half = all.size() / 2;
  return all.size() % 2 ? all[half] : 0.5 * (all[half - 1] + all[half]);
}

TEST("the median distance is the naive one, of evenly spaced rows") {
  for (Index n : {2, 3, 4, 5, 40, 41}) {
    const MatrixXd x = Draw(static_cast<unsigned>(n)).matrix(3, n);
    CHECK_NEAR(median_distance(x), median_naive(x), 1e-14);
  }
  const MatrixXd x = Draw(1).matrix(3, 95);
  MatrixXd some(3, 30);
  for (Index i = 0; i < 30; ++i) some.col(i) = x.col(i * 95 / 30);
  CHECK_NEAR(median_distance(x, 30), median_naive(some), 1e-14);
}

TEST("a median of 0 gives way to the mean of the distances above 0") {
  MatrixXd x = MatrixXd::Zero(1, 10);
  x(0, 9) = 3.0;
  CHECK_NEAR(median_distance(x), 3.0, 1e-15);
  x(0, 4) = 1.0;
  // 8 rows at 0, one at 1, one at 3.
  CHECK_NEAR(median_distance(x), (8.0 * 1.0 + 8.0 * 3.0 + 2.0) / 17.0, 1e-15);
  CHECK(median_distance(MatrixXd::Constant(2, 6, 4.0)) == 1.0);
  CHECK(median_distance(MatrixXd::Ones(2, 1)) == 1.0);
}

TEST("a column far away leaves the points of the others apart") {
  MatrixXd x = clouds_of(2, 300, 5, 3);
  x.col(7).setConstant(1e9);
  for (auto method : {InducingMethod::kmeans, InducingMethod::random}) {
    InducingSettings settings = settings_of(40);
    settings.method = method;
    CHECK(inducing_points(x, settings, serial).cols() >= 39);
  }
}
