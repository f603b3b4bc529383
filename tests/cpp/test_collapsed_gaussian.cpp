// Against the model in the dense form: y ~ N(0, I / phi + K D K').
#include <Eigen/Cholesky>
#include <Eigen/LU>
#include <Eigen/QR>
#include "error.hpp"
#include "expansion/collapsed_gaussian.hpp"

#include "check.hpp"
#include "hinge_problem.hpp"

using bayeskernel::CollapsedGaussian;
using bayeskernel::CollapsedScratch;
using bayeskernel::ColumnAddition;
using bayeskernel::ColumnEdit;

struct Dense {
  MatrixXd k;
  VectorXd v, y;
  double phi = 1.0;

  Index size() const { return k.cols(); }
  MatrixXd sigma() const {
    MatrixXd precision = phi * k.transpose() * k;
    precision.diagonal() += v.cwiseInverse();
    return precision.inverse();
  }
  VectorXd mean() const { return phi * sigma() * k.transpose() * y; }
  double quadratic() const {
    return y.dot(Eigen::LLT<MatrixXd>(covariance()).solve(y));
  }
  double log_marginal() const {
    const MatrixXd root = Eigen::LLT<MatrixXd>(covariance()).matrixL();
    const double n = static_cast<double>(y.size());
    return -0.5 * n * std::log(2.0 * 3.14159265358979323846) -
           root.diagonal().array().log().sum() - 0.5 * quadratic();
  }
  void drop(Index i) {
    // The last column takes its place.
    const Index last = size() - 1;
    k.col(i) = k.col(last).eval();
    v[i] = v[last];
    k.conservativeResize(Eigen::NoChange, last);
    v.conservativeResize(last);
  }
  void append(const VectorXd& column, double variance) {
    k.conservativeResize(Eigen::NoChange, size() + 1);
    k.rightCols(1) = column;
    v.conservativeResize(k.cols());
    v[k.cols() - 1] = variance;
  }

 private:
  MatrixXd covariance() const {
    MatrixXd out = k * v.asDiagonal() * k.transpose();
    out.diagonal().array() += 1.0 / phi;
    return out;
  }
};

static Dense make_dense(Index n, Index m, unsigned seed) {
  Draw draw(seed);
  Dense out;
  out.k = draw.matrix(n, m);
  out.v = draw.matrix(m, 1).array().abs() + 0.1;
  out.y = draw.matrix(n, 1);
  out.phi = 0.5 + 3.0 * draw.uniform();
  return out;
}

static CollapsedGaussian collapsed(const Dense& dense, Index capacity) {
  static bayeskernel::CollapsedScratch scratch(32);
  CollapsedGaussian out(capacity, scratch);
  const Index m = dense.size();
  double* gram = out.set_gram(m);
  double* dots = out.set_dots();
  for (Index j = 0; j < m; ++j) {
    for (Index i = 0; i < m; ++i) {
      gram[j * out.stride() + i] = dense.k.col(i).dot(dense.k.col(j));
    }
    dots[j] = dense.k.col(j).dot(dense.y);
    out.set_variance(j, dense.v[j]);
  }
  out.set_response(dense.y.size(), dense.y.squaredNorm());
  out.set_precision(dense.phi);
  out.rebuild();
  return out;
}

static void check_same(const CollapsedGaussian& found, const Dense& dense,
                       double tolerance = 1e-9) {
  CHECK(found.size() == dense.size());
  CHECK_NEAR(found.log_marginal(), dense.log_marginal(), tolerance);
  CHECK_NEAR(found.quadratic_form(), dense.quadratic(), tolerance);
  if (dense.size() == 0) return;
  const MatrixXd sigma = dense.sigma();
  const VectorXd mean = dense.mean();
  double worst = 0.0;
  for (Index j = 0; j < dense.size(); ++j) {
    worst = std::max(worst, std::abs(found.mean()[j] - mean[j]));
    CHECK(found.variance(j) == dense.v[j]);
    for (Index i = 0; i < dense.size(); ++i) {
      worst = std::max(worst, std::abs(found.covariance(j)[i] - sigma(i, j)));
      worst = std::max(worst, std::abs(found.gram()[j * found.stride() + i] -
                                       dense.k.col(i).dot(dense.k.col(j))));
    }
    worst = std::max(worst,
                     std::abs(found.dots()[j] - dense.k.col(j).dot(dense.y)));
  }
  CHECK(worst < tolerance);
}

TEST("moments and marginal likelihood of any number of columns") {
  for (Index m = 0; m <= 17; ++m) {
    const Dense dense = make_dense(12, m, static_cast<unsigned>(m));
    check_same(collapsed(dense, 20), dense);
  }
}

