#include <cstdint>
#include <limits>

#include "check.hpp"
#include "mcmc/autocovariance.hpp"
#include "mcmc/convergence.hpp"

namespace bk = bayeskernel;
using Eigen::MatrixXd;

static const double kNaN = std::numeric_limits<double>::quiet_NaN();

// v <- phi v + (u - 1/2) with u from the Lehmer generator 16807 s mod 2^31 - 1,
// chain after chain without reset of s; step > 0 keeps floor(v / step).
static MatrixXd series(int n, int chains, double phi, std::int64_t s,
                       double step) {
  MatrixXd x(n, chains);
  for (int chain = 0; chain < chains; ++chain) {
    double v = 0.0;
    for (int i = 0; i < n; ++i) {
      s = s * 16807 % 2147483647;
      v = phi * v + (static_cast<double>(s) / 2147483647 - 0.5);
      x(i, chain) = step > 0.0 ? std::floor(v / step) : v;
    }
  }
  return x;
}

static void check_all(const bk::Convergence& found, const double expected[5]) {
  CHECK_NEAR(found.rhat, expected[0], 1e-8);
  CHECK_NEAR(found.ess_bulk, expected[1], 1e-8);
  CHECK_NEAR(found.ess_tail, expected[2], 1e-8);
  CHECK_NEAR(found.ess_mean, expected[3], 1e-8);
  CHECK_NEAR(found.mcse_mean, expected[4], 1e-8);
}

// rhat, ess_bulk, ess_tail, ess_mean, mcse_mean of posterior 1.4.0. Among the
// series: an odd number of iterations, ties, one chain, antithetic chains with
// a capped effective size, few draws, random walks, stuck chains.
TEST("diagnostics are those of the package posterior") {
  struct Case {
    int n, chains;
    double phi;
    int seed;
    double step;
    double expected[5];
  };
  const Case cases[] = {
      {200,
       4,
       0.5,
       1,
       0,
       {1.00344545610515, 274.552623611016, 496.118241273242, 279.225812321441,
        0.019705981793535}},
      {101,
       3,
       0.9,
       2,
       0,
       {1.30656392393171, 8.98351126783241, 38.5567465929112, 8.77512288214279,
        0.201405498941993}},
      {150,
       2,
       0.3,
       3,
       0.25,
       {0.996560001550267, 128.970192946656, 195.544551900934, 131.500080030803,
        0.107400031131202}},
      {50,
       1,
       0,
       4,
       0,
       {0.996771581748179, 49.0865859358031, 22.5441866057473, 51.7151907322354,
        0.0429704613524473}},
      {400,
       4,
       -0.8,
       5,
       0,
       {1.00536411985792, 5126.59197224948, 1004.25775369432, 5126.59197224948,
        0.00674761555840838}},
      {6, 2, 0, 6, 0, {1.02841366600842, 6, 6, 6, 0.111012950398484}},
      {7, 3, 0.5, 7, 0, {1.05262293098123, 9, 9, 9, 0.0872918114918295}},
      {9, 4, 0.5, 8, 0, {1.21871929731556, 16, 16, 16, 0.0672712749261468}},
      {12,
       4,
       -0.5,
       9,
       0,
       {0.978407181983871, 80.6995793940282, 61.5988779803647, 80.6995793940282,
        0.0306390381825112}},
      {13,
       1,
       0.2,
       10,
       0,
       {1.19601413011193, 6.13384875480661, 12.7058823529412, 6.54582443594248,
        0.103382271630014}},
      {1000,
       4,
       1,
       11,
       0,
       {1.9952056879571, 5.43099488495911, 30.0856920973686, 5.19040276320427,
        2.35696115662652}},
      {999,
       2,
       0.995,
       12,
       0,
       {1.17689626102549, 14.8956340350793, 23.4387670187299, 14.9364001297661,
        0.572997035651703}},
      {300,
       3,
       0.7,
       13,
       1,
       {1.0143146204522, 260.089858882059, 243.716639557162, 250.861585982072,
        0.0325973068722111}},
      {4, 3, 0, 14, 0, {1.09184022407069, kNaN, kNaN, kNaN, kNaN}}};
  for (const Case& one : cases) {
    check_all(
        bk::convergence(series(one.n, one.chains, one.phi, one.seed, one.step)),
        one.expected);
  }
}

static const double kMissing[5] = {kNaN, kNaN, kNaN, kNaN, kNaN};

TEST("draws without information give NaN, not a number") {
  MatrixXd x = series(100, 4, 0.5, 1, 0.0);
  check_all(bk::convergence(MatrixXd::Constant(100, 4, 3.0)), kMissing);
  check_all(bk::convergence(x.topRows(3)), kMissing);
  for (const double bad : {kNaN, std::numeric_limits<double>::infinity()}) {
    MatrixXd y = x;
    y(17, 2) = bad;
    check_all(bk::convergence(y), kMissing);
  }
}

TEST("chains stuck at different values have an enormous R-hat") {
  MatrixXd x(100, 4);
  for (int chain = 0; chain < 4; ++chain) x.col(chain).setConstant(chain);
  CHECK(bk::convergence(x).rhat > 1e6);
}

TEST("shift, scale and sign change neither R-hat nor effective sizes") {
  const MatrixXd x = series(500, 4, 0.8, 3, 0.0);
  const bk::Convergence plain = bk::convergence(x);
  const MatrixXd moved = (-3.0 * x).array() + 1e6;
  const bk::Convergence other = bk::convergence(moved);
  CHECK_NEAR(other.rhat, plain.rhat, 1e-9);
  CHECK_NEAR(other.ess_bulk, plain.ess_bulk, 1e-9);
  CHECK_NEAR(other.ess_mean, plain.ess_mean, 1e-6);
  CHECK_NEAR(other.mcse_mean, 3.0 * plain.mcse_mean, 1e-6);
}

TEST("autocovariances by FFT are the direct sums") {
  for (const int n : {65, 128, 300}) {
    const MatrixXd x = series(n, 3, 0.9, 5, 0.0);
    const MatrixXd y = x.rowwise() - x.colwise().mean();
    bk::Autocovariance autocovariance(x);
    double largest = 0.0;
    for (int lag = 0; lag < n; ++lag) {
      const double direct =
          y.topRows(n - lag).cwiseProduct(y.bottomRows(n - lag)).sum() /
          (3.0 * n);
      largest = std::max(largest, std::abs(autocovariance(lag) - direct));
    }
    CHECK(largest < 1e-13);
  }
}
