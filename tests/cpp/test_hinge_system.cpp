#include <Eigen/LU>

#include "check.hpp"
#include "error.hpp"
#include "hinge_problem.hpp"
#include "linear/gaussian.hpp"
#include "linear/system.hpp"
#include "math/cholesky.hpp"

using bayeskernel::ArrowSystem;
using bayeskernel::ArrowVector;
using bayeskernel::Curvature;
using bayeskernel::GaussianPosterior;

// A random system in eliminated form and the matrix it stands for.
struct Arrow {
  Curvature curvature;
  Prior prior;
  std::vector<MatrixXd> block_precision;
  ArrowVector rhs;
  MatrixXd dense;
  VectorXd dense_rhs;
};

static Arrow make_arrow(Index p, Index r, Index groups, unsigned seed) {
  Draw draw(seed);
  Arrow out;
  const Index d = p + r * groups, n = 3 * d + 5;
  // Rows of x and of the group columns, each row in one group.
  MatrixXd c = MatrixXd::Zero(n, d);
  c.leftCols(p) = draw.matrix(n, p);
  for (Index i = 0; i < n && groups > 0; ++i) {
    c.block(i, p + draw.below(groups) * r, 1, r) = draw.matrix(1, r);
  }
  const VectorXd kappa = draw.matrix(n, 1).array().abs();
  const MatrixXd gram = c.transpose() * kappa.asDiagonal() * c;
  out.curvature = Curvature(p, r, groups);
  out.curvature.gram = gram.topLeftCorner(p, p);
  out.curvature.cross = gram.topRightCorner(p, r * groups);
  out.prior.precision = VectorXd::Zero(p);
  out.prior.mean = VectorXd::Zero(p);
  const Index fixed = p / 2;  // the rest is one iid block
  for (Index k = 0; k < fixed; ++k) {
    out.prior.precision[k] = 0.1 + draw.uniform();
  }
  out.dense = gram;
  out.dense.diagonal().head(fixed) += out.prior.precision.head(fixed);
  if (p > fixed) {
    out.prior.blocks.push_back(make_block(fixed, p - fixed, 1, draw));
    out.block_precision.push_back(MatrixXd::Constant(1, 1, 0.7));
    out.dense.diagonal().segment(fixed, p - fixed).array() += 0.7;
  }
  if (groups > 0) {
    Block block = make_block(p, groups, r, draw);
    block.eliminated = true;
    out.prior.blocks.push_back(block);
    const MatrixXd precision = draw.positive_definite(r);
    out.block_precision.push_back(precision);
    for (Index g = 0; g < groups; ++g) {
      const Index at = p + g * r;
      out.curvature.group_gram.middleCols(g * r, r) = gram.block(at, at, r, r);
      out.dense.block(at, at, r, r) += precision;
    }
  }
  out.dense_rhs = draw.matrix(d, 1);
  out.rhs = ArrowVector(p, r, groups);
  out.rhs.x = out.dense_rhs.head(p);
  Eigen::Map<VectorXd>(out.rhs.group.data(), r * groups) =
      out.dense_rhs.tail(r * groups);
  return out;
}

template <class Body>
static void over_shapes(Body&& body) {
  unsigned seed = 1;
  for (Index p : {0, 1, 2, 5, 8}) {
    for (Index r : {0, 1, 2, 3}) {
      for (Index groups : {1, 4, 9}) {
        if (p + r == 0) continue;
        body(p, r, r == 0 ? 0 : groups, seed++);
      }
    }
  }
}

static VectorXd stack(const ArrowVector& v) {
  VectorXd out(v.x.size() + v.group.size());
  out.head(v.x.size()) = v.x;
  out.tail(v.group.size()) =
      Eigen::Map<const VectorXd>(v.group.data(), v.group.size());
  return out;
}

TEST("solution and determinant equal the dense algebra") {
  over_shapes([](Index p, Index r, Index groups, unsigned seed) {
    const Arrow arrow = make_arrow(p, r, groups, seed);
    ArrowSystem system(p, r, groups);
    system.factor(arrow.curvature, arrow.prior, arrow.block_precision);
    ArrowVector solution(p, r, groups);
    system.solve(arrow.rhs, solution);
    const Eigen::LLT<MatrixXd> dense(arrow.dense);
    const VectorXd expected = dense.solve(arrow.dense_rhs);
    CHECK((stack(solution) - expected).norm() < 1e-10 * (1 + expected.norm()));
    CHECK_NEAR(system.log_det(), bayeskernel::log_det(dense), 1e-12);
    CHECK(system.jitter() == 0.0);
  });
}

TEST("loadings and group blocks equal the dense covariance") {
  over_shapes([](Index p, Index r, Index groups, unsigned seed) {
    const Arrow arrow = make_arrow(p, r, groups, seed);
    ArrowSystem system(p, r, groups);
    system.factor(arrow.curvature, arrow.prior, arrow.block_precision);
    GaussianPosterior posterior(p, r, groups);
    posterior.set_covariance(system);
    const MatrixXd covariance = arrow.dense.inverse();
    CHECK(
        (posterior.theta_covariance() - covariance.topLeftCorner(p, p)).norm() <
        1e-10);
    CHECK((posterior.theta_variance() - covariance.diagonal().head(p)).norm() <
          1e-10);
    // Cov(theta, u) = -Sigma B D^-1.
    CHECK((covariance.topRightCorner(p, r * groups) +
           posterior.theta_covariance() * system.loading())
              .norm() < 1e-10);
    for (Index g = 0; g < groups; ++g) {
      CHECK((posterior.group_covariance(g) -
             covariance.block(p + g * r, p + g * r, r, r))
                .norm() < 1e-10);
    }
    CHECK_NEAR(posterior.log_det(),
               -bayeskernel::log_det(Eigen::LLT<MatrixXd>(arrow.dense)), 1e-12);
  });
}

