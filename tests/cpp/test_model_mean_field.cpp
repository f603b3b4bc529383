#include "check.hpp"
#include "model_fit.hpp"
#include "model_textbook.hpp"

using bayeskernel::Executor;
using bayeskernel::MeanFieldResult;
using bayeskernel::MeanFieldSettings;
using bayeskernel::Progress;
using bayeskernel::SerialExecutor;

static const auto always = [](const Progress&) { return true; };

struct Fitted {
  Fitted(const ModelProblem& problem, const MeanFieldSettings& settings,
         Executor& executor)
      : fit(problem, executor), result(fit.run(settings, always)) {}
  double bound() const { return result.bound.back(); }

  ModelFit fit;
  MeanFieldResult result;
};

static Fitted run(const ModelProblem& problem, double tolerance,
                  bool accelerate = true, int max_passes = 20000) {
  SerialExecutor serial;
  MeanFieldSettings settings;
  settings.tolerance = tolerance;
  settings.max_passes = max_passes;
  settings.accelerate = accelerate;
  return Fitted(problem, settings, serial);
}

// Every subset of {groups, selection, holes}.
static std::vector<ModelShape> subsets(Index n, Index extra) {
  std::vector<ModelShape> out;
  for (int bits = 0; bits < 8; ++bits) {
    ModelShape shape;
    shape.n = n;
    shape.groups = (bits & 1) ? std::max<Index>(3, n / 20) : 0;
    shape.selection = (bits & 2) != 0;
    shape.holes = (bits & 4) != 0;
    shape.extra = extra;
    out.push_back(shape);
  }
  return out;
}

// The reported fit as dense variational parameters.
static TextbookQ dense(const ModelProblem& problem, const Fitted& from) {
  const ModelFit& fit = from.fit;
  TextbookQ q;
  const Index p = problem.rows.x_columns(), r = problem.rows.z_columns();
  const Index gr = r * problem.rows.groups();
  q.mean.resize(p + gr);
  const bayeskernel::ArrowVector mean = fit.mean();
  q.mean << mean.x, Eigen::Map<const VectorXd>(mean.group.data(), gr);
  const MatrixXd theta = fit.theta_covariance(), loading = fit.loading();
  q.covariance.resize(p + gr, p + gr);
  q.covariance.topLeftCorner(p, p) = theta;
  q.covariance.topRightCorner(p, gr) = -theta * loading;
  q.covariance.bottomLeftCorner(gr, p) = -loading.transpose() * theta;
  q.covariance.bottomRightCorner(gr, gr) =
      loading.transpose() * theta * loading;
  for (Index at = 0; at < gr; at += r) {
    q.covariance.block(p + at, p + at, r, r) +=
        fit.group_inverse().middleCols(at, r);
  }
  q.variances = fit.variances();
  if (problem.selection.size() > 0) {
    q.inclusion = fit.inclusion();
    q.expected_b = fit.expected_b();
    q.shape = fit.indicators().shape;
    q.rate = fit.indicators().rate;
    q.rho_in = fit.indicators().rho_in;
    q.rho_out = fit.indicators().rho_out;
  }
  if (problem.holes.count == 0) return q;
  const bayeskernel::MissingPosterior& holes = fit.missing();
  Index at = 0;
  for (const MissingPattern::Row& row : problem.holes.rows) {
    const Index h = problem.holes.patterns[row.pattern].size();
    q.value.push_back(holes.mean.segment(row.first, h));
    q.variance.push_back(
        Eigen::Map<const MatrixXd>(holes.covariance.data() + at, h, h));
    at += h * h;
  }
  q.center = holes.center;
  q.center_cov = holes.center_cov;
  q.df = holes.df;
  q.scale = holes.scale;
  q.precision = holes.precision;
  return q;
}

