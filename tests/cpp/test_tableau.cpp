#include <Eigen/LU>
#include "math/tableau.hpp"
#include <vector>

#include "check.hpp"
#include "hinge_problem.hpp"

using bayeskernel::Tableau;

// A Gaussian exp(-t'At / 2 + h't) of d columns.
struct Gaussian {
  MatrixXd a;
  VectorXd h;
};

static Gaussian make_gaussian(Index d, unsigned seed) {
  Draw draw(seed);
  return {draw.positive_definite(d), draw.matrix(d, 1)};
}

static std::vector<Index> members(unsigned bits, Index d) {
  std::vector<Index> out;
  for (Index k = 0; k < d; ++k) {
    if (bits >> k & 1u) out.push_back(k);
  }
  return out;
}

// log of the integral over the columns in `bits`, apart from q log sqrt(2 pi).
static double log_integral(const Gaussian& g, unsigned bits) {
  const std::vector<Index> in = members(bits, g.h.size());
  const Index q = static_cast<Index>(in.size());
  if (q == 0) return 0.0;
  MatrixXd a(q, q);
  VectorXd h(q);
  for (Index i = 0; i < q; ++i) {
    h[i] = g.h[in[i]];
    for (Index j = 0; j < q; ++j) a(i, j) = g.a(in[i], in[j]);
  }
  const Eigen::LLT<MatrixXd> llt(a);
  return 0.5 * h.dot(llt.solve(h)) -
         llt.matrixLLT().diagonal().array().log().sum();
}

static double largest_difference(const Tableau& a, const Tableau& b) {
  double largest = 0.0;
  for (Index i = 0; i <= a.size(); ++i) {
    for (Index j = 0; j <= i; ++j) {
      largest = std::max(largest, std::abs(a(i, j) - b(i, j)));
    }
  }
  return largest;
}

TEST("ratios are differences of log integrals for every set of columns") {
  const Index d = 6;
  const Gaussian g = make_gaussian(d, 1);
  for (unsigned bits = 0; bits < 1u << d; ++bits) {
    Tableau tableau(d);
    tableau.build(g.a, g.h, members(bits, d));
    for (Index k = 0; k < d; ++k) {
      const unsigned bit = 1u << k;
      CHECK(tableau.in(k) == ((bits & bit) != 0));
      CHECK_NEAR(tableau.log_ratio(k),
                 log_integral(g, bits | bit) - log_integral(g, bits & ~bit),
                 1e-10);
    }
  }
}

TEST("sweeps one by one end where the build in one go does") {
  const Index d = 9;
  const Gaussian g = make_gaussian(d, 2);
  Draw draw(3);
  Tableau moving(d), built(d);
  moving.build(g.a, g.h, {});
  unsigned bits = 0;
  for (int step = 0; step < 200; ++step) {
    const Index k = draw.below(d);
    moving.sweep(k);
    bits ^= 1u << k;
    built.build(g.a, g.h, members(bits, d));
    CHECK(largest_difference(moving, built) < 1e-9);
  }
}

TEST("a column swept in and out again leaves no trace") {
  const Index d = 7;
  const Gaussian g = make_gaussian(d, 4);
  for (unsigned bits : {0u, 5u, 127u}) {
    Tableau before(d), after(d);
    before.build(g.a, g.h, members(bits, d));
    after.build(g.a, g.h, members(bits, d));
    for (Index k = 0; k < d; ++k) after.sweep(k);
    for (Index k = d; k-- > 0;) after.sweep(k);
    CHECK(largest_difference(before, after) < 1e-11);
  }
}

TEST("the swept part is the inverse and the solution") {
  const Index d = 5;
  const Gaussian g = make_gaussian(d, 5);
  Tableau tableau(d);
  tableau.build(g.a, g.h, members(31u, d));
  const MatrixXd inverse = g.a.inverse();
  const VectorXd mean = g.a.llt().solve(g.h);
  for (Index i = 0; i < d; ++i) {
    CHECK_NEAR(tableau(d, i), mean[i], 1e-11);
    for (Index j = 0; j <= i; ++j) {
      CHECK_NEAR(-tableau(i, j), inverse(i, j), 1e-11);
    }
  }
  CHECK_NEAR(tableau(d, d), -g.h.dot(mean), 1e-11);
}

// With 1e-20 of its own precision, the copy's pivot is all rounding error.
TEST("a copy of a column that is in gains nothing from rounding errors") {
  Draw draw(6);
  const Index d = 6;
  MatrixXd x = draw.matrix(d, 40);
  x.row(5) = x.row(2);
  MatrixXd a = x * x.transpose();
  a.diagonal().array() += 1e-20;
  const VectorXd h = x * draw.matrix(40, 1);
  for (int repeat = 0; repeat < 3; ++repeat) {
    Tableau tableau(d);
    tableau.build(a, h, {0, 1, 2, 3, 4});
    CHECK(std::isfinite(tableau.log_ratio(5)));
    // Worth its prior ratio at most: log(1e-20) / 2 = -23 and a pivot of 1e-13.
    CHECK(tableau.log_ratio(5) - 23.0 < 0.0);
    tableau.sweep(5);
    for (Index k = 0; k < d; ++k) CHECK(std::isfinite(tableau.log_ratio(k)));
  }
}
