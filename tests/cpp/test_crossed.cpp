#include "linear/crossed/gibbs.hpp"
#include "linear/crossed/mean_field.hpp"
#include "linear/mean_field.hpp"
#include <Eigen/LU>
#include <utility>

#include "check.hpp"
#include "crossed_problem.hpp"

using bayeskernel::CrossedGibbs;
using bayeskernel::CrossedMeanField;
using bayeskernel::CrossedPosterior;
using bayeskernel::CrossedRows;
using bayeskernel::CrossedSystem;
using bayeskernel::Executor;
using bayeskernel::GibbsChain;
using bayeskernel::MeanFieldFit;
using bayeskernel::MeanFieldResult;
using bayeskernel::MeanFieldSettings;
using bayeskernel::Progress;
using bayeskernel::SerialExecutor;

static const auto always = [](const Progress&) { return true; };

static MeanFieldSettings settings(double tolerance, bool accelerate = true) {
  MeanFieldSettings out;
  out.tolerance = tolerance;
  out.accelerate = accelerate;
  out.max_passes = 20000;
  return out;
}

static CrossedShape random_crossed(unsigned seed) {
  Draw draw(seed + 104729u);
  CrossedShape shape;
  shape.n = 20 + draw.below(150);
  shape.fixed = draw.below(4);
  shape.penalised = draw.below(3) == 0 ? 2 : 0;
  shape.levels = {2 + draw.below(20), 1 + draw.below(12)};
  shape.widths = {1 + draw.below(2), 1 + draw.below(2)};
  if (draw.below(2) == 0) {
    shape.levels.push_back(1 + draw.below(6));
    shape.widths.push_back(1 + draw.below(2));
  }
  shape.nested = draw.below(3) == 0;
  shape.weights = draw.below(2) == 0;
  shape.sd = draw.below(3) == 0 ? 0.0 : 1.0;
  return shape;
}

// Precision of all coefficients, as dense algebra has it.
static MatrixXd dense_precision(const CrossedProblem& problem,
                                const VectorXd& kappa,
                                const std::vector<MatrixXd>& precision) {
  const Problem twin = dense_twin(problem);
  MatrixXd out = twin.rows.x * kappa.asDiagonal() * twin.rows.x.transpose();
  twin.prior.add_precision(precision, out);
  return out;
}

struct Solved {
  explicit Solved(const CrossedProblem& problem, unsigned seed)
      : kappa(problem.rows.rows()),
        system(problem.rows, problem.prior, executor),
        q(problem.rows) {
    Draw draw(seed);
    for (double* k = kappa.data(); k < kappa.data() + kappa.size(); ++k) {
      *k = 0.1 + 3.0 * draw.uniform();
    }
    for (const Block& block : problem.prior.blocks) {
      precision.push_back(draw.positive_definite(block.width));
    }
    exact = dense_precision(problem, kappa, precision);
    system.factor(kappa, precision);
  }
  SerialExecutor executor;
  VectorXd kappa;
  std::vector<MatrixXd> precision;
  MatrixXd exact;
  CrossedSystem system;
  CrossedPosterior q;
};

// The covariance that q says it has, written out: of u_0 given v it is
// D^-1 + F Cov(v) F', and Cov(u_0, v) = -F Cov(v).
static MatrixXd written_out(const CrossedProblem& problem, const Solved& s) {
  const CrossedRows& rows = problem.rows;
  const Index p = rows.x_columns(), inner = rows.inner();
  const MatrixXd loading = s.q.loading();
  const MatrixXd omega = s.q.omega();
  MatrixXd shared = MatrixXd::Zero(loading.rows(), loading.rows());
  shared.topLeftCorner(p, p) = s.q.whitener().transpose() * s.q.whitener();
  shared.bottomRightCorner(omega.rows(), omega.rows()) = omega;
  MatrixXd out(rows.size(), rows.size());
  out.topLeftCorner(p, p) = shared.topLeftCorner(p, p);
  out.topRightCorner(p, rows.effects()) =
      -shared.topLeftCorner(p, p) * loading.topRows(p);
  out.bottomLeftCorner(rows.effects(), p) =
      -loading.topRows(p).transpose() * shared.topLeftCorner(p, p);
  const Index outer = rows.effects() - inner;
  MatrixXd v = MatrixXd::Zero(outer, outer);
  for (Index a = inner; a < rows.effects(); ++a) {
    const auto level = rows.level_of(a);
    for (Index k = 0; k < level.term->width; ++k) {
      v(a - inner, level.first + k - inner) =
          s.q.noise()[rows.begin[a] + rows.own[a] + k];
    }
  }
  const MatrixXd d = s.exact.block(p, p, inner, inner);
  const MatrixXd f = d.llt().solve(s.exact.block(p, p + inner, inner, outer));
  MatrixXd noise(rows.effects(), rows.effects());
  noise << MatrixXd(d.inverse()) + f * v * f.transpose(), -f * v,
      -v * f.transpose(), v;
  out.bottomRightCorner(rows.effects(), rows.effects()) =
      noise + loading.transpose() * shared * loading;
  return out;
}

