#include "simd/dense_factor.hpp"

#include "check.hpp"
#include "hinge_problem.hpp"

using bayeskernel::factor_lower;
using bayeskernel::invert_lower;
using bayeskernel::LowerProduct;

TEST("the factor and its inverse are those of Eigen, for 1 to 300 rows") {
  for (Index n : {1, 2, 7, 8, 9, 63, 64, 65, 71, 128, 130, 300}) {
    Draw draw(static_cast<unsigned>(n));
    const MatrixXd a = draw.positive_definite(n);
    MatrixXd factor = a;
    CHECK(factor_lower(factor));
    const MatrixXd lower = factor.triangularView<Eigen::Lower>();
    const MatrixXd expected = Eigen::LLT<MatrixXd>(a).matrixL();
    const double scale = expected.cwiseAbs().maxCoeff();
    CHECK((lower - expected).cwiseAbs().maxCoeff() < 1e-11 * scale);
    const MatrixXd inverse = invert_lower(factor);
    CHECK((inverse * lower - MatrixXd::Identity(n, n)).cwiseAbs().maxCoeff() <
          1e-9);
    CHECK(inverse.isLowerTriangular(0.0));
  }
}

TEST("a matrix that is not positive definite is told") {
  for (Index n : {1, 10, 100, 200}) {
    MatrixXd a = MatrixXd::Identity(n, n);
    a(n - 1, n - 1) = -1.0;
    CHECK(!factor_lower(a));
    a = MatrixXd::Identity(n, n);
    a(n / 2, n / 2) = std::nan("");
    CHECK(!factor_lower(a));
  }
}

static void check_products(bool square) {
  for (Index p : {1, 3, 8, 13, 64, 70}) {
    Draw draw(static_cast<unsigned>(p));
    const MatrixXd u = draw.matrix(p, p);
    const MatrixXd lower =
        square ? u : MatrixXd(u.triangularView<Eigen::Lower>());
    const Index n = 77;
    const MatrixXd x = draw.matrix(p, n);
    const LowerProduct product(u, square);
    MatrixXd out(p, n), work;
    VectorXd norm(n);
    product.apply(x.data(), n, out.data(), norm.data());
    CHECK((out - lower * x).cwiseAbs().maxCoeff() < 1e-12 * p);
    VectorXd added = VectorXd::Ones(n);
    product.add_norms(x.data(), n, work, added.data());
    for (Index i = 0; i < n; ++i) {
      CHECK_NEAR(norm[i], (lower * x.col(i)).squaredNorm(), 1e-12);
      CHECK_NEAR(added[i], 1.0 + norm[i], 1e-13);
    }
    for (Index width : {1, 2, 5, 33}) {
      MatrixXd part(p, width);
      VectorXd part_norm(width);
      for (Index first = 0; first + width <= n; first += width) {
        product.apply(x.data() + first * p, width, part.data(),
                      part_norm.data());
        CHECK(part == out.middleCols(first, width));
        CHECK(part_norm == norm.segment(first, width));
      }
    }
  }
}

TEST("products by a triangle: values, norms, and the same bits in any cut") {
  check_products(false);
}

TEST("the same by a square") { check_products(true); }
