#include "simd/gram.hpp"

#include "check.hpp"
#include "hinge_problem.hpp"

TEST("weighted Gram tiles equal the dense product for few and many columns") {
  for (Index p : {1, 2, 3, 4, 5, 6, 7, 8, 9, 95, 96, 101}) {
    for (Index n : {1, 3, 256}) {
      Draw draw(static_cast<unsigned>(100 * p + n));
      const MatrixXd x = draw.matrix(p, n);
      const VectorXd w = draw.matrix(n, 1).array().abs();
      const MatrixXd start = draw.positive_definite(p);
      MatrixXd gram = start, scratch;
      bayeskernel::weighted_gram(x, w, scratch, gram);
      const MatrixXd expected = start + x * w.asDiagonal() * x.transpose();
      const MatrixXd difference = gram - expected;
      for (Index c = 0; c < p; ++c) {
        for (Index k = c; k < p; ++k) CHECK_NEAR(difference(k, c), 0.0, 1e-11);
      }
    }
  }
}

TEST("a strided view gives the sums of its copy") {
  for (Index p = 1; p <= 9; ++p) {
    Draw draw(static_cast<unsigned>(p));
    const MatrixXd wide = draw.matrix(p + 3, 20);
    const MatrixXd copy = wide.topRows(p);
    const VectorXd w = draw.matrix(20, 1).array().abs();
    MatrixXd from_view = MatrixXd::Zero(p, p), from_copy = from_view, scratch;
    bayeskernel::weighted_gram(wide.topRows(p), w, scratch, from_view);
    bayeskernel::weighted_gram(copy, w, scratch, from_copy);
    CHECK((from_view - from_copy).cwiseAbs().maxCoeff() < 1e-12);
  }
}

TEST("no rows or no columns leave the sum as it is") {
  MatrixXd gram = MatrixXd::Identity(3, 3), scratch, none;
  bayeskernel::weighted_gram(MatrixXd(3, 0), VectorXd(0), scratch, gram);
  CHECK(gram == MatrixXd::Identity(3, 3));
  bayeskernel::weighted_gram(MatrixXd(0, 4), VectorXd::Ones(4), scratch, none);
  CHECK(none.size() == 0);
}