TEST("second moments of blocks are sums over their members") {
  over_shapes([](Index p, Index r, Index groups, unsigned seed) {
    const Arrow arrow = make_arrow(p, r, groups, seed);
    ArrowSystem system(p, r, groups);
    system.factor(arrow.curvature, arrow.prior, arrow.block_precision);
    GaussianPosterior posterior(p, r, groups);
    posterior.set_covariance(system);
    system.solve(arrow.rhs, posterior.mean);
    const VectorXd mean = stack(posterior.mean);
    const MatrixXd second = arrow.dense.inverse() + mean * mean.transpose();
    for (const Block& block : arrow.prior.blocks) {
      MatrixXd expected = MatrixXd::Zero(block.width, block.width);
      for (Index m = 0; m < block.members; ++m) {
        const Index at = block.first + m * block.width;
        expected += second.block(at, at, block.width, block.width);
      }
      CHECK((posterior.second_moment(block) - expected).norm() <
            1e-10 * (1 + expected.norm()));
    }
  });
}

// With the k-th unit vector for its normals, sample() returns the mean plus
// the k-th column of a root of the covariance.
TEST("a draw is the solution plus a root of the dense covariance") {
  over_shapes([](Index p, Index r, Index groups, unsigned seed) {
    const Arrow arrow = make_arrow(p, r, groups, seed);
    ArrowSystem system(p, r, groups);
    system.factor(arrow.curvature, arrow.prior, arrow.block_precision);
    const Index d = p + r * groups;
    ArrowVector draw(p, r, groups);
    MatrixXd root(d, d);
    const VectorXd mean = arrow.dense.llt().solve(arrow.dense_rhs);
    for (Index k = 0; k < d; ++k) {
      Index at = 0;
      system.sample(
          arrow.rhs, [&] { return at++ == k ? 1.0 : 0.0; }, draw);
      CHECK(at == d);
      root.col(k) = stack(draw) - mean;
    }
    const MatrixXd covariance = arrow.dense.inverse();
    CHECK((root * root.transpose() - covariance).norm() <
          1e-9 * (1 + covariance.norm()));
  });
}

// Too many for the dense matrix: the solution is held against products.
TEST("many groups are solved for with the same bits on any thread") {
  const Index groups = 70001;
  for (Index r : {1, 2}) {
    const Index p = 5;
    Arrow arrow = make_arrow(p, r, 4, 11 + static_cast<unsigned>(r));
    Draw draw(7);
    Curvature curvature(p, r, groups);
    curvature.gram =
        draw.positive_definite(p) + 2.0 * groups * MatrixXd::Identity(p, p);
    curvature.cross = draw.matrix(p, r * groups);
    for (Index g = 0; g < groups; ++g) {
      curvature.group_gram.middleCols(g * r, r) =
          10.0 * p * MatrixXd::Identity(r, r);
    }
    ArrowVector rhs(p, r, groups), one = rhs, other = rhs;
    rhs.x = draw.matrix(p, 1);
    rhs.group = draw.matrix(r, groups);
    ThreadExecutor threads(3);
    ArrowSystem serial(p, r, groups), shared(p, r, groups, &threads);
    serial.factor(curvature, arrow.prior, arrow.block_precision);
    shared.factor(curvature, arrow.prior, arrow.block_precision);
    serial.solve(rhs, one);
    shared.solve(rhs, other);
    CHECK(one.x == other.x && one.group == other.group);
    CHECK(serial.log_det() == shared.log_det());
    CHECK(serial.llt().matrixLLT() == shared.llt().matrixLLT());
    ArrowVector left = rhs;
    add_product(curvature, one, -1.0, left);
    arrow.prior.subtract_gradient(arrow.block_precision, one, left);
    CHECK(stack(left).cwiseAbs().maxCoeff() < 1e-11);
  }
}

TEST("a singular curvature is mended, and the jitter reported") {
  Arrow arrow = make_arrow(4, 0, 0, 3);
  arrow.prior.blocks.clear();
  arrow.block_precision.clear();
  arrow.prior.precision.setZero();
  arrow.curvature.gram.setZero();
  const VectorXd v = VectorXd::LinSpaced(4, 1.0, 2.0);
  arrow.curvature.gram = v * v.transpose();
  ArrowSystem system(4, 0, 0);
  system.factor(arrow.curvature, arrow.prior, arrow.block_precision);
  CHECK(system.jitter() > 0.0 && system.jitter() < 1e-3);
}

TEST("numbers that are not finite and indefinite groups are errors") {
  Arrow arrow = make_arrow(3, 2, 4, 5);
  ArrowSystem system(3, 2, 4);
  Curvature bad = arrow.curvature;
  bad.gram(1, 1) = std::nan("");
  CHECK_THROWS(system.factor(bad, arrow.prior, arrow.block_precision),
               bayeskernel::NumericError);
  bad = arrow.curvature;
  bad.group_gram.col(2) *= -100.0;
  CHECK_THROWS(system.factor(bad, arrow.prior, arrow.block_precision),
               bayeskernel::NumericError);
}