TEST("solutions and the covariance of theta are those of dense algebra") {
  for (unsigned seed = 0; seed < 40; ++seed) {
    const CrossedProblem problem = make_crossed(random_crossed(seed), seed);
    Solved s(problem, seed);
    Draw draw(seed);
    const VectorXd rhs = draw.matrix(problem.rows.size(), 1);
    VectorXd found;
    s.system.solve(rhs, 1e-12, found);
    CHECK_NEAR((found - s.exact.llt().solve(rhs)).norm(), 0.0, 1e-8);
    s.q.set_covariance(s.system);
    const Index p = problem.rows.x_columns();
    if (p == 0) continue;
    const MatrixXd exact = MatrixXd(s.exact.inverse()).topLeftCorner(p, p);
    CHECK_NEAR((s.q.whitener().transpose() * s.q.whitener() - exact).norm(),
               0.0, 1e-7 * exact.norm());
  }
}

TEST("variances of rows and levels and the entropy are those of one Gaussian") {
  for (unsigned seed = 0; seed < 40; ++seed) {
    const CrossedProblem problem = make_crossed(random_crossed(seed), seed);
    Solved s(problem, seed);
    s.q.set_covariance(s.system);
    const MatrixXd sigma = written_out(problem, s);
    const Problem twin = dense_twin(problem);
    VectorXd found(problem.rows.rows());
    for (const bayeskernel::TileSpan& span : problem.rows.tiles()) {
      s.q.variances(span, found.data() + span.row_begin);
    }
    const VectorXd expected =
        (twin.rows.x.transpose() * sigma * twin.rows.x).diagonal();
    CHECK_NEAR((found - expected).cwiseAbs().maxCoeff(), 0.0, 1e-9);
    CHECK_NEAR(s.q.log_det(), std::log(MatrixXd(sigma).determinant()), 1e-7);
    for (const auto& term : problem.rows.terms) {
      const Index a = term.first + (1 % term.levels) * term.width;
      const Index at = problem.rows.x_columns() + a;
      CHECK_NEAR(
          (s.q.covariance(a) - sigma.block(at, at, term.width, term.width))
              .norm(),
          0.0, 1e-9);
    }
  }
}

// tr(A Sigma) - log |Sigma|, twice the divergence from the exact posterior
// with these weights, up to a constant.
static double divergence(const MatrixXd& exact, const MatrixXd& sigma) {
  return (exact * sigma).trace() - std::log(sigma.determinant());
}

TEST("the covariance is the best of its form") {
  CrossedShape shape;
  shape.levels = {9, 6, 4};
  shape.widths = {1, 1, 2};
  shape.n = 90;
  const CrossedProblem problem = make_crossed(shape, 3);
  Solved s(problem, 3);
  s.q.set_covariance(s.system);
  const MatrixXd sigma = written_out(problem, s);
  const double best = divergence(s.exact, sigma);
  Draw draw(5);
  // Steps in V_h and Omega, with what they do to u_0.
  const Index p = problem.rows.x_columns(), inner = problem.rows.inner();
  const Index outer = problem.rows.effects() - inner;
  const MatrixXd f = s.exact.block(p, p, inner, inner)
                         .llt()
                         .solve(s.exact.block(p, p + inner, inner, outer));
  MatrixXd lift(problem.rows.size(), outer);
  lift << MatrixXd::Zero(p, outer), -f, MatrixXd::Identity(outer, outer);
  for (int trial = 0; trial < 40; ++trial) {
    MatrixXd change = MatrixXd::Zero(outer, outer);
    for (std::size_t k = 1; k < problem.rows.terms.size(); ++k) {
      const auto& term = problem.rows.terms[k];
      const Index r = term.width;
      for (Index h = 0; h < term.levels; ++h) {
        const MatrixXd a = 0.003 * draw.matrix(r, r);
        const Index at = term.first - inner + h * r;
        change.block(at, at, r, r) += a + a.transpose();
      }
    }
    MatrixXd w = MatrixXd::Zero(outer, 3);
    w.col(0).head(6).setOnes();
    for (Index h = 0; h < 4; ++h) w.block(6 + 2 * h, 1, 2, 2).setIdentity();
    const MatrixXd a = 0.001 * draw.matrix(3, 3);
    change += w * (a + a.transpose()) * w.transpose();
    CHECK(divergence(s.exact, sigma + lift * change * lift.transpose()) >=
          best - 1e-9);
  }
  const double exact = divergence(s.exact, s.exact.inverse());
  CHECK(best >= exact && best - exact < 1.0);
}

