#include "optim/anderson.hpp"

#include "check.hpp"
#include "hinge_problem.hpp"

using bayeskernel::Anderson;

// Iterations of z -> a z + b until |residual| < 1e-10, or 1000.
static int iterations(const MatrixXd& a, const VectorXd& b, int memory) {
  VectorXd z = VectorXd::Zero(b.size());
  Anderson anderson(b.size(), b.size(), std::max(memory, 1));
  for (int t = 1; t <= 1000; ++t) {
    VectorXd g = a * z + b;
    if ((g - z).norm() < 1e-10) return t;
    if (memory > 0) anderson.combine(z, g);
    z = g;
  }
  return 1000;
}

TEST("a slow linear map needs far fewer steps, and ends at its fixed point") {
  const VectorXd b = VectorXd::Ones(4);
  const MatrixXd a =
      (VectorXd(4) << 0.98, 0.5, 0.1, 0.0).finished().asDiagonal();
  const int plain = iterations(a, b, 0), fast = iterations(a, b, 2);
  CHECK(plain > 500);
  CHECK(fast < 40);
}

TEST("memory k solves a map of k eigenvalues in about k + 2 steps") {
  const VectorXd b = VectorXd::Ones(6);
  const MatrixXd a =
      (VectorXd(6) << 0.9, 0.9, 0.9, -0.6, -0.6, -0.6).finished().asDiagonal();
  CHECK(iterations(a, b, 2) <= 9);
}

TEST("entries beyond the coordinates follow without steering") {
  // The second half copies the first through the map; only the first steers.
  VectorXd z = VectorXd::Zero(2);
  Anderson anderson(2, 1, 2);
  for (int t = 0; t < 12; ++t) {
    VectorXd g(2);
    g << 0.95 * z[0] + 1.0, 3.0 * (0.95 * z[0] + 1.0);
    anderson.combine(z, g);
    z = g;
  }
  CHECK_NEAR(z[0], 20.0, 1e-6);
  CHECK_NEAR(z[1], 60.0, 1e-6);
}

TEST("after a restart the first step is the plain one") {
  Anderson anderson(1, 1, 2);
  VectorXd z(1), g(1);
  for (double at : {0.0, 1.0, 1.5}) {
    z[0] = at;
    g[0] = 0.5 * at + 1.0;
    anderson.combine(z, g);
  }
  CHECK_NEAR(g[0], 2.0, 1e-8);
  anderson.restart();
  z[0] = 7.0;
  g[0] = 4.5;
  anderson.combine(z, g);
  CHECK(g[0] == 4.5);
}

TEST("a map that stands still is left where it is") {
  Anderson anderson(2, 2, 2);
  VectorXd z = VectorXd::Ones(2);
  for (int t = 0; t < 5; ++t) {
    VectorXd g = z;
    anderson.combine(z, g);
    CHECK(g.allFinite() && (g - z).norm() == 0.0);
  }
}
