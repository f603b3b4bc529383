#include "check.hpp"
#include "ep/check.hpp"
#include "ep/linear.hpp"
#include "ep/scatter.hpp"
#include "hinge_problem.hpp"
#include "likelihood/likelihood.hpp"
#include "math/cholesky.hpp"
#include "mcmc/pareto.hpp"
#include "prior/wide_block.hpp"

using bayeskernel::ArrowVector;
using bayeskernel::Curvature;
using bayeskernel::EpEngine;
using bayeskernel::EpFit;
using bayeskernel::EpGrid;
using bayeskernel::EpOutcome;
using bayeskernel::EpResult;
using bayeskernel::EpSettings;
using bayeskernel::EpState;
using bayeskernel::Executor;
using bayeskernel::Family;
using bayeskernel::fit_linear_ep;
using bayeskernel::GridSettings;
using bayeskernel::Hyperparameters;
using bayeskernel::LinearMoments;
using bayeskernel::NoisePrior;
using bayeskernel::SerialExecutor;

static const Family kFamilies[] = {Family::hinge, Family::probit, Family::logit,
                                   Family::gaussian};

static EpSettings exact() {
  EpSettings out;
  out.tolerance = 1e-11;
  out.max_passes = 500;
  return out;
}

static NoisePrior held(double variance) {
  NoisePrior out;
  out.held = true;
  out.precision = 1.0 / variance;
  return out;
}

// Numbers in the place of labels for gaussian rows.
static Problem problem_of(Family family, const Shape& shape, unsigned seed) {
  Problem out = make_problem(shape, seed);
  if (family == Family::gaussian) {
    Draw draw(seed + 1u);
    for (Index i = 0; i < out.rows.rows(); ++i) {
      out.rows.y[i] = 0.7 * out.rows.y[i] + out.rows.offset[i] + draw.normal();
    }
  }
  return out;
}

static Problem problem_of(Family family, unsigned seed) {
  return problem_of(family, random_shape(seed), seed);
}

static double largest(const MatrixXd& a) {
  return a.size() == 0 ? 0.0 : a.cwiseAbs().maxCoeff();
}

// Mean and covariance over theta and, group by group, the group effects.
static VectorXd joint_mean(const LinearMoments& from) {
  VectorXd out(from.theta_mean.size() + from.group_mean.size());
  out << from.theta_mean, Eigen::Map<const VectorXd>(from.group_mean.data(),
                                                     from.group_mean.size());
  return out;
}
static MatrixXd joint_covariance(const LinearMoments& from) {
  const Index p = from.theta_cov.rows(), r = from.schur.rows();
  const Index gr = from.schur.cols();
  MatrixXd out(p + gr, p + gr);
  const MatrixXd cross = from.theta_cov * from.loading;
  out.topLeftCorner(p, p) = from.theta_cov;
  out.topRightCorner(p, gr) = -cross;
  out.bottomLeftCorner(gr, p) = -cross.transpose();
  out.bottomRightCorner(gr, gr) = from.loading.transpose() * cross;
  for (Index at = 0; at < gr; at += r) {
    out.block(p + at, p + at, r, r) += from.schur.middleCols(at, r);
  }
  return out;
}

// A fit together with what it points to, noise held at 0.7.
struct Fitted {
  Fitted(const Problem& problem, Family family, Executor& executor,
         const EpSettings& settings = exact())
      : fit(problem.rows, problem.prior, executor, family) {
    fit.set(problem.prior.start(), 0.7);
    result = fit.run(settings);
  }
  Fitted(const Problem& problem, Family family)
      : Fitted(problem, family, serial()) {}
  LinearMoments moments() const { return linear_moments(fit); }

  EpFit fit;
  EpResult result;

 private:
  static SerialExecutor& serial() {
    static SerialExecutor executor;
    return executor;
  }
};

TEST("groups eliminated are columns") {
  for (Family family : kFamilies) {
    for (unsigned seed = 0; seed < 30; ++seed) {
      const Problem problem = problem_of(family, seed);
      const Problem twin = dense_twin(problem);
      const Fitted a(problem, family), b(twin, family);
      CHECK(a.result.converged && b.result.converged);
      CHECK_NEAR(a.fit.log_z(), b.fit.log_z(), 1e-9);
      const LinearMoments x = a.moments(), y = b.moments();
      CHECK(largest(joint_mean(x) - y.theta_mean) < 1e-9);
      CHECK(largest(joint_covariance(x) - y.theta_cov) < 1e-9);
      CHECK(largest(a.fit.sites.kappa - b.fit.sites.kappa) < 1e-8);
      CHECK(largest(a.fit.leave_one_out() - b.fit.leave_one_out()) < 1e-8);
    }
  }
}

TEST("messages of zero and of the variational rules end at one point") {
  for (Family family : kFamilies) {
    for (unsigned seed = 0; seed < 30; ++seed) {
      const Problem problem = problem_of(family, seed);
      const Fitted warm(problem, family);
      SerialExecutor serial;
      EpFit cold(problem.rows, problem.prior, serial, family);
      cold.set(problem.prior.start(), 0.7);
      const Index n = problem.rows.rows(), p = problem.rows.x_columns();
      const Index r = problem.rows.z_columns(), g = problem.rows.groups();
      cold.restore({{VectorXd::Zero(n), VectorXd::Zero(n)},
                    nullptr,
                    Curvature(p, r, g),
                    ArrowVector(p, r, g)});
      CHECK(cold.run(exact()).converged);
      CHECK_NEAR(cold.log_z(), warm.fit.log_z(), 1e-9);
      CHECK(largest(joint_mean(linear_moments(cold)) -
                    joint_mean(warm.moments())) < 1e-8);
    }
  }
}