TEST("a variance that changes: the change, foreseen and made") {
  for (Index m = 1; m <= 9; ++m) {
    Dense dense = make_dense(10, m, static_cast<unsigned>(20 + m));
    CollapsedGaussian gaussian = collapsed(dense, 10);
    const double before = dense.log_marginal();
    for (const double v : {1e-6, 0.3, 40.0}) {
      const Index i = m / 2;
      Dense to = dense;
      to.v[i] = v;
      const ColumnEdit edit = gaussian.rescale(i, v);
      CHECK_NEAR(edit.change, to.log_marginal() - before, 1e-9);
      CollapsedGaussian changed = collapsed(dense, 10);
      changed.commit_rescale(edit, v);
      check_same(changed, to, 1e-8);
    }
  }
}

TEST("a column that goes: the change, foreseen and made") {
  for (Index m = 1; m <= 9; ++m) {
    for (Index i = 0; i < m; ++i) {
      const Dense dense = make_dense(10, m, static_cast<unsigned>(40 + m));
      CollapsedGaussian gaussian = collapsed(dense, 10);
      Dense to = dense;
      to.drop(i);
      const ColumnEdit edit = gaussian.remove(i);
      CHECK_NEAR(edit.change, to.log_marginal() - dense.log_marginal(), 1e-9);
      gaussian.commit_remove(edit);
      check_same(gaussian, to);
    }
  }
}

// K'k of the columns that are there.
static VectorXd products(const Dense& dense, const VectorXd& column) {
  return dense.k.transpose() * column;
}

TEST("a column that comes: the change, foreseen and made") {
  for (Index m = 0; m <= 9; ++m) {
    const Dense dense = make_dense(10, m, static_cast<unsigned>(60 + m));
    CollapsedGaussian gaussian = collapsed(dense, 10);
    Draw draw(static_cast<unsigned>(m));
    const VectorXd column = draw.matrix(10, 1);
    const VectorXd dots = products(dense, column);
    const double own = column.squaredNorm(), response = column.dot(dense.y);
    Dense to = dense;
    to.append(column, 2.5);
    const ColumnAddition addition =
        gaussian.add(dots.data(), own, response, 2.5);
    CHECK_NEAR(addition.change, to.log_marginal() - dense.log_marginal(), 1e-9);
    VectorXd residual = dense.y;
    if (m > 0) residual -= dense.k * dense.mean();
    CHECK_NEAR(addition.residual, column.dot(residual), 1e-9);
    gaussian.commit_add(dots.data(), own, response, 2.5, addition);
    check_same(gaussian, to);
  }
}

TEST("a change after another that is only thought made") {
  for (const bool removed : {false, true}) {
    const Dense dense = make_dense(11, 6, removed ? 81 : 80);
    CollapsedGaussian gaussian = collapsed(dense, 8);
    Dense between = dense;
    const ColumnEdit edit =
        removed ? gaussian.remove(2) : gaussian.rescale(2, 0.03);
    if (removed) {
      between.drop(2);
    } else {
      between.v[2] = 0.03;
    }
    Dense rescaled = between;
    // Column 5 has taken the place of column 2 in the dense model.
    rescaled.v[removed ? 2 : 5] = 7.0;
    CHECK_NEAR(gaussian.rescale(5, 7.0, edit).change,
               rescaled.log_marginal() - between.log_marginal(), 1e-9);
    Draw draw(5);
    const VectorXd column = draw.matrix(11, 1);
    const VectorXd dots = products(dense, column);
    Dense grown = between;
    grown.append(column, 0.8);
    CHECK_NEAR(gaussian
                   .add(dots.data(), column.squaredNorm(), column.dot(dense.y),
                        0.8, edit)
                   .change,
               grown.log_marginal() - between.log_marginal(), 1e-9);
  }
}

TEST("a duplicate column and one of zeros are no trouble") {
  Dense dense = make_dense(9, 4, 90);
  dense.k.col(3) = dense.k.col(1);
  dense.k.col(2).setZero();
  CollapsedGaussian gaussian = collapsed(dense, 6);
  check_same(gaussian, dense);
  const VectorXd column = dense.k.col(1), dots = products(dense, column);
  Dense to = dense;
  to.append(column, 3.0);
  const double own = column.squaredNorm(), response = column.dot(dense.y);
  const ColumnAddition addition = gaussian.add(dots.data(), own, response, 3.0);
  CHECK_NEAR(addition.change, to.log_marginal() - dense.log_marginal(), 1e-9);
  gaussian.commit_add(dots.data(), own, response, 3.0, addition);
  check_same(gaussian, to);
}

