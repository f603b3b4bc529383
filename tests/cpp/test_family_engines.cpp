// The families in the engines beside the mean-field fit itself: crossed random
// effects, minibatches, selection, and processes whose residuals follow their
// variance.
#include <boost/math/distributions/students_t.hpp>

#include "check.hpp"
#include "crossed_problem.hpp"
#include "family_problem.hpp"
#include "linear/crossed/mean_field.hpp"
#include "linear/stochastic.hpp"
#include "selection/search.hpp"

using bayeskernel::ColumnSearch;
using bayeskernel::Completions;
using bayeskernel::ConditionalVariance;
using bayeskernel::CrossedMeanField;
using bayeskernel::HalfT;
using bayeskernel::MeanFieldFit;
using bayeskernel::MeanFieldResult;
using bayeskernel::MeanFieldSettings;
using bayeskernel::MeanFieldStart;
using bayeskernel::MissingPattern;
using bayeskernel::Selection;
using bayeskernel::SerialExecutor;
using bayeskernel::StochasticFit;
using bayeskernel::StochasticSettings;

static MeanFieldSettings settings(double tolerance, bool accelerate = true) {
  MeanFieldSettings out;
  out.tolerance = tolerance;
  out.accelerate = accelerate;
  out.max_passes = 20000;
  return out;
}

TEST("nested terms of any family give what dense columns give") {
  SerialExecutor serial;
  for (const RowModel& model : models()) {
    for (const bool single : {true, false}) {
      CrossedShape shape;
      shape.n = 250;
      shape.nested = shape.weights = true;
      shape.levels =
          single ? std::vector<Index>{20} : std::vector<Index>{20, 6};
      shape.widths = single ? std::vector<Index>{2} : std::vector<Index>{1, 2};
      CrossedProblem problem = make_crossed(shape, 8);
      set_responses(model, 8, problem.rows.dense);
      const Problem twin = dense_twin(problem);
      CrossedMeanField fit(problem.rows, problem.prior, serial, model);
      MeanFieldFit dense(twin.rows, twin.prior, serial, nullptr, nullptr, true,
                         model);
      const MeanFieldResult result = fit.run(settings(1e-10), always);
      CHECK(result.converged);
      CHECK(result.largest_fall <=
            1e-8 * (1.0 + std::abs(result.bound.back())));
      CHECK_NEAR(result.bound.back(),
                 dense.run(settings(1e-10), always).bound.back(), 1e-8);
      CHECK_NEAR((fit.mean() - dense.mean()).norm(), 0.0, 2e-4);
      CHECK_NEAR((fit.variance() - dense.variance()).norm(), 0.0, 2e-4);
      CHECK_NEAR(fit.noise().precision, dense.noise().precision, 1e-5);
    }
  }
}

TEST("crossed terms of any family converge from plain steps, too") {
  SerialExecutor serial;
  for (const RowModel& model : models()) {
    CrossedShape shape;
    shape.n = 300;
    shape.levels = {25, 12};
    CrossedProblem problem = make_crossed(shape, 3);
    set_responses(model, 3, problem.rows.dense);
    CrossedMeanField fast(problem.rows, problem.prior, serial, model);
    CrossedMeanField plain(problem.rows, problem.prior, serial, model);
    const MeanFieldResult a = fast.run(settings(1e-9), always);
    const MeanFieldResult b = plain.run(settings(1e-7, false), always);
    CHECK(a.converged && b.converged && a.passes < b.passes);
    CHECK_NEAR(a.bound.back(), b.bound.back(), 1e-4);
  }
}