TEST("an offset is a column of coefficient one") {
  for (Family family : kFamilies) {
    Shape shape;
    shape.offset = true;
    shape.weights = true;
    shape.groups = 5;
    const Problem problem = problem_of(family, shape, 3);
    Problem column = problem;
    const Index p = problem.rows.x_columns();
    column.rows.x.conservativeResize(p + 1, Eigen::NoChange);
    column.rows.x.row(p) = problem.rows.offset.transpose();
    column.rows.offset.setZero();
    column.prior.mean.conservativeResize(p + 1);
    column.prior.mean[p] = 1.0;
    column.prior.precision.conservativeResize(p + 1);
    column.prior.precision[p] = 1e9;
    column.rows.finish(problem.group_begin);
    const Fitted a(problem, family), b(column, family);
    CHECK_NEAR(a.fit.log_z(), b.fit.log_z(), 1e-7);
    CHECK(largest(a.moments().theta_mean - b.moments().theta_mean.head(p)) <
          1e-7);
    CHECK(largest(a.fit.sites.cavity_mean - b.fit.sites.cavity_mean) < 1e-7);
  }
}

TEST("labels swapped mirror the fit") {
  for (Family family : kFamilies) {
    for (unsigned seed = 40; seed < 50; ++seed) {
      const Problem problem = problem_of(family, seed);
      Problem mirror = problem;
      mirror.rows.y *= -1.0;
      mirror.rows.offset *= -1.0;
      mirror.prior.mean *= -1.0;
      mirror.rows.finish(problem.group_begin);
      const Fitted a(problem, family), b(mirror, family);
      CHECK_NEAR(a.fit.log_z(), b.fit.log_z(), 1e-12);
      CHECK(largest(joint_mean(a.moments()) + joint_mean(b.moments())) < 1e-10);
      CHECK(largest(a.fit.sites.b + b.fit.sites.b) < 1e-9);
    }
  }
}

// Covariance of f over the rows under the prior.
static MatrixXd prior_covariance(const Problem& dense) {
  MatrixXd a = MatrixXd::Zero(dense.prior.columns(), dense.prior.columns());
  dense.prior.add_precision(dense.prior.start(), a);
  return dense.rows.x.transpose() * a.llt().solve(dense.rows.x);
}

static double log_normal(const VectorXd& d, const MatrixXd& c) {
  const Eigen::LLT<MatrixXd> llt(c);
  return -0.5 * (static_cast<double>(d.size()) * std::log(2.0 * M_PI) +
                 bayeskernel::log_det(llt) + d.dot(llt.solve(d)));
}

TEST("gaussian rows: the exact evidence and leave-one-out, in one pass") {
  for (bool residuals : {false, true}) {
    Shape shape;
    shape.n = 30;
    shape.penalised = 2;
    shape.groups = 6;
    shape.width = 2;
    shape.offset = true;
    Problem problem = problem_of(Family::gaussian, shape, 11);
    Draw draw(5);
    if (residuals) {
      problem.rows.residual =
          VectorXd::NullaryExpr(shape.n, [&] { return 0.1 + draw.uniform(); });
    }
    const Problem dense = dense_twin(problem);
    MatrixXd c = prior_covariance(dense);
    c.diagonal().array() += 0.7;
    if (residuals) c.diagonal() += problem.rows.residual;
    const VectorXd d = dense.rows.y - dense.rows.offset -
                       dense.rows.x.transpose() * dense.prior.mean;
    const Fitted fitted(problem, Family::gaussian);
    CHECK(fitted.result.passes == 2);  // one to start, one to check
    const double log_y = log_normal(d, c);
    CHECK_NEAR(fitted.fit.log_z(), log_y, 1e-10);
    // log p(y_i | y_-i) = log p(y) - log p(y_-i).
    const VectorXd loo = fitted.fit.leave_one_out();
    for (Index i = 0; i < shape.n; ++i) {
      std::vector<Index> others;
      for (Index k = 0; k < shape.n; ++k) {
        if (k != i) others.push_back(k);
      }
      const Index m = shape.n - 1;
      MatrixXd part(m, m);
      VectorXd rest(m);
      for (Index k = 0; k < m; ++k) {
        rest[k] = d[others[k]];
        for (Index j = 0; j < m; ++j) part(j, k) = c(others[j], others[k]);
      }
      CHECK_NEAR(loo[i], log_y - log_normal(rest, part), 1e-9);
    }
  }
}

TEST("another noise rescales what gaussian rows say") {
  for (bool residuals : {false, true}) {
    Shape shape;
    shape.groups = 4;
    shape.weights = true;
    Problem problem = problem_of(Family::gaussian, shape, 2);
    if (residuals) problem.rows.residual = VectorXd::Constant(shape.n, 0.3);
    const Fitted direct(problem, Family::gaussian);
    SerialExecutor serial;
    EpFit moved(problem.rows, problem.prior, serial, Family::gaussian);
    moved.set(problem.prior.start(), 3.0);
    moved.run(exact());
    moved.set(problem.prior.start(), 0.7);
    moved.run(exact());
    CHECK_NEAR(moved.log_z(), direct.fit.log_z(), 1e-12);
    CHECK(largest(joint_mean(linear_moments(moved)) -
                  joint_mean(direct.moments())) < 1e-12);
  }
}

TEST("moments of rows are those of the posterior that is returned") {
  Shape shape;
  shape.groups = 4;
  shape.offset = true;
  const Problem problem = problem_of(Family::logit, shape, 7);
  const Problem twin = dense_twin(problem);
  SerialExecutor serial;
  const Fitted fitted(problem, Family::logit, serial, EpSettings());
  const LinearMoments q = fitted.moments();
  const VectorXd m =
      twin.rows.x.transpose() * joint_mean(q) + problem.rows.offset;
  const MatrixXd s =
      twin.rows.x.transpose() * joint_covariance(q) * twin.rows.x;
  CHECK(largest(m - fitted.fit.sites.mean) < 1e-12);
  CHECK(largest(s.diagonal() - fitted.fit.sites.variance) < 1e-12);
}

