#include <Eigen/Cholesky>
#include "simd/aligned_buffer.hpp"
#include "math/bordered.hpp"

#include "check.hpp"
#include "hinge_problem.hpp"

using bayeskernel::AlignedBuffer;
using bayeskernel::eliminate_forward;
using bayeskernel::LogProduct;
using bayeskernel::padded_size;
using bayeskernel::sweep_bordered;

using bayeskernel::simd::Level;

static std::vector<Level> levels() {
  std::vector<Level> out = {Level::narrow};
  if (bayeskernel::simd::has_avx2()) out.push_back(Level::avx2);
  if (bayeskernel::simd::has_avx512()) out.push_back(Level::avx512);
  return out;
}

// A, q and c, and the triangle that is worked on. The rest holds NaN.
struct Bordered {
  explicit Bordered(Index m, unsigned seed)
      : m(m), stride(padded_size(m + 1) + 4), work(stride * stride) {
    Draw draw(seed);
    a = draw.positive_definite(m);
    q = draw.matrix(m, 1);
    corner = 3.0 + draw.uniform();
    std::fill_n(work.data(), work.size(), std::nan(""));
    for (Index c = 0; c < m; ++c) {
      for (Index i = c; i < m; ++i) work[c * stride + i] = a(i, c);
      work[c * stride + m] = q[c];
    }
    work[m * stride + m] = corner;
  }
  double at(Index i, Index j) const { return work[j * stride + i]; }

  Index m, stride;
  AlignedBuffer work;
  MatrixXd a;
  VectorXd q;
  double corner;
};

static double log_determinant(const MatrixXd& a) {
  if (a.size() == 0) return 0.0;
  const MatrixXd factor = Eigen::LLT<MatrixXd>(a).matrixL();
  return 2.0 * factor.diagonal().array().log().sum();
}

TEST("the sweep gives the negative inverse, the solution and the corner") {
  for (const Level level : levels()) {
    for (Index m = 0; m <= 35; ++m) {
      Bordered system(m, static_cast<unsigned>(m));
      AlignedBuffer scratch(2 * system.stride);
      // What an earlier, larger system left.
      std::fill_n(scratch.data(), scratch.size(), 1e300);
      const double log_det = sweep_bordered(system.work.data(), system.stride,
                                            m, scratch.data(), 0.0, level);
      CHECK_NEAR(log_det, log_determinant(system.a), 1e-11);
      const MatrixXd inverse =
          Eigen::LLT<MatrixXd>(system.a).solve(MatrixXd::Identity(m, m));
      const VectorXd solution = inverse * system.q;
      for (Index j = 0; j < m; ++j) {
        for (Index i = j; i < m; ++i) {
          CHECK_NEAR(system.at(i, j), -inverse(i, j), 1e-10);
        }
        CHECK_NEAR(system.at(m, j), solution[j], 1e-10);
      }
      CHECK_NEAR(system.at(m, m), system.corner - system.q.dot(solution),
                 1e-10);
    }
  }
}

TEST("elimination gives the factor, its border and the corner") {
  for (const Level level : levels()) {
    for (Index m = 0; m <= 35; ++m) {
      Bordered system(m, static_cast<unsigned>(m + 100));
      const double log_det =
          eliminate_forward(system.work.data(), system.stride, m, 0.0, level);
      CHECK_NEAR(log_det, log_determinant(system.a), 1e-11);
      if (m == 0) continue;
      const Eigen::LLT<MatrixXd> factor(system.a);
      const MatrixXd root = factor.matrixL();
      const VectorXd half = factor.matrixL().solve(system.q);
      for (Index j = 0; j < m; ++j) {
        // L D^1/2 = root, so a column d L is root times d^1/2.
        const double d_root = root(j, j);
        for (Index i = j; i < m; ++i) {
          CHECK_NEAR(system.at(i, j), root(i, j) * d_root, 1e-10);
        }
        CHECK_NEAR(system.at(m, j), half[j] * d_root, 1e-10);
      }
      CHECK_NEAR(system.at(m, m), system.corner - half.squaredNorm(), 1e-10);
    }
  }
}

TEST("both say so when the matrix is not positive definite") {
  for (const Level level : levels()) {
    for (Index bad = 0; bad < 5; ++bad) {
      for (const double value : {0.0, -1.0}) {
        Bordered first(5, 1), second(5, 1);
        for (Bordered* system : {&first, &second}) {
          for (Index i = 0; i < 5; ++i) {
            for (Index j = 0; j <= i; ++j) {
              system->work[j * system->stride + i] = i == j ? 1.0 : 0.0;
            }
          }
          system->work[bad * system->stride + bad] = value;
        }
        AlignedBuffer scratch(2 * first.stride);
        CHECK(std::isnan(sweep_bordered(first.work.data(), first.stride, 5,
                                        scratch.data(), 0.0, level)));
        CHECK(std::isnan(eliminate_forward(second.work.data(), second.stride, 5,
                                           0.0, level)));
      }
    }
  }
}

TEST("all levels eliminate the same, of any size, odd and even") {
  for (Index m = 1; m <= 40; ++m) {
    Bordered narrow(m, static_cast<unsigned>(m + 200));
    eliminate_forward(narrow.work.data(), narrow.stride, m, 1.0, Level::narrow);
    for (const Level level : levels()) {
      Bordered wide(m, static_cast<unsigned>(m + 200));
      eliminate_forward(wide.work.data(), wide.stride, m, 1.0, level);
      double worst = 0.0;
      for (Index j = 0; j <= m; ++j) {
        for (Index i = j; i <= m; ++i) {
          worst = std::max(worst, std::abs(wide.at(i, j) - narrow.at(i, j)));
        }
      }
      CHECK(worst < 1e-11);
    }
  }
}

TEST("the log of a product leaves the range of the numbers") {
  LogProduct large, small;
  CHECK(large.value() == 0.0);
  for (int k = 0; k < 50; ++k) {
    large.multiply(1e90);
    small.multiply(1e-90);
  }
  CHECK_NEAR(large.value(), 4500.0 * std::log(10.0), 1e-13);
  CHECK_NEAR(small.value(), -4500.0 * std::log(10.0), 1e-13);
}