TEST("plain steps are the textbook's, one by one, in every combination") {
  unsigned seed = 1;
  for (const ModelShape& shape : subsets(30, 3)) {
    const ModelProblem problem = make_model(shape, seed++);
    const Fitted fitted = run(problem, 0.0, false, 26);
    Textbook textbook(problem);
    CHECK(fitted.result.bound.size() == 25);
    for (const double bound : fitted.result.bound) {
      CHECK_NEAR(bound, textbook.step(), 1e-11);
    }
    const TextbookQ q = dense(problem, fitted);
    CHECK((q.mean - textbook.q.mean).norm() < 1e-9);
    CHECK((q.covariance - textbook.q.covariance).norm() < 1e-9);
    if (shape.selection) {
      CHECK((q.inclusion - textbook.q.inclusion).norm() < 1e-9);
      CHECK((q.expected_b - textbook.q.expected_b).norm() < 1e-9);
    }
    for (std::size_t k = 0; k < q.value.size(); ++k) {
      CHECK((q.value[k] - textbook.q.value[k]).norm() < 1e-9);
      CHECK((q.variance[k] - textbook.q.variance[k]).norm() < 1e-9);
    }
  }
}

TEST("the reported bound is the textbook bound of the reported fit") {
  for (unsigned seed = 100; seed < 104; ++seed) {
    for (const ModelShape& shape : subsets(60, 6)) {
      const ModelProblem problem = make_model(shape, seed);
      const Textbook textbook(problem);
      for (double tolerance : {1e-1, 1e-3, 1e-10}) {
        for (bool accelerate : {true, false}) {
          const Fitted fitted = run(problem, tolerance, accelerate);
          CHECK_NEAR(fitted.bound(), textbook.bound(dense(problem, fitted)),
                     1e-10);
        }
      }
    }
  }
}

TEST("the bound never falls, accelerated or not") {
  for (unsigned seed = 200; seed < 220; ++seed) {
    for (const ModelShape& shape : subsets(40, 4)) {
      const ModelProblem problem = make_model(shape, seed);
      for (bool accelerate : {true, false}) {
        const Fitted fitted = run(problem, 1e-9, accelerate);
        const std::vector<double>& bound = fitted.result.bound;
        double largest_fall = 0.0;
        for (std::size_t t = 1; t < bound.size(); ++t) {
          largest_fall = std::max(
              largest_fall, (bound[t - 1] - bound[t]) / (1.0 + -bound[t]));
        }
        CHECK(fitted.result.converged && largest_fall <= 1e-9);
      }
    }
  }
}

TEST("accelerated steps reach the plain steps' bound or a better one") {
  int passes = 0, plain_passes = 0, same = 0;
  for (unsigned seed = 300; seed < 320; ++seed) {
    for (const ModelShape& shape : subsets(60, 6)) {
      const ModelProblem problem = make_model(shape, seed);
      const Fitted fast = run(problem, 1e-12);
      const Fitted plain = run(problem, 1e-12, false);
      passes += fast.result.passes;
      plain_passes += plain.result.passes;
      CHECK(fast.bound() > plain.bound() - 1e-6);
      if (fast.bound() > plain.bound() + 1e-6) continue;
      ++same;
      const VectorXd a = fast.fit.fitted_mean(), b = plain.fit.fitted_mean();
      CHECK((a - b).norm() < 1e-4 * (1.0 + b.norm()));
    }
  }
  CHECK(same > 140);
  CHECK(4 * passes < plain_passes);
}

TEST("the moments by row are those of the reported fit") {
  for (const ModelShape& shape : subsets(40, 3)) {
    const ModelProblem problem = make_model(shape, 400);
    const Fitted fitted = run(problem, 1e-4);
    const Textbook textbook(problem);
    const TextbookQ q = dense(problem, fitted);
    for (Index i = 0; i < shape.n; ++i) {
      const auto moments = textbook.row_moments(i, q);
      CHECK_NEAR(fitted.fit.fitted_mean()[i], moments.first, 1e-10);
      CHECK_NEAR(fitted.fit.fitted_variance()[i], moments.second, 1e-10);
    }
  }
}