TEST("another response and another precision") {
  Dense dense = make_dense(10, 5, 91);
  CollapsedGaussian gaussian = collapsed(dense, 6);
  Draw draw(6);
  dense.y = draw.matrix(10, 1);
  const VectorXd dots = products(dense, dense.y);
  gaussian.replace_response(dots.data(), dense.y.squaredNorm());
  check_same(gaussian, dense);
  for (const double phi : {1e-3, 0.7, 300.0}) {
    Dense to = dense;
    to.phi = phi;
    CHECK_NEAR(gaussian.log_marginal_at(phi), to.log_marginal(), 1e-9);
    check_same(gaussian, dense);
    CollapsedGaussian changed = collapsed(dense, 6);
    changed.set_precision(phi);
    changed.rebuild();
    check_same(changed, to);
  }
}

TEST("the residual sum of squares of given coefficients") {
  const Dense dense = make_dense(10, 5, 92);
  const CollapsedGaussian gaussian = collapsed(dense, 6);
  Draw draw(7);
  const VectorXd b = draw.matrix(5, 1);
  CHECK_NEAR(gaussian.residual_square(b.data()),
             (dense.y - dense.k * b).squaredNorm(), 1e-11);
}

TEST("draws: the mean without noise, and the factor of the covariance") {
  for (const Index m : {1, 2, 5, 8}) {
    const Dense dense = make_dense(10, m, 93 + static_cast<unsigned>(m));
    CollapsedGaussian gaussian = collapsed(dense, 8);
    VectorXd b = VectorXd::Zero(m + 1);
    gaussian.draw([] { return 0.0; }, b.data());
    CHECK((b.head(m) - dense.mean()).norm() < 1e-9);
    // Columns of the linear map from standard normals to b - mu.
    MatrixXd factor(m, m);
    for (Index k = 0; k < m; ++k) {
      Index calls = 0;
      gaussian.draw([&] { return calls++ == k ? 1.0 : 0.0; }, b.data());
      CHECK(calls == m);
      factor.col(k) = b.head(m) - dense.mean();
    }
    CHECK((factor * factor.transpose() - dense.sigma()).norm() < 1e-9);
  }
}

TEST("many edits in a row stay with the dense model and ask for a rebuild") {
  Dense dense = make_dense(20, 5, 99);
  CollapsedGaussian gaussian = collapsed(dense, 12);
  Draw draw(8);
  int edits = 0;
  while (!gaussian.stale() && edits < 1000) {
    const double u = draw.uniform();
    const Index m = dense.size();
    if (m == 0 || (u < 0.4 && m < 12)) {
      const VectorXd column = draw.matrix(20, 1);
      const VectorXd dots = products(dense, column);
      const double v = 0.1 + draw.uniform();
      const double own = column.squaredNorm();
      const double response = column.dot(dense.y);
      const ColumnAddition addition =
          gaussian.add(dots.data(), own, response, v);
      gaussian.commit_add(dots.data(), own, response, v, addition);
      dense.append(column, v);
    } else if (u < 0.8) {
      const Index i = draw.below(m);
      gaussian.commit_remove(gaussian.remove(i));
      dense.drop(i);
    } else {
      const Index i = draw.below(m);
      const double v = std::exp(2.0 * draw.normal());
      gaussian.commit_rescale(gaussian.rescale(i, v), v);
      dense.v[i] = v;
    }
    ++edits;
  }
  CHECK(edits >= 20 && edits <= 200);
  check_same(gaussian, dense, 1e-8);
  gaussian.rebuild();
  CHECK(!gaussian.stale());
  check_same(gaussian, dense);
}

TEST("huge variances together with a large precision") {
  Dense dense = make_dense(15, 4, 120);
  dense.v << 1e8, 1e3, 1.0, 1e-6;
  dense.phi = 1e4;
  const CollapsedGaussian gaussian = collapsed(dense, 6);
  // The dense N x N form is wrong here: by the precision of b instead.
  const MatrixXd sigma = dense.sigma();
  const VectorXd mean = dense.mean();
  const double rss = dense.phi * (dense.y - dense.k * mean).squaredNorm() +
                     mean.cwiseAbs2().cwiseQuotient(dense.v).sum();
  CHECK_NEAR(gaussian.quadratic_form(), rss, 1e-9);
  for (Index i = 0; i < 4; ++i) {
    CHECK_NEAR(gaussian.posterior_variance(i) / sigma(i, i), 1.0, 1e-8);
  }
}

TEST("what is not finite is refused or impossible") {
  Dense dense = make_dense(6, 3, 130);
  CollapsedGaussian gaussian = collapsed(dense, 4);
  gaussian.set_variance(1, std::nan(""));
  CHECK(gaussian.log_marginal_at(2.0) ==
        -std::numeric_limits<double>::infinity());
  CHECK_THROWS(gaussian.rebuild(), bayeskernel::NumericError);
}