TEST("one row alone is exact") {
  for (Family family : kFamilies) {
    Problem problem;
    problem.rows.x = MatrixXd::Constant(1, 1, 1.3);
    problem.rows.z.resize(0, 1);
    problem.rows.y = VectorXd::Constant(1, -1.0);
    problem.rows.weight = VectorXd::Constant(1, 2.5);
    problem.rows.offset = VectorXd::Constant(1, 0.4);
    problem.rows.finish({});
    problem.prior.precision = VectorXd::Constant(1, 0.5);
    problem.prior.mean = VectorXd::Constant(1, 0.2);
    const Fitted fitted(problem, family);
    // By Simpson's rule; the hinge has a kink on the grid at margin one.
    const double sd = std::sqrt(2.0);
    const double kink = (-1.0 - 0.4) / 1.3;
    double z = 0.0, first = 0.0;
    for (double side : {-1.0, 1.0}) {
      const int steps = 20000;
      const double h = 20.0 * sd / steps;
      for (int k = 0; k <= steps; ++k) {
        const double t = kink + side * h * k;
        const double weight = (k == 0 || k == steps ? 1.0
                               : k % 2 == 1         ? 4.0
                                                    : 2.0) *
                              h / 3.0;
        const double density =
            std::exp(2.5 * bayeskernel::log_likelihood(family, -1.0,
                                                       0.4 + 1.3 * t, 0.7) -
                     0.25 * (t - 0.2) * (t - 0.2)) /
            std::sqrt(4.0 * M_PI);
        z += weight * density;
        first += weight * density * t;
      }
    }
    CHECK_NEAR(fitted.fit.log_z(), std::log(z), 1e-8);
    CHECK_NEAR(fitted.moments().theta_mean[0], first / z, 1e-7);
  }
}

TEST("a residual is an effect of the row's own") {
  for (Family family : kFamilies) {
    Shape shape;
    shape.weights = true;
    shape.offset = true;
    Problem problem = problem_of(family, shape, 21);
    Draw draw(8);
    problem.rows.residual =
        VectorXd::NullaryExpr(shape.n, [&] { return 2.0 * draw.uniform(); });
    Problem effects = problem;
    effects.rows.residual.resize(0);
    effects.rows.z = problem.rows.residual.cwiseSqrt().transpose();
    Block block;
    block.kind = Block::Kind::held;
    block.eliminated = true;
    block.members = shape.n;
    effects.prior.blocks.push_back(block);
    std::vector<Index> begin;
    for (Index i = 0; i <= shape.n; ++i) begin.push_back(i);
    effects.rows.finish(begin);
    const Fitted a(problem, family), b(effects, family);
    CHECK_NEAR(a.fit.log_z(), b.fit.log_z(), 1e-9);
    CHECK(largest(a.moments().theta_mean - b.moments().theta_mean) < 1e-8);
    CHECK(largest(a.moments().theta_cov - b.moments().theta_cov) < 1e-8);
  }
}

// log Z + log prior at x.
static double objective(EpFit& fit, const Hyperparameters& hyper,
                        const VectorXd& x) {
  std::vector<MatrixXd> precision = fit.precisions();
  double noise = fit.noise_variance();
  hyper.unpack(x, precision, noise);
  fit.set(precision, noise);
  fit.run(exact());
  return fit.log_z() + hyper.log_prior(x);
}

TEST("the gradient in the variances is that of differences") {
  for (Family family : kFamilies) {
    for (Index width : {1, 2, 3}) {
      for (bool half_t : {false, true}) {
        Shape shape;
        shape.n = 60;
        shape.penalised = 3;
        shape.groups = 8;
        shape.width = width;
        shape.weights = true;
        Problem problem = problem_of(family, shape, 31);
        if (half_t) problem = with_half_t(problem, 4.0);
        NoisePrior noise = held(1.0);
        if (family == Family::gaussian) {
          noise.held = false;
          noise.shape = 1.3;
          noise.rate = 0.6;
        }
        const Hyperparameters hyper(problem.prior, noise);
        CHECK(hyper.size() == 1 + width * (width + 1) / 2 +
                                  (family == Family::gaussian ? 1 : 0));
        SerialExecutor serial;
        EpFit fit(problem.rows, problem.prior, serial, family);
        Draw draw(9);
        const VectorXd x = 0.4 * draw.matrix(hyper.size(), 1);
        objective(fit, hyper, x);
        CHECK(largest(hyper.pack(fit.precisions(), fit.noise_variance()) - x) <
              1e-12);
        const VectorXd gradient = hyper.gradient(fit, x);
        for (Index k = 0; k < x.size(); ++k) {
          VectorXd up = x, down = x;
          up[k] += 1e-4;
          down[k] -= 1e-4;
          const double slope =
              (objective(fit, hyper, up) - objective(fit, hyper, down)) / 2e-4;
          CHECK_NEAR(gradient[k], slope, 1e-6);
        }
      }
    }
  }
}

TEST("the prior density of log-Cholesky coordinates is that of Psi") {
  Prior prior;
  Block block;
  block.kind = Block::Kind::unstructured;
  block.width = 2;
  block.members = 3;
  block.df = 4.5;
  block.scale = MatrixXd::Identity(2, 2);
  block.scale(0, 1) = block.scale(1, 0) = 0.4;
  prior.blocks.push_back(block);
  const Hyperparameters hyper(prior, held(1.0));
  // It integrates to one: L from the outside in, by the trapezoid rule.
  double total = 0.0;
  const double step = 0.25;
  for (double a = -4.0; a < 7.0; a += step) {
    for (double c = -4.0; c < 7.0; c += step) {
      const double width = std::exp(0.5 * (a + c));
      for (double b = -12.0; b <= 12.0; b += step) {
        VectorXd x(3);
        x << a, b * width, c;
        total += step * step * step * width * std::exp(hyper.log_prior(x));
      }
    }
  }
  CHECK_NEAR(total, 1.0, 1e-3);
}