static bool same_bits(const Fitted& a, const Fitted& b) {
  return a.result.bound == b.result.bound && a.fit.mean().x == b.fit.mean().x &&
         a.fit.mean().group == b.fit.mean().group &&
         a.fit.theta_covariance() == b.fit.theta_covariance() &&
         a.fit.log_odds() == b.fit.log_odds() &&
         a.fit.missing().mean == b.fit.missing().mean &&
         a.fit.missing().covariance == b.fit.missing().covariance &&
         a.fit.fitted_variance() == b.fit.fitted_variance();
}

TEST("any executor gives the same bits") {
  for (const ModelShape& shape : subsets(5000, 6)) {
    const ModelProblem problem = make_model(shape, 500);
    CHECK(problem.rows.blocks() > 1);
    MeanFieldSettings settings;
    settings.tolerance = 1e-3;
    SerialExecutor serial;
    const Fitted expected(problem, settings, serial);
    ReverseExecutor reverse;
    CHECK(same_bits(Fitted(problem, settings, reverse), expected));
    for (int threads : {2, 4}) {
      ThreadExecutor executor(threads);
      CHECK(same_bits(Fitted(problem, settings, executor), expected));
    }
  }
}

// Selection columns x_k with effects by column; intercept fixed.
static ModelProblem sparse_problem(Index n, const VectorXd& effect,
                                   const VectorXd& spread, unsigned seed) {
  Draw draw(seed);
  ModelProblem out;
  const Index p = 1 + effect.size();
  PackedRows& rows = out.rows;
  rows.x = draw.matrix(p, n);
  rows.x.row(0).setOnes();
  rows.x.bottomRows(p - 1) = spread.asDiagonal() * rows.x.bottomRows(p - 1);
  rows.z.resize(0, n);
  rows.weight = VectorXd::Ones(n);
  rows.offset = VectorXd::Zero(n);
  rows.y.resize(n);
  for (Index i = 0; i < n; ++i) {
    const double f = effect.dot(rows.x.col(i).tail(p - 1)) + draw.normal();
    rows.y[i] = f > 0.0 ? 1.0 : -1.0;
  }
  out.prior.precision = VectorXd::Zero(p);
  out.prior.precision[0] = 1e-2;
  out.prior.mean = VectorXd::Zero(p);
  for (Index k = 1; k < p; ++k) out.selection.columns.push_back(k);
  rows.finish({});
  return out;
}

TEST("columns leave for the plain steps' reasons, and the fit stays whole") {
  VectorXd effect = VectorXd::Zero(30);
  effect.head(4) << 1.0, -0.7, 0.5, 2.0;
  for (unsigned seed = 600; seed < 605; ++seed) {
    const ModelProblem problem =
        sparse_problem(400, effect, VectorXd::Ones(30), seed);
    const Fitted fitted = run(problem, 1e-11);
    const Fitted plain = run(problem, 1e-11, false);
    const VectorXd inclusion = fitted.fit.inclusion();
    CHECK(inclusion.head(4).minCoeff() > 0.99);
    CHECK((inclusion.array() < 1e-12).count() > 20);
    CHECK((inclusion - plain.fit.inclusion()).norm() < 1e-6);
    CHECK_NEAR(fitted.bound(), plain.bound(), 1e-8);
    const Textbook textbook(problem);
    CHECK_NEAR(fitted.bound(), textbook.bound(dense(problem, fitted)), 1e-10);
  }
}

TEST("a column that left too early comes back") {
  // The fixed column separates the classes: rows far from the margin hardly
  // weigh, and at the end, not at the start, a column of selection costs no
  // more than before the data.
  ModelProblem problem =
      sparse_problem(1000, VectorXd::Zero(4), VectorXd::Ones(4), 700);
  PackedRows rows = problem.rows;
  problem.selection.columns.erase(problem.selection.columns.begin());
  problem.rows = PackedRows();
  rows.x.row(1) = 3.0 * rows.y.transpose();
  problem.rows.x = rows.x;
  problem.rows.z = rows.z;
  problem.rows.y = rows.y;
  problem.rows.weight = rows.weight;
  problem.rows.offset = rows.offset;
  problem.rows.finish({});
  problem.prior.precision[1] = 1e-3;
  const Fitted fast = run(problem, 1e-11);
  const Fitted plain = run(problem, 1e-11, false, 200);
  CHECK(plain.fit.log_odds().maxCoeff() < -28.0);
  CHECK(fast.fit.log_odds().minCoeff() > -10.0);
  CHECK(fast.bound() > plain.bound());
  CHECK(fast.result.converged && fast.result.passes < 200);
  const Textbook textbook(problem);
  CHECK_NEAR(fast.bound(), textbook.bound(dense(problem, fast)), 1e-10);
}