TEST("the bound never falls, accelerated or not, over 60 random problems") {
  SerialExecutor serial;
  for (unsigned seed = 0; seed < 60; ++seed) {
    const CrossedProblem problem = make_crossed(random_crossed(seed), seed);
    double reached[2];
    for (const bool accelerate : {true, false}) {
      CrossedMeanField fit(problem.rows, problem.prior, serial);
      const MeanFieldResult result =
          fit.run(settings(accelerate ? 1e-9 : 1e-7, accelerate), always);
      CHECK(result.converged);
      CHECK(result.largest_fall <=
            1e-8 * (1.0 + std::abs(result.bound.back())));
      reached[accelerate] = result.bound.back();
    }
    CHECK_NEAR(reached[0], reached[1], 1e-4);
  }
}

TEST("nested terms, and a single one, give what dense columns give") {
  SerialExecutor serial;
  for (const bool single : {true, false}) {
    CrossedShape shape;
    shape.n = 250;
    shape.nested = true;
    shape.levels = single ? std::vector<Index>{20} : std::vector<Index>{20, 6};
    shape.widths = single ? std::vector<Index>{2} : std::vector<Index>{1, 2};
    const CrossedProblem problem = make_crossed(shape, 8);
    const Problem twin = dense_twin(problem);
    CrossedMeanField fit(problem.rows, problem.prior, serial);
    MeanFieldFit dense(twin.rows, twin.prior, serial);
    const double bound = fit.run(settings(1e-10), always).bound.back();
    CHECK_NEAR(bound, dense.run(settings(1e-10), always).bound.back(), 1e-8);
    CHECK_NEAR((fit.theta() - dense.posterior().mean.x).norm(), 0.0, 2e-4);
    CHECK_NEAR((fit.variance() - dense.variance()).norm(), 0.0, 2e-4);
    CHECK_NEAR((fit.mean() - dense.mean()).norm(), 0.0, 2e-4);
  }
}

TEST("crossed terms come close to what dense columns give") {
  SerialExecutor serial;
  CrossedShape shape;
  shape.n = 700;
  shape.levels = {40, 25};
  for (unsigned seed = 1; seed < 4; ++seed) {
    const CrossedProblem problem = make_crossed(shape, seed);
    const Problem twin = dense_twin(problem);
    CrossedMeanField fit(problem.rows, problem.prior, serial);
    MeanFieldFit dense(twin.rows, twin.prior, serial);
    const double bound = fit.run(settings(1e-9), always).bound.back();
    const double best = dense.run(settings(1e-9), always).bound.back();
    CHECK(bound <= best + 1e-6 && bound > best - 0.5);
    const VectorXd variance = dense.posterior().theta_variance();
    const VectorXd gap = fit.theta() - dense.posterior().mean.x;
    CHECK((gap.array() / variance.array().sqrt()).abs().maxCoeff() < 0.02);
    for (std::size_t k = 0; k < 2; ++k) {
      CHECK_NEAR(fit.precisions()[k](0, 0) / dense.precisions()[k](0, 0), 1.0,
                 0.01);
      const auto& term = problem.rows.terms[k];
      for (Index a = term.first; a < term.first + term.size(); ++a) {
        CHECK_NEAR(fit.posterior().covariance(a)(0, 0) /
                       variance[problem.rows.x_columns() + a],
                   1.0, 0.05);
      }
    }
  }
}