TEST("the grid of one variance agrees with a fine sum of exact evidences") {
  Shape shape;
  shape.n = 40;
  shape.groups = 9;
  const Problem problem = problem_of(Family::gaussian, shape, 4);
  SerialExecutor serial;
  EpFit fit(problem.rows, problem.prior, serial, Family::gaussian);
  EpSettings settings;
  const EpOutcome out = fit_linear_ep(fit, held(0.7), true, settings);
  CHECK(out.engine == EpEngine::grid && out.result.converged);
  const Hyperparameters hyper(problem.prior, held(0.7));
  const double step = 0.02;
  double total = 0.0, first = 0.0, second = 0.0;
  VectorXd mean = VectorXd::Zero(2);
  MatrixXd square = MatrixXd::Zero(2, 2);
  for (double x = -12.0; x < 12.0; x += step) {
    const double weight =
        step * std::exp(objective(fit, hyper, VectorXd::Constant(1, x)));
    total += weight;
    first += weight * x;
    second += weight * x * x;
    const VectorXd& m = fit.posterior().mean.x;
    mean += weight * m;
    square += weight * (fit.posterior().theta_covariance() + m * m.transpose());
  }
  mean /= total;
  CHECK_NEAR(out.log_evidence, std::log(total), 1e-3);
  CHECK_NEAR(out.x_mean[0], first / total, 1e-3);
  CHECK_NEAR(out.x_sd[0],
             std::sqrt(second / total - std::pow(first / total, 2)), 1e-3);
  CHECK(largest(out.moments.theta_mean - mean) < 1e-4);
  CHECK(largest(out.moments.theta_cov -
                (square / total - mean * mean.transpose())) < 1e-4);
  CHECK_NEAR(out.weight.sum(), 1.0, 1e-12);
}

TEST("a grid with groups eliminated is that of columns") {
  for (Family family : kFamilies) {
    for (Index width : {1, 2}) {
      Shape shape;
      shape.groups = 8;
      shape.n = 50;
      shape.width = width;
      const Problem problem = problem_of(family, shape, 6);
      const Problem twin = dense_twin(problem);
      SerialExecutor serial;
      EpFit a(problem.rows, problem.prior, serial, family);
      EpFit b(twin.rows, twin.prior, serial, family);
      const EpOutcome x = fit_linear_ep(a, held(0.7), true, exact());
      const EpOutcome y = fit_linear_ep(b, held(0.7), true, exact());
      CHECK(x.points.size() == y.points.size());
      CHECK_NEAR(x.log_evidence, y.log_evidence, 1e-6);
      CHECK(largest(joint_mean(x.moments) - y.moments.theta_mean) < 1e-6);
      // Groups of a mixture have a covariance that is not reported.
      const Index p = x.moments.theta_mean.size();
      const MatrixXd joint = joint_covariance(x.moments);
      const MatrixXd& full = y.moments.theta_cov;
      CHECK(largest(joint.leftCols(p) - full.leftCols(p)) < 1e-6);
      for (Index g = 0; g < 8; ++g) {
        const Index at = p + g * width;
        CHECK(largest(joint.block(at, at, width, width) -
                      full.block(at, at, width, width)) < 1e-6);
        CHECK(largest(x.moments.group_cov.middleCols(g * width, width) -
                      full.block(at, at, width, width)) < 1e-6);
      }
      CHECK(largest(x.rows.mean - y.rows.mean) < 1e-6);
      CHECK(largest(x.rows.variance - y.rows.variance) < 1e-6);
      CHECK(largest(x.rows.leave_one_out - y.rows.leave_one_out) < 1e-6);
    }
  }
}

TEST("covariances of groups are dropped where there is no room") {
  Shape shape;
  shape.groups = 8;
  const Problem problem = problem_of(Family::probit, shape, 6);
  SerialExecutor serial;
  EpFit fit(problem.rows, problem.prior, serial, Family::probit);
  const Hyperparameters hyper(problem.prior, held(1.0));
  EpGrid wide(fit, hyper);
  wide.run(exact());
  EpFit again(problem.rows, problem.prior, serial, Family::probit);
  EpGrid narrow(again, hyper);
  narrow.room = 60.0;
  narrow.grid_settings = GridSettings::of(hyper.size());
  narrow.run(exact());
  CHECK(wide.points()[0].moments.loading.size() > 0);
  for (const auto& point : narrow.points()) {
    CHECK(point.moments.loading.size() == 0);
    CHECK(point.moments.theta_mean.size() == 2);
  }
  CHECK_NEAR(narrow.log_evidence(), wide.log_evidence(), 1e-9);
  CHECK(largest(narrow.mixture().linear().loading -
                wide.mixture().linear().loading) < 1e-7);
}

// A penalty and an intercept of groups; the noise is held.
static Problem two_variances(Family family) {
  Shape shape;
  shape.n = 60;
  shape.penalised = 4;
  shape.groups = 8;
  return problem_of(family, shape, 6);
}