TEST("rows of no weight leave the effects alone and inform the predictors") {
  ModelShape shape;
  shape.n = 60;
  ModelProblem with = make_model(shape, 800);
  for (Index i = 40; i < 60; ++i) with.rows.weight[i] = 0.0;
  const Fitted a = run(with, 1e-11), plain = run(with, 1e-11, false);
  CHECK_NEAR(a.bound(), plain.bound(), 1e-7);
  ModelProblem other = with;
  for (Index i = 40; i < 60; ++i) other.rows.y[i] *= -1.0;
  const Fitted b = run(other, 1e-11);
  CHECK((a.fit.mean().x - b.fit.mean().x).norm() < 1e-12);
  CHECK(a.fit.missing().df == with.holes.df + 60.0);
}

TEST("an iteration cap and a refusal to go on leave a proper fit") {
  ModelShape shape;
  shape.n = 50;
  shape.extra = 6;
  const ModelProblem problem = make_model(shape, 900);
  const Textbook textbook(problem);
  for (int cap = 2; cap < 35; ++cap) {
    const Fitted fitted = run(problem, 1e-13, true, cap);
    CHECK(!fitted.result.converged && fitted.result.passes <= cap);
    CHECK_NEAR(fitted.bound(), textbook.bound(dense(problem, fitted)), 1e-10);
  }
  SerialExecutor serial;
  ModelFit fit(problem, serial);
  const MeanFieldResult result =
      fit.run(MeanFieldSettings(), [](const Progress&) { return false; });
  CHECK(result.interrupted && !result.converged && result.bound.size() == 1);
}

TEST("a fit may converge in the last pass that it is allowed") {
  for (const ModelShape& shape : subsets(60, 3)) {
    if (shape.selection) continue;
    const ModelProblem problem = make_model(shape, 1000);
    const Fitted fitted = run(problem, 1e-6);
    CHECK(fitted.result.converged);
    const Fitted capped = run(problem, 1e-6, true, fitted.result.passes);
    CHECK(capped.result.converged);
    CHECK(capped.result.passes == fitted.result.passes);
  }
}

TEST("the predicted gain of the step left is small however large the bound") {
  for (unsigned seed = 1100; seed < 1106; ++seed) {
    ModelShape shape;
    shape.n = 300;
    shape.selection = false;
    ModelProblem problem = make_model(shape, seed);
    problem.rows.weight *= 500.0;
    MeanFieldSettings settings;
    settings.tolerance = 1e-3;
    SerialExecutor serial;
    PackedRows rows = problem.rows;
    bayeskernel::MissingValues missing(problem.holes, {}, rows, serial);
    bayeskernel::MeanFieldFit fit(rows, problem.prior, serial, nullptr,
                                  &missing);
    const MeanFieldResult result = fit.run(settings, always);
    CHECK(result.converged && result.bound.back() < -2e4);
    CHECK(fit.propose(0.0) < 10.0 * settings.tolerance);
  }
}

TEST("an interrupt inside a pass is heard, with missing values too") {
  ModelShape shape;
  shape.n = 140000;
  shape.groups = 0;
  shape.selection = false;
  shape.share = 0.01;
  const ModelProblem problem = make_model(shape, 1200);
  SerialExecutor serial;
  ModelFit fit(problem, serial);
  const MeanFieldResult result = fit.run(
      MeanFieldSettings(), [](const Progress& now) { return now.done < 3.5; });
  CHECK(result.interrupted && !result.converged);
  CHECK(!result.bound.empty() && result.passes == 3);
  const VectorXd mean = fit.fitted_mean();
  CHECK(mean.allFinite() && mean.norm() > 0.0);
}