TEST("crossed terms with equal completions are those with complete rows") {
  SerialExecutor serial;
  for (RowModel model : models()) {
    CrossedShape shape;
    shape.n = 200;
    shape.levels = {15, 8};
    CrossedProblem problem = make_crossed(shape, 5);
    set_responses(model, 5, problem.rows.dense);
    bayeskernel::CrossedRows completions;
    Completions units;
    const Index copies = 3, n = copies * shape.n;
    const PackedRows& from = problem.rows.dense;
    PackedRows& to = completions.dense;
    to.x.resize(from.x.rows(), n);
    to.z.resize(0, n);
    to.y.resize(n);
    to.weight = VectorXd::Ones(n);
    to.offset = VectorXd::Zero(n);
    completions.z.resize(problem.rows.z.rows(), n);
    completions.column.resize(problem.rows.z.rows(), n);
    units.log_prior.setConstant(n, -std::log(3.0));
    for (Index i = 0; i < n; ++i) {
      to.x.col(i) = from.x.col(i / copies);
      to.y[i] = from.y[i / copies];
      completions.z.col(i) = problem.rows.z.col(i / copies);
      completions.column.col(i) = problem.rows.column.col(i / copies);
      units.unit.push_back(i / copies);
    }
    completions.terms = problem.rows.terms;
    to.finish({});
    completions.finish(units.unit);
    RowModel with = model;
    with.completions = &units;
    CrossedMeanField rows(problem.rows, problem.prior, serial, model);
    CrossedMeanField fit(completions, problem.prior, serial, with);
    const MeanFieldResult a = rows.run(settings(1e-10), always);
    const MeanFieldResult b = fit.run(settings(1e-10), always);
    CHECK(a.converged && b.converged);
    CHECK_NEAR(a.bound.back(), b.bound.back(), 1e-8);
    CHECK_NEAR((rows.theta() - fit.theta()).norm(), 0.0, 1e-4);
    CHECK((fit.responsibility().array() - 1.0 / 3.0).abs().maxCoeff() < 1e-12);
  }
}

TEST("from minibatches full passes of any family reach the optimum") {
  SerialExecutor serial;
  for (const RowModel& model : models()) {
    for (const Index groups : {0, 300}) {
      Shape shape;
      shape.n = 6000;
      shape.fixed = 4;
      shape.groups = groups;
      const Problem problem = problem_of(model, shape, 21);
      MeanFieldFit cold(problem.rows, problem.prior, serial, nullptr, nullptr,
                        true, model);
      MeanFieldFit warm(problem.rows, problem.prior, serial, nullptr, nullptr,
                        true, model);
      const MeanFieldResult best = cold.run(settings(1e-9), always);
      StochasticSettings batches;
      batches.batch_rows = 300;
      batches.epochs = 3;
      StochasticFit epochs(problem.rows, problem.prior, serial, batches,
                           nullptr, model);
      CHECK(epochs.run(always));
      const MeanFieldStart start = epochs.state();
      // Steps with weights that are the curvature are Newton's; the other rules
      // creep.
      if (groups == 0 && (model.direct || model.family == Family::gaussian)) {
        const VectorXd sd = cold.posterior().theta_variance().cwiseSqrt();
        const VectorXd gap = start.mean.x - cold.posterior().mean.x;
        CHECK((gap.array() / sd.array()).abs().maxCoeff() < 0.5);
      }
      if (model.learns_noise()) {
        CHECK_NEAR(start.noise.precision / cold.noise().precision, 1.0, 0.05);
        CHECK_NEAR(start.noise.shape / cold.noise().shape, 1.0, 0.02);
      }
      const MeanFieldResult result = warm.run(settings(1e-9), always, &start);
      CHECK(result.converged);
      CHECK_NEAR(result.bound.back(), best.bound.back(), 1e-9);
    }
  }
}

static Problem selection_problem(const RowModel& model, Selection& selection) {
  Shape shape;
  shape.n = 150;
  shape.fixed = 9;
  Problem out = problem_of(model, shape, 31);
  for (Index k = 1; k < 9; ++k) {
    selection.columns.push_back(k);
    out.prior.precision[k] = out.prior.mean[k] = 0.0;
  }
  selection.shape = selection.rate = 1.0;
  selection.rho = 0.3;
  return out;
}