TEST("points on lines, where few states have room, are those of the flood") {
  for (Family family : {Family::probit, Family::gaussian}) {
    const Problem problem = two_variances(family);
    SerialExecutor serial;
    EpFit fit(problem.rows, problem.prior, serial, family);
    const Hyperparameters hyper(problem.prior, held(0.7));
    CHECK(hyper.size() == 2);
    EpGrid wide(fit, hyper);
    wide.run(exact());
    EpFit again(problem.rows, problem.prior, serial, family);
    EpGrid narrow(again, hyper);
    narrow.room = 60.0;
    narrow.grid_settings = GridSettings::of(hyper.size());
    narrow.run(exact());
    CHECK(narrow.points().size() == wide.points().size());
    CHECK_NEAR(narrow.log_evidence(), wide.log_evidence(), 1e-7);
    CHECK(largest(narrow.mixture().linear().theta_mean -
                  wide.mixture().linear().theta_mean) < 1e-7);
    CHECK(largest(narrow.mixture().linear().group_cov -
                  wide.mixture().linear().group_cov) < 1e-7);
  }
}

TEST("the thin grid, where there is no room, moves little") {
  for (Family family : {Family::probit, Family::gaussian}) {
    const Problem problem = two_variances(family);
    SerialExecutor serial;
    EpFit fit(problem.rows, problem.prior, serial, family);
    const Hyperparameters hyper(problem.prior, held(0.7));
    EpGrid fine(fit, hyper);
    fine.run(exact());
    EpFit again(problem.rows, problem.prior, serial, family);
    EpGrid thin(again, hyper);
    thin.room = 60.0;
    thin.run(exact());
    CHECK(4 * thin.points().size() < 3 * fine.points().size());
    CHECK_NEAR(thin.log_evidence(), fine.log_evidence(), 0.05);
    const auto& want = fine.mixture().linear();
    const auto& got = thin.mixture().linear();
    const VectorXd sd = want.theta_cov.diagonal().cwiseSqrt();
    CHECK(largest(((got.theta_mean - want.theta_mean).array() / sd.array())
                      .matrix()) < 0.01);
    CHECK(largest(
              (got.theta_cov.diagonal().cwiseSqrt().array() / sd.array() - 1.0)
                  .matrix()) < 0.01);
  }
}

TEST("places beyond a grid have no weight") {
  for (Family family : {Family::probit, Family::gaussian}) {
    const Problem problem = two_variances(family);
    SerialExecutor serial;
    EpFit fit(problem.rows, problem.prior, serial, family);
    const Hyperparameters hyper(problem.prior, held(0.7));
    EpGrid grid(fit, hyper);
    grid.run(exact());
    const auto& points = grid.points();
    double best = points[0].log_density, mass = 0.0;
    for (const auto& point : points) {
      best = std::max(best, point.log_density);
      mass += std::exp(point.log_density);
    }
    // The first points after the mode are its neighbours, axis by axis.
    const auto known = [&](const VectorXd& x) {
      return std::any_of(points.begin(), points.end(), [&](const auto& p) {
        return largest(p.x - x) < 1e-6;
      });
    };
    int beyond = 0;
    double lost = 0.0;
    for (const auto& point : points) {
      if (point.log_density < best - 8.0) continue;
      for (int k = 1; k <= 4; ++k) {
        const VectorXd x = point.x + points[k].x - points[0].x;
        if (known(x)) continue;
        ++beyond;
        std::vector<MatrixXd> precision = fit.precisions();
        double noise = fit.noise_variance();
        hyper.unpack(x, precision, noise);
        fit.set(precision, noise);
        fit.run(exact());
        lost += std::exp(fit.log_z() + hyper.log_prior(x));
      }
    }
    CHECK(beyond > 3);
    CHECK(lost < 1e-3 * mass);
  }
}

TEST("EP in VB ends where variances and messages agree") {
  for (Family family : kFamilies) {
    Shape shape;
    shape.n = 60;
    shape.penalised = 4;
    shape.groups = 7;
    shape.width = 2;
    const Problem problem = problem_of(family, shape, 12);
    NoisePrior noise = held(1.0);
    if (family == Family::gaussian) noise.held = false;
    SerialExecutor serial;
    EpFit fit(problem.rows, problem.prior, serial, family);
    EpSettings settings = exact();
    settings.tolerance = 1e-10;
    const EpOutcome out = fit_linear_ep(fit, noise, false, settings);
    CHECK(out.engine == EpEngine::variational);
    CHECK(out.result.converged);
    for (std::size_t l = 0; l < 2; ++l) {
      const Block& block = problem.prior.blocks[l];
      const auto q = Prior::posterior(
          block, fit.posterior().second_moment(block), fit.precisions()[l]);
      CHECK(largest(Prior::expected_precision(block, q) - fit.precisions()[l]) <
            1e-8);
      CHECK_NEAR(q.rate, out.variances.blocks[l].rate, 1e-9);
    }
    if (family == Family::gaussian) {
      CHECK_NEAR(out.variances.noise.rate / out.variances.noise.shape,
                 fit.noise_variance(), 1e-9);
      CHECK_NEAR(out.variances.noise.shape, 0.01 + 0.5 * shape.n, 1e-12);
    }
    // Never above the evidence that it bounds, and near it.
    CHECK(std::isfinite(out.log_evidence));
  }
}

TEST("a wide block is that of its columns") {
  Shape shape;
  shape.n = 12;
  shape.penalised = 40;
  Problem problem = problem_of(Family::logit, shape, 19);
  problem.prior.blocks[0].shape = problem.prior.blocks[0].rate = 4.0;
  Problem reduced = problem;
  const auto wide = bayeskernel::reduce_wide(reduced.rows, reduced.prior);
  reduced.rows.finish({});
  CHECK(wide.basis.size() > 0);
  SerialExecutor serial;
  for (bool grid : {true, false}) {
    EpFit a(problem.rows, problem.prior, serial, Family::logit);
    EpFit b(reduced.rows, reduced.prior, serial, Family::logit);
    EpSettings settings = exact();
    settings.tolerance = 1e-9;
    const EpOutcome x = fit_linear_ep(a, held(1.0), grid, settings);
    const EpOutcome y = fit_linear_ep(b, held(1.0), grid, settings);
    // The lattices need not be the same.
    const double tolerance = grid ? 2e-3 : 1e-6;
    CHECK_NEAR(x.log_evidence, y.log_evidence, tolerance);
    CHECK(largest(x.rows.mean - y.rows.mean) < tolerance);
    CHECK(largest(x.rows.variance - y.rows.variance) < tolerance);
  }
}