TEST("levels that never meet, and levels of one row, are fitted") {
  SerialExecutor serial;
  CrossedShape shape;
  shape.n = 60;
  shape.levels = {60, 30};
  CrossedProblem problem = make_crossed(shape, 4);
  const CrossedRows before = problem.rows;
  CrossedRows rows;
  rows.dense = before.dense;
  rows.z = before.z;
  rows.column = before.column;
  rows.terms = before.terms;
  for (Index i = 0; i < 60; ++i) {
    rows.column(0, i) = static_cast<int>(i);
    rows.column(1, i) = static_cast<int>(60 + i % 15 + (i < 30 ? 0 : 15));
  }
  rows.finish();
  problem.rows = rows;
  CrossedMeanField fit(rows, problem.prior, serial);
  const MeanFieldResult result = fit.run(settings(1e-9), always);
  CHECK(result.converged && fit.mean().allFinite());
  const Problem twin = dense_twin(problem);
  MeanFieldFit dense(twin.rows, twin.prior, serial);
  CHECK_NEAR(result.bound.back(),
             dense.run(settings(1e-9), always).bound.back(), 1e-6);
  CrossedGibbs chain(rows, problem.prior, serial, 1, 1);
  for (int t = 0; t < 50; ++t) chain.sweep();
  CHECK(chain.state.point.x.allFinite());
}

static CrossedShape larger() {
  CrossedShape shape;
  shape.n = 9000;
  shape.fixed = 3;
  shape.levels = {900, 700, 5};
  shape.widths = {1, 2, 1};
  return shape;
}

TEST("any executor gives the same fit and the same states") {
  const CrossedProblem problem = make_crossed(larger(), 1);
  const auto run = [&](Executor& executor) {
    CrossedMeanField fit(problem.rows, problem.prior, executor);
    MeanFieldSettings few;
    few.max_passes = 4;
    fit.run(few, always);
    CrossedGibbs chain(problem.rows, problem.prior, executor, 1, 1);
    for (int t = 0; t < 3; ++t) chain.sweep();
    VectorXd out(2 * problem.rows.size() + problem.rows.rows());
    out << fit.theta(), chain.state.point.x, fit.variance();
    return out;
  };
  SerialExecutor serial;
  const VectorXd expected = run(serial);
  ReverseExecutor reverse;
  CHECK(run(reverse) == expected);
  for (const int threads : {2, 4}) {
    ThreadExecutor executor(threads);
    CHECK(run(executor) == expected);
  }
}

TEST("a chain goes on from a stored state as if it had not stopped") {
  const CrossedProblem problem = make_crossed(CrossedShape(), 2);
  SerialExecutor serial;
  CrossedGibbs whole(problem.rows, problem.prior, serial, 5, 3);
  for (int t = 0; t < 13; ++t) whole.sweep();
  CrossedGibbs first(problem.rows, problem.prior, serial, 5, 3);
  for (int t = 0; t < 7; ++t) first.sweep();
  CrossedGibbs second(problem.rows, problem.prior, serial, 5, 3);
  second.state = first.state;
  for (int t = 0; t < 6; ++t) second.sweep();
  CHECK(second.state.point.x == whole.state.point.x);
  CHECK(second.state.precision == whole.state.precision);
}

TEST("steps of a solution hardly grow with rows and levels") {
  SerialExecutor serial;
  int steps[2];
  for (int size = 0; size < 2; ++size) {
    CrossedShape shape;
    shape.n = size == 0 ? 2000 : 32000;
    shape.levels = {shape.n / 20, shape.n / 20};
    const CrossedProblem problem = make_crossed(shape, 6);
    CrossedGibbs chain(problem.rows, problem.prior, serial, 1, 1);
    steps[size] = 0;
    for (int t = 0; t < 10; ++t) {
      chain.sweep();
      steps[size] = std::max(steps[size], chain.steps());
    }
  }
  CHECK(steps[1] <= 2 * steps[0]);
}

// Means and their standard errors over batches.
struct Batches {
  VectorXd mean, error;
  explicit Batches(const MatrixXd& draws) {
    const Index batches = 40, size = draws.rows() / batches;
    MatrixXd means(batches, draws.cols());
    for (Index b = 0; b < batches; ++b) {
      means.row(b) = draws.middleRows(b * size, size).colwise().mean();
    }
    mean = means.colwise().mean();
    error = ((means.rowwise() - mean.transpose()).colwise().squaredNorm() /
             static_cast<double>(batches * (batches - 1)))
                .cwiseSqrt();
  }
};