TEST("selection with equal completions is selection with complete rows") {
  SerialExecutor serial;
  for (RowModel model : models()) {
    Selection selection;
    const Problem problem = selection_problem(model, selection);
    const Index n = problem.rows.rows();
    PackedRows doubled;
    doubled.x.resize(problem.rows.x.rows(), 2 * n);
    doubled.z.resize(0, 2 * n);
    doubled.y.resize(2 * n);
    doubled.weight = VectorXd::Ones(2 * n);
    doubled.offset = VectorXd::Zero(2 * n);
    Completions units;
    units.log_prior.setConstant(2 * n, -std::log(2.0));
    for (Index i = 0; i < 2 * n; ++i) {
      doubled.x.col(i) = problem.rows.x.col(i / 2);
      doubled.y[i] = problem.rows.y[i / 2];
      units.unit.push_back(i / 2);
    }
    doubled.finish({}, units.unit);
    const MissingPattern complete;
    if (model.may_overshoot()) {
      CHECK_THROWS(ColumnSearch(problem.rows, problem.prior, selection,
                                complete, serial, model),
                   bayeskernel::ArgumentError);
      continue;
    }
    ColumnSearch rows(problem.rows, problem.prior, selection, complete, serial,
                      model);
    const MeanFieldResult a = rows.run(settings(1e-11), always);
    model.completions = &units;
    ColumnSearch completions(doubled, problem.prior, selection, complete,
                             serial, model);
    const MeanFieldResult b = completions.run(settings(1e-11), always);
    CHECK(a.converged && b.converged);
    CHECK(a.largest_fall <= 1e-9 * (1.0 + std::abs(a.bound.back())));
    CHECK_NEAR(a.bound.back(), b.bound.back(), 1e-8);
    CHECK((rows.inclusion() - completions.inclusion()).cwiseAbs().maxCoeff() <
          1e-5);
    CHECK((rows.mean().x - completions.mean().x).norm() < 1e-4);
    // Some are in and some are out, else nothing was tested.
    CHECK(rows.inclusion().maxCoeff() > 0.99);
    CHECK(rows.inclusion().minCoeff() < 0.5);
  }
}

// Log density of log sigma^2 where the variance is IG(1, 1), or sigma half t.
static double log_density(double t, const HalfT& half_t) {
  if (half_t.df == 0.0) return -std::log(t) - 1.0 / t;
  const boost::math::students_t law(half_t.df);
  const double sd = std::sqrt(t);
  return std::log(pdf(law, sd / half_t.scale) * sd / half_t.scale);
}

TEST("residuals follow the variance of their process to its optimum") {
  SerialExecutor serial;
  for (const HalfT half_t : {HalfT(), HalfT{4.0, 2.5}, HalfT{4.0, 0.1}})
    for (RowModel model : models()) {
      Shape shape;
      shape.n = 120;
      shape.fixed = 1;
      shape.penalised = 6;
      Problem problem = problem_of(model, shape, 41);
      Block& block = problem.prior.blocks[0];
      block.kind = Block::Kind::point;
      block.shape = block.rate = 1.0;
      block.half_t = half_t;
      Draw draw(42);
      MatrixXd share(120, 1);
      for (Index i = 0; i < 120; ++i) share(i, 0) = 0.5 * draw.uniform();
      ConditionalVariance open(problem.rows.residual, 120, problem.prior,
                               share);
      model.open = &open;
      MeanFieldFit fit(problem.rows, problem.prior, serial, nullptr, nullptr,
                       true, model);
      const MeanFieldResult result = fit.run(settings(1e-12), always);
      CHECK(result.converged);
      CHECK(result.largest_fall <=
            1e-9 * (1.0 + std::abs(result.bound.back())));
      const double variance = fit.variances()[0].value;
      // The bound at a variance that is held, and its prior's density.
      const auto bound = [&](double t) {
        Problem held = problem;
        Block& known = held.prior.blocks[0];
        known.kind = Block::Kind::held;
        known.precision = 1.0 / t;
        held.rows.residual = t * share;
        RowModel rows = model;
        rows.open = nullptr;
        MeanFieldFit at(held.rows, held.prior, serial, nullptr, nullptr, true,
                        rows);
        return at.run(settings(1e-12), always).bound.back() +
               log_density(t, half_t);
      };
      const double best = bound(variance);
      CHECK_NEAR(result.bound.back(), best, 1e-8);
      CHECK(bound(1.02 * variance) < best && bound(variance / 1.02) < best);
    }
}