TEST("threads and the order of blocks change no bit") {
  Shape shape;
  shape.n = 9000;
  shape.groups = 40;
  shape.weights = true;
  for (Family family : {Family::hinge, Family::gaussian}) {
    const Problem problem = problem_of(family, shape, 1);
    SerialExecutor serial;
    ReverseExecutor reverse;
    ThreadExecutor threads(3);
    EpSettings settings;
    EpFit a(problem.rows, problem.prior, serial, family);
    EpFit b(problem.rows, problem.prior, reverse, family);
    EpFit c(problem.rows, problem.prior, threads, family);
    const EpOutcome x = fit_linear_ep(a, held(0.7), true, settings);
    const EpOutcome y = fit_linear_ep(b, held(0.7), true, settings);
    const EpOutcome z = fit_linear_ep(c, held(0.7), true, settings);
    CHECK(x.log_evidence == y.log_evidence);
    CHECK(x.log_evidence == z.log_evidence);
    CHECK(x.result.change == z.result.change);
    CHECK(x.moments.theta_mean == z.moments.theta_mean);
    CHECK(x.rows.leave_one_out == z.rows.leave_one_out);
  }
}

TEST("separated rows with a flat prior stay finite") {
  for (Family family : {Family::hinge, Family::probit, Family::logit}) {
    Problem problem;
    const Index n = 30;
    Draw draw(77);
    problem.rows.x = MatrixXd::Ones(2, n);
    problem.rows.y.resize(n);
    for (Index i = 0; i < n; ++i) {
      problem.rows.y[i] = i % 2 == 0 ? 1.0 : -1.0;
      problem.rows.x(1, i) =
          problem.rows.y[i] * (0.05 + std::abs(draw.normal()));
    }
    problem.rows.z.resize(0, n);
    problem.rows.weight = VectorXd::Ones(n);
    problem.rows.offset = VectorXd::Zero(n);
    problem.rows.finish({});
    problem.prior.precision = VectorXd::Constant(2, 1e-8);
    problem.prior.mean = VectorXd::Zero(2);
    SerialExecutor serial;
    EpSettings settings;
    const Fitted fitted(problem, family, serial, settings);
    CHECK(std::isfinite(fitted.fit.log_z()));
    const LinearMoments q = fitted.moments();
    CHECK(q.theta_mean.allFinite() && q.theta_cov.allFinite());
    // The prior alone holds the slope back.
    CHECK(q.theta_mean[1] > 5e3);
    CHECK(fitted.fit.sites.kappa.minCoeff() >= 0.0);
  }
}

TEST("importance weights say where a Gaussian will do") {
  SerialExecutor serial;
  Shape shape;
  shape.n = 300;
  shape.groups = 3;
  shape.weights = true;
  shape.offset = true;
  for (Family family : kFamilies) {
    const Problem problem = problem_of(family, shape, 5);
    Fitted fitted(problem, family, serial, EpSettings());
    const double k = bayeskernel::importance_k(fitted.fit, serial, 1);
    CHECK(k < 0.5);
    ThreadExecutor threads(2);
    CHECK(k == bayeskernel::importance_k(fitted.fit, threads, 1));
  }
  // Separated rows and a flat prior: a cone. k of one set of draws varies by
  // 0.1; above one half the weights have no variance.
  Shape separated;
  separated.n = 40;
  separated.fixed = 12;
  Problem cone = problem_of(Family::logit, separated, 5);
  cone.prior.precision.setConstant(1e-4);
  cone.prior.mean.setZero();
  Fitted far(cone, Family::logit, serial, EpSettings());
  std::vector<double> k;
  for (int seed = 1; seed <= 15; ++seed) {
    k.push_back(bayeskernel::importance_k(far.fit, serial, seed));
  }
  std::sort(k.begin(), k.end());
  CHECK(k[7] > 0.5);
  // Too many dimensions, or residuals: not checked.
  shape.groups = 30;
  const Problem wide = problem_of(Family::probit, shape, 5);
  Fitted many(wide, Family::probit, serial, EpSettings());
  CHECK(std::isnan(bayeskernel::importance_k(many.fit, serial, 1)));
  cone.rows.residual = VectorXd::Ones(separated.n);
  Fitted open(cone, Family::logit, serial, EpSettings());
  CHECK(std::isnan(bayeskernel::importance_k(open.fit, serial, 1)));
}

TEST("the shape of Pareto tails is found") {
  for (double k : {-0.3, 0.2, 0.9}) {
    Draw draw(3);
    std::vector<double> x;
    for (int i = 0; i < 4000; ++i) {
      x.push_back(2.0 / k * (std::pow(draw.uniform(), -k) - 1.0));
    }
    std::sort(x.begin(), x.end());
    CHECK(std::abs(bayeskernel::pareto_shape(x) - k) < 0.06);
  }
  CHECK(bayeskernel::pareto_k(VectorXd::Zero(1000)) < 0.0);
  VectorXd broken = VectorXd::Zero(1000);
  broken[7] = std::numeric_limits<double>::quiet_NaN();
  CHECK(bayeskernel::pareto_k(broken) > 1e9);
}