// Coefficients, their squares, log precisions and that of the noise, by sweep.
template <class Chain, class Point>
static MatrixXd sample(Chain& chain, int sweeps, Point&& point) {
  for (int t = 0; t < 300; ++t) chain.sweep();
  const Index d = point(chain).size();
  const std::size_t blocks = chain.state.precision.size();
  MatrixXd out(sweeps, 2 * d + static_cast<Index>(blocks) + 1);
  for (int t = 0; t < sweeps; ++t) {
    chain.sweep();
    out.row(t).head(d) = point(chain).transpose();
    out.row(t).segment(d, d) = point(chain).array().square().transpose();
    for (std::size_t l = 0; l < blocks; ++l) {
      out(t, 2 * d + static_cast<Index>(l)) =
          std::log(chain.state.precision[l].trace());
    }
    out(t, out.cols() - 1) = std::log(chain.state.noise);
  }
  return out;
}

TEST("the chain has the stationary law of the chain with dense columns") {
  SerialExecutor serial;
  const int sweeps = check::slow() ? 60000 : 8000;
  using bayeskernel::Family;
  const std::pair<unsigned, Family> cases[] = {{0, Family::hinge},
                                               {1, Family::hinge},
                                               {0, Family::probit},
                                               {1, Family::logit},
                                               {0, Family::gaussian}};
  for (const auto& [seed, family] : cases) {
    bayeskernel::ChainParts parts;
    parts.model.family = family;
    parts.model.noise.shape = parts.model.noise.rate = 2.0;
    CrossedShape shape;
    shape.n = 60;
    shape.penalised = seed == 1 ? 2 : 0;
    shape.levels =
        seed == 0 ? std::vector<Index>{6, 5} : std::vector<Index>{5, 4, 3};
    shape.widths =
        seed == 0 ? std::vector<Index>{1, 2} : std::vector<Index>{1, 1, 1};
    shape.weights = seed == 1;
    const CrossedProblem problem = make_crossed(shape, 20 + seed);
    const Problem twin = dense_twin(problem);
    CrossedGibbs crossed(problem.rows, problem.prior, serial, 1, 1,
                         parts.model);
    GibbsChain dense(twin.rows, twin.prior, serial, 2, 1, parts);
    const Batches a(sample(crossed, sweeps, [](const CrossedGibbs& chain) {
      return chain.state.point.x;
    }));
    const Batches b(sample(dense, sweeps, [](const GibbsChain& chain) {
      return chain.state.point.x;
    }));
    const double z =
        ((a.mean - b.mean).array().abs() /
         (a.error.array().square() + b.error.array().square() + 1e-30).sqrt())
            .maxCoeff();
    CHECK(z < 5.0);
  }
}

TEST("the chain agrees with quadrature") {
  // f = u_1 + v_h for two levels h, known precisions.
  CrossedShape shape;
  shape.n = 8;
  shape.fixed = 0;
  shape.levels = {1, 2};
  CrossedProblem problem = make_crossed(shape, 9);
  for (Block& block : problem.prior.blocks) {
    block.kind = Block::Kind::held;
    block.precision = 0.7;
  }
  const CrossedRows& rows = problem.rows;
  double total = 0.0, first[3] = {0, 0, 0}, second[3] = {0, 0, 0};
  for (double u = -6.0; u < 6.0; u += 0.1) {
    for (double v = -6.0; v < 6.0; v += 0.1) {
      for (double w = -6.0; w < 6.0; w += 0.1) {
        double log_density = -0.35 * (u * u + v * v + w * w);
        for (Index i = 0; i < 8; ++i) {
          const double f = u + (rows.column(1, i) == 1 ? v : w);
          log_density -= 2.0 * std::max(1.0 - rows.dense.y[i] * f, 0.0);
        }
        const double mass = std::exp(log_density);
        const double at[3] = {u, v, w};
        total += mass;
        for (int j = 0; j < 3; ++j) {
          first[j] += mass * at[j];
          second[j] += mass * at[j] * at[j];
        }
      }
    }
  }
  SerialExecutor serial;
  CrossedGibbs chain(rows, problem.prior, serial, 3, 1);
  const Batches found(
      sample(chain, check::slow() ? 100000 : 20000,
             [](const CrossedGibbs& c) { return c.state.point.x; }));
  for (int j = 0; j < 3; ++j) {
    CHECK(std::abs(found.mean[j] - first[j] / total) < 5.0 * found.error[j]);
    CHECK(std::abs(found.mean[3 + j] - second[j] / total) <
          5.0 * found.error[3 + j]);
  }
}