TEST("rows that come one by one: the dense answer, and the density of each") {
  for (Index m = 0; m <= 9; ++m) {
    const Dense all = make_dense(14, m, static_cast<unsigned>(100 + m));
    Dense dense = all;
    dense.k = all.k.topRows(5);
    dense.y = all.y.head(5);
    CollapsedGaussian gaussian = collapsed(dense, 10);
    for (Index i = 5; i < 14; ++i) {
      const double before = dense.log_marginal();
      dense.k = all.k.topRows(i + 1);
      dense.y = all.y.head(i + 1);
      const VectorXd row = all.k.row(i);
      CHECK_NEAR(gaussian.add_row(row.data(), all.y[i]),
                 dense.log_marginal() - before, 1e-9);
      check_same(gaussian, dense, 1e-8);
    }
    CHECK(m == 0 || !gaussian.stale());
    gaussian.rebuild();
    check_same(gaussian, dense);
  }
}

TEST("copies go their own ways, and share no state") {
  const Dense dense = make_dense(10, 5, 120);
  const CollapsedGaussian start = collapsed(dense, 8);
  std::vector<CollapsedGaussian> particles(3, start);
  const VectorXd row = VectorXd::Constant(5, 0.5);
  particles[0].add_row(row.data(), 2.0);
  particles[1].commit_remove(particles[1].remove(2));
  Dense without = dense;
  without.drop(2);
  check_same(particles[1], without);
  check_same(particles[2], dense);
  particles[2] = particles[1];
  particles[1].set_precision(9.0);
  particles[1].rebuild();
  check_same(particles[2], without);
  check_same(start, dense);
}

// A further column among wide bells, almost a sum of the others, against the
// reflections of [sqrt(phi v) K; I].
TEST("a further column that is almost there keeps its digits") {
  const Eigen::Index n = 60, m = 6;
  MatrixXd k = MatrixXd::Ones(n, m + 1);
  VectorXd y(n);
  for (Eigen::Index s = 0; s < n; ++s) {
    const double x = -1.7 + 3.4 * static_cast<double>(s) / 59.0;
    for (Eigen::Index j = 1; j <= m; ++j) {
      const double d = x + 1.6 - 0.6 * static_cast<double>(j - 1);
      k(s, j) = std::exp(-d * d / (2.0 * 49.0));
    }
    y[s] = std::sin(2.0 * x) + 0.1 * std::cos(37.0 * x);
  }
  const double phi = 100.0;
  for (const double v : {1.0, 1e2, 1e4, 1e6}) {
    const auto exact = [&](const MatrixXd& columns) {
      const Eigen::Index c = columns.cols();
      MatrixXd all(n + c, c);
      all << std::sqrt(phi * v) * columns, MatrixXd::Identity(c, c);
      const Eigen::HouseholderQR<MatrixXd> qr(all);
      VectorXd turned = VectorXd::Zero(n + c);
      turned.head(n) = y;
      turned.applyOnTheLeft(qr.householderQ().adjoint());
      double out = -0.5 * phi * turned.tail(n).squaredNorm();
      for (Eigen::Index j = 0; j < c; ++j) {
        out -= std::log(std::abs(qr.matrixQR()(j, j)));
      }
      return out;
    };
    CollapsedScratch scratch(m + 1);
    CollapsedGaussian gaussian(m + 1, scratch);
    double* gram = gaussian.set_gram(m);
    double* dots = gaussian.set_dots();
    VectorXd cross(m);
    for (Eigen::Index j = 0; j < m; ++j) {
      for (Eigen::Index i = 0; i < m; ++i) {
        gram[j * gaussian.stride() + i] = k.col(i).dot(k.col(j));
      }
      dots[j] = k.col(j).dot(y);
      cross[j] = k.col(j).dot(k.col(m));
      gaussian.set_variance(j, v);
    }
    gaussian.set_response(n, y.squaredNorm());
    gaussian.set_precision(phi);
    gaussian.rebuild();
    const double own = k.col(m).squaredNorm(), response = k.col(m).dot(y);
    const double before = exact(k.leftCols(m));
    CHECK_NEAR(gaussian.add(cross.data(), own, response, v).change,
               exact(k) - before, 1e-3);
    // In place of column 2.
    MatrixXd swapped = k.leftCols(m);
    swapped.col(2) = k.col(m);
    const ColumnEdit gone = gaussian.remove(2);
    CHECK_NEAR(
        gone.change + gaussian.add(cross.data(), own, response, v, gone).change,
        exact(swapped) - before, 1e-3);
  }
}