// CompletedRows of random predictors, in place of some rows.
static Problem completion_problem(Family family,
                                  bayeskernel::Completions& units) {
  Shape shape;
  shape.n = 60;
  shape.groups = 6;
  const Problem whole = problem_of(family, shape, 23);
  Draw draw(4);
  std::vector<Index> row, begin(1, 0);
  std::vector<double> log_prior;
  for (Index g = 0; g < 6; ++g) {
    for (Index i = whole.group_begin[g]; i < whole.group_begin[g + 1]; ++i) {
      const Index completions = i % 3 == 0 ? 3 : 1;
      for (Index k = 0; k < completions; ++k) {
        row.push_back(i);
        units.unit.push_back(i + 1);
        log_prior.push_back(completions == 1 ? 0.0
                                             : std::log(k == 0 ? 0.5 : 0.25));
      }
    }
    begin.push_back(static_cast<Index>(row.size()));
  }
  const Index n = static_cast<Index>(row.size());
  units.log_prior = Eigen::Map<const VectorXd>(log_prior.data(), n);
  Problem out;
  out.prior = whole.prior;
  out.group_begin = begin;
  out.rows.x.resize(2, n);
  out.rows.z.resize(1, n);
  out.rows.weight = VectorXd::Ones(n);
  out.rows.offset = VectorXd::Zero(n);
  out.rows.y.resize(n);
  for (Index i = 0; i < n; ++i) {
    out.rows.x.col(i) = whole.rows.x.col(row[i]);
    if (i > 0 && row[i] == row[i - 1]) out.rows.x(1, i) = draw.normal();
    out.rows.z(0, i) = whole.rows.z(0, row[i]);
    out.rows.y[i] = whole.rows.y[row[i]];
  }
  out.rows.finish(begin, units.unit);
  return out;
}

TEST(
    "completions: responsibilities are those of the direct bound, and add up "
    "to one") {
  for (Family family : kFamilies) {
    bayeskernel::Completions units;
    const Problem problem = completion_problem(family, units);
    SerialExecutor serial;
    EpFit fit(problem.rows, problem.prior, serial, family, &units);
    fit.set(problem.prior.start(), 0.7);
    CHECK(fit.run(exact()).converged);
    const bayeskernel::DirectTerms direct;
    const auto& s = fit.sites;
    for (Index i = 0; i < s.responsibility.size(); i = units.end(i)) {
      double sum = 0.0;
      std::vector<double> value;
      for (Index k = i; k < units.end(i); ++k) {
        sum += s.responsibility[k];
        value.push_back(units.log_prior[k] +
                        direct(family, problem.rows.y[k], 1.0, s.mean[k],
                               s.variance[k], {1.0 / 0.7, std::log(0.7)})
                            .bound);
      }
      CHECK_NEAR(sum, 1.0, 1e-12);
      bayeskernel::softmax(units.end(i) - i, value.data());
      for (Index k = i; k < units.end(i); ++k) {
        CHECK_NEAR(s.responsibility[k], value[k - i], 1e-9);
      }
    }
    // The sites are those of rows with these powers.
    Problem powers = problem;
    powers.rows.weight = s.responsibility;
    powers.rows.finish(problem.group_begin);
    const Fitted same(powers, family);
    CHECK_NEAR(same.fit.log_z(), fit.log_z(), 1e-8);
    CHECK(largest(same.moments().theta_mean - fit.posterior().mean.x) < 1e-8);
  }
}

TEST("completions that are ruled out are not there") {
  bayeskernel::Completions units;
  Problem problem = completion_problem(Family::logit, units);
  Problem alone = problem;
  std::vector<Index> kept, begin(1, 0);
  for (Index g = 0; g < 6; ++g) {
    for (Index i = problem.group_begin[g]; i < problem.group_begin[g + 1];
         ++i) {
      const bool first = i == 0 || units.unit[i] != units.unit[i - 1];
      units.log_prior[i] = first ? 0.0 : -800.0;
      if (first) kept.push_back(i);
    }
    begin.push_back(static_cast<Index>(kept.size()));
  }
  const Index n = static_cast<Index>(kept.size());
  alone.rows.x.resize(2, n);
  alone.rows.z.setOnes(1, n);
  alone.rows.y.resize(n);
  alone.rows.weight = VectorXd::Ones(n);
  alone.rows.offset = VectorXd::Zero(n);
  for (Index i = 0; i < n; ++i) {
    alone.rows.x.col(i) = problem.rows.x.col(kept[i]);
    alone.rows.y[i] = problem.rows.y[kept[i]];
  }
  alone.rows.finish(begin);
  const Fitted expected(alone, Family::logit);
  SerialExecutor serial;
  EpFit fit(problem.rows, problem.prior, serial, Family::logit, &units);
  fit.set(problem.prior.start(), 0.7);
  fit.run(exact());
  CHECK_NEAR(fit.log_z() + fit.completion_part(), expected.fit.log_z(), 1e-8);
  CHECK(largest(fit.posterior().mean.x - expected.moments().theta_mean) < 1e-8);
  const VectorXd loo =
      bayeskernel::unit_leave_one_out(units, fit.leave_one_out());
  CHECK(largest(loo - expected.fit.leave_one_out()) < 1e-7);
}

TEST("too few passes are said, and leave finite numbers") {
  Shape shape;
  shape.groups = 5;
  const Problem problem = problem_of(Family::logit, shape, 15);
  SerialExecutor serial;
  EpSettings settings;
  settings.max_passes = 1;
  const Fitted fitted(problem, Family::logit, serial, settings);
  CHECK(!fitted.result.converged);
  CHECK(fitted.moments().theta_cov.allFinite());
  CHECK(fitted.fit.leave_one_out().allFinite());
}

TEST("messages that go to and fro are damped") {
  Shape shape;
  shape.groups = 8;
  const Problem problem = problem_of(Family::probit, shape, 6);
  SerialExecutor serial;
  EpFit fit(problem.rows, problem.prior, serial, Family::probit);
  fit.set({MatrixXd::Constant(1, 1, std::exp(-4.32))}, 1.0);
  EpSettings settings = exact();
  settings.max_passes = 100;
  CHECK(fit.run(settings).converged);
}

