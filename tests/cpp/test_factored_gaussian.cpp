// The regression by factors against an orthogonal decomposition of its rows,
// where products in double precision have no digit left.
#include <Eigen/QR>
#include "expansion/factored_gaussian.hpp"
#include <cmath>
#include <vector>

#include "check.hpp"

using namespace bayeskernel;
using Eigen::MatrixXd;
using Eigen::VectorXd;

struct Rows {
  MatrixXd h;  // the constant and wide bells, almost the same columns
  VectorXd y;
  double noise = 0.01;
};

static Rows wide_bells(Eigen::Index columns) {
  Rows out;
  const Eigen::Index n = 60;
  out.h = MatrixXd::Ones(n, columns);
  out.y.resize(n);
  for (Eigen::Index s = 0; s < n; ++s) {
    const double x = -1.7 + 3.4 * static_cast<double>(s) / 59.0;
    for (Eigen::Index j = 1; j < columns; ++j) {
      const double c = -1.6 + 0.6 * static_cast<double>(j - 1);
      out.h(s, j) = std::exp(-(x - c) * (x - c) / (2.0 * 7.0 * 7.0));
    }
    out.y[s] = std::sin(2.0 * x) + 0.1 * std::cos(37.0 * x);
  }
  return out;
}

// log N(y; 0, noise I + spread H H') by Householder reflections of
// [sqrt(spread / noise) H; I].
static double by_reflections(const MatrixXd& h, const VectorXd& y, double noise,
                             double spread) {
  const Eigen::Index n = h.rows(), m = h.cols();
  MatrixXd all(n + m, m);
  all << std::sqrt(spread / noise) * h, MatrixXd::Identity(m, m);
  VectorXd right = VectorXd::Zero(n + m);
  right.head(n) = y;
  const Eigen::HouseholderQR<MatrixXd> qr(all);
  VectorXd turned = right;
  turned.applyOnTheLeft(qr.householderQ().adjoint());
  double log_det = 0.0;
  for (Eigen::Index j = 0; j < m; ++j) {
    log_det += 2.0 * std::log(std::abs(qr.matrixQR()(j, j)));
  }
  return -0.5 * (static_cast<double>(n) * std::log(2.0 * M_PI * noise) +
                 log_det + turned.tail(n).squaredNorm() / noise);
}

template <class T>
static T product(const VectorXd& a, const VectorXd& b) {
  T sum(0.0);
  for (Eigen::Index s = 0; s < a.size(); ++s) sum += T(a[s]) * T(b[s]);
  return sum;
}

template <class T>
static void load(FactoredGaussian<T>& to, const Rows& rows, Eigen::Index m,
                 double spread) {
  to.reset(m, rows.y.size(), rows.noise, spread);
  for (Eigen::Index j = 0; j < m; ++j) {
    for (Eigen::Index i = 0; i <= j; ++i) {
      to.set_gram(i, j, product<T>(rows.h.col(i), rows.h.col(j)));
    }
    to.set_dot(j, product<T>(rows.h.col(j), rows.y));
  }
  to.set_square(product<T>(rows.y, rows.y));
  to.factor();
}

static MatrixXd without(const MatrixXd& h, Eigen::Index at) {
  MatrixXd out = h;
  out.col(at) = h.col(h.cols() - 1);
  return out.leftCols(h.cols() - 1).eval();
}

template <class T>
static void check_against_rows(double spread, double tolerance) {
  const Eigen::Index m = 6;
  const Rows rows = wide_bells(m + 1);
  const MatrixXd h = rows.h.leftCols(m);
  const auto exact = [&](const MatrixXd& columns) {
    return by_reflections(columns, rows.y, rows.noise, spread);
  };
  FactoredGaussian<T> gaussian(m + 2);
  load(gaussian, rows, m, spread);
  const double before = exact(h);
  CHECK_NEAR(gaussian.log_marginal(), before, tolerance);
  std::vector<T> dots;
  for (Eigen::Index j = 0; j < m; ++j) {
    dots.push_back(product<T>(h.col(j), rows.h.col(m)));
  }
  const T own = product<T>(rows.h.col(m), rows.h.col(m));
  const T response = product<T>(rows.h.col(m), rows.y);
  CHECK_NEAR(gaussian.add(dots.data(), own, response), exact(rows.h) - before,
             tolerance);
  CHECK_NEAR(gaussian.remove(2), exact(without(h, 2)) - before, tolerance);
  // In place of column 2.
  MatrixXd swapped = h;
  swapped.col(2) = rows.h.col(m);
  const double taken = gaussian.remove(2);
  CHECK_NEAR(taken + gaussian.add(dots.data(), own, response, true),
             exact(swapped) - before, tolerance);
  gaussian.add(dots.data(), own, response);
  gaussian.commit_add(dots.data(), own, response);
  CHECK_NEAR(gaussian.log_marginal(), exact(rows.h), tolerance);
  gaussian.commit_remove(2);
  CHECK_NEAR(gaussian.log_marginal(), exact(without(rows.h, 2)), tolerance);
  // The next row's density is the ratio of two.
  load(gaussian, rows, m, spread);
  Rows more = rows;
  more.h.conservativeResize(61, m);
  more.y.conservativeResize(61);
  more.h.row(60) = h.row(7) + 1e-3 * h.row(30);
  more.y[60] = 0.3;
  const VectorXd next = more.h.row(60);
  const NextRow f = gaussian.next(next.data());
  const double total = rows.noise + f.variance, left = 0.3 - f.mean;
  CHECK_NEAR(-0.5 * (std::log(2.0 * M_PI * total) + left * left / total),
             by_reflections(more.h, more.y, rows.noise, spread) - before,
             tolerance);
  gaussian.add_row(next.data(), 0.3);
  gaussian.factor();
  CHECK_NEAR(gaussian.log_marginal(),
             by_reflections(more.h, more.y, rows.noise, spread), tolerance);
}

TEST("well conditioned: double precision agrees with the rows") {
  check_against_rows<double>(10.0, 1e-6);
  check_against_rows<DoubleDouble>(10.0, 1e-6);
}

TEST("almost equal columns: twice as many digits agree with the rows") {
  for (const double spread : {1e6, 1e9, 1e12}) {
    check_against_rows<DoubleDouble>(spread, 1e-4);
  }
}

TEST("a factor says that its digits are lost") {
  const Rows rows = wide_bells(6);
  FactoredGaussian<double> plain(7);
  load(plain, rows, 6, 1.0);
  CHECK(!plain.lost());
  load(plain, rows, 6, 1e9);
  CHECK(plain.lost());
  FactoredGaussian<DoubleDouble> precise(7);
  load(precise, rows, 6, 1e9);
  CHECK(!precise.lost());
}

TEST("draws have the moments, and residuals do not drown") {
  const Rows rows = wide_bells(5);
  const double spread = 1e9;
  FactoredGaussian<DoubleDouble> precise(6);
  load(precise, rows, 5, spread);
  VectorXd mean(5), b(5);
  MatrixXd root(5, 5);
  precise.moments(mean.data(), root.data());
  precise.draw([] { return 0.0; }, b.data());
  CHECK((b - mean).norm() < 1e-9 * mean.norm());
  CHECK_NEAR(precise.residual_square(b.data()),
             (rows.y - rows.h * b).squaredNorm(), 1e-6);
  // |R h|^2 is the variance of the next row.
  const VectorXd h = rows.h.row(11);
  CHECK_NEAR((root.triangularView<Eigen::Lower>() * h).squaredNorm(),
             precise.next(h.data()).variance, 1e-9);
}