TEST("probit and logit need few passes") {
  for (Family family : {Family::probit, Family::logit}) {
    for (unsigned seed = 0; seed < 10; ++seed) {
      Shape shape;
      shape.n = 300;
      shape.fixed = 6;
      const Problem problem = problem_of(family, shape, seed);
      SerialExecutor serial;
      const Fitted fitted(problem, family, serial, EpSettings());
      CHECK(fitted.result.converged && fitted.result.passes <= 20);
    }
  }
}

TEST("an interrupt ends a fit between passes") {
  Shape shape;
  const Problem problem = problem_of(Family::logit, shape, 1);
  SerialExecutor serial;
  EpFit fit(problem.rows, problem.prior, serial, Family::logit);
  int asked = 0;
  fit.watch([&](const bayeskernel::Progress&) { return ++asked < 4; });
  CHECK_THROWS(fit.run(exact()), bayeskernel::PassInterrupted);
  CHECK(asked == 4);
}

TEST("an inverse gamma is found by the moments of its logarithm") {
  for (double shape : {0.05, 0.8, 3.0, 250.0}) {
    const auto q = bayeskernel::detail::matched_gamma(
        std::log(2.0) - bayeskernel::digamma(shape),
        bayeskernel::trigamma(shape));
    CHECK_NEAR(q.shape, shape, 1e-9);
    CHECK_NEAR(q.rate, 2.0, 1e-8);
  }
}

TEST("a density on a line has the quantiles of what it was given") {
  // exp(z / 2 - e^z): a tail to one side, log of a gamma variable.
  std::vector<double> at, value;
  for (double z = -14.0; z <= 2.6; z += 0.7) {
    at.push_back(z);
    value.push_back(0.5 * z - std::exp(z));
  }
  const bayeskernel::LineDensity line(at, value, 1.0);
  for (double u : {0.02, 0.2, 0.5, 0.8, 0.98}) {
    // P(Z < z) = P(N(0, 1)^2 / 2 < e^z).
    const double z = line.quantile(u);
    CHECK_NEAR(std::erf(std::sqrt(std::exp(z))), u, 5e-3);
    const double log_density =
        0.5 * z - std::exp(z) - 0.5 * std::log(std::acos(-1.0));
    CHECK_NEAR(line.log_density(u), log_density, 0.03);
  }
}

TEST("spread points have their share of each axis, and of pairs of them") {
  for (Index d : {4, 6, 8}) {
    const Index n = 40 + 22 * d;
    const MatrixXd points = bayeskernel::scattered_points(n, d);
    for (Index k = 0; k < d; ++k) {
      std::vector<double> own(n);
      for (Index j = 0; j < n; ++j) own[j] = points(k, j);
      std::sort(own.begin(), own.end());
      for (Index j = 0; j < n; ++j) CHECK_NEAR(own[j], (j + 0.5) / n, 1e-12);
      for (Index l = 0; l < k; ++l) {
        const double covariance =
            ((points.row(k).array() - 0.5) * (points.row(l).array() - 0.5))
                .mean();
        CHECK(std::abs(12.0 * covariance) < 0.07);
      }
    }
  }
}

TEST("scattered points agree with a grid where both are possible") {
  for (Family family : {Family::probit, Family::gaussian}) {
    const Problem problem = two_variances(family);
    NoisePrior noise = held(0.7);
    if (family == Family::gaussian) {
      noise.held = false;
      noise.shape = noise.rate = 2.0;
    }
    SerialExecutor serial;
    EpFit fit(problem.rows, problem.prior, serial, family);
    const Hyperparameters hyper(problem.prior, noise);
    EpGrid grid(fit, hyper);
    grid.run(exact());
    EpFit again(problem.rows, problem.prior, serial, family);
    EpGrid points(again, hyper);
    points.scattered = true;
    points.run(exact());
    CHECK(points.converged());
    CHECK_NEAR(points.weights().sum(), 1.0, 1e-12);
    CHECK(points.weights()[0] == 0.0);
    CHECK(points.effective() > 0.6 * (points.points().size() - 1.0));
    CHECK_NEAR(points.log_evidence(), grid.log_evidence(), 0.03);
    const LinearMoments want = grid.mixture().linear();
    const LinearMoments got = points.mixture().linear();
    const VectorXd sd = want.theta_cov.diagonal().cwiseSqrt();
    CHECK(largest((got.theta_mean - want.theta_mean).cwiseQuotient(sd)) < 0.01);
    CHECK(largest(got.theta_cov.diagonal().cwiseSqrt().cwiseQuotient(sd) -
                  VectorXd::Ones(sd.size())) < 0.01);
    const auto moments = [&](const EpGrid& grid) {
      const VectorXd w = grid.weights();
      MatrixXd out = MatrixXd::Zero(hyper.size(), 2);
      for (Index j = 0; j < w.size(); ++j) {
        const VectorXd& x = grid.points()[j].x;
        out.col(0) += w[j] * x;
        out.col(1) += w[j] * x.cwiseAbs2();
      }
      out.col(1) = (out.col(1) - out.col(0).cwiseAbs2()).cwiseSqrt();
      return out;
    };
    const MatrixXd x = moments(grid), y = moments(points);
    CHECK(largest((y.col(0) - x.col(0)).cwiseQuotient(x.col(1))) < 0.04);
    CHECK(largest(y.col(1).cwiseQuotient(x.col(1)) -
                  VectorXd::Ones(hyper.size())) < 0.06);
    // And is left at the mode.
    points.return_to_mode();
    CHECK(largest(again.posterior().mean.x -
                  points.points()[0].moments.theta_mean) < 1e-8);
  }
}
