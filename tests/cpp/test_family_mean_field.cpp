// Mean-field fits of the families: what holds exactly between two ways to say
// the same thing.
#include "linear/mean_field.hpp"

#include "check.hpp"
#include "dense_bound.hpp"
#include "family_problem.hpp"

using bayeskernel::Completions;
using bayeskernel::MeanFieldFit;
using bayeskernel::MeanFieldResult;
using bayeskernel::MeanFieldSettings;
using bayeskernel::SerialExecutor;

// A fit together with what it points to.
struct Fitted {
  Fitted(const Problem& problem, const RowModel& model, double tolerance,
         bool accelerate = true)
      : fit(problem.rows, problem.prior, executor, nullptr, nullptr, true,
            model) {
    MeanFieldSettings settings;
    settings.tolerance = tolerance;
    settings.max_passes = 20000;
    settings.accelerate = accelerate;
    result = fit.run(settings, always);
  }
  double bound() const { return result.bound.back(); }
  // Over theta and, group by group, the group effects.
  VectorXd mean() const {
    const auto& from = fit.posterior().mean;
    VectorXd out(from.x.size() + from.group.size());
    out << from.x, from.effects();
    return out;
  }
  VectorXd variance() const {
    const auto& from = fit.posterior().mean.group;
    VectorXd out(mean().size());
    out.head(fit.posterior().mean.x.size()) = fit.posterior().theta_variance();
    Index at = fit.posterior().mean.x.size();
    for (Index g = 0; g < from.cols(); ++g, at += from.rows()) {
      out.segment(at, from.rows()) =
          fit.posterior().group_covariance(g).diagonal();
    }
    return out;
  }

  SerialExecutor executor;
  MeanFieldFit fit;
  MeanFieldResult result;
};

// Where the bound stands still to `tolerance`, q does to its root.
static void check_same(const Fitted& a, const Fitted& b, double tolerance) {
  const double root = std::sqrt(tolerance);
  CHECK(a.result.converged && b.result.converged);
  CHECK_NEAR(a.bound(), b.bound(), tolerance);
  CHECK((a.mean() - b.mean()).norm() < root * (1.0 + a.mean().norm()));
  CHECK((a.variance() - b.variance()).norm() <
        root * (1.0 + a.variance().norm()));
  CHECK_NEAR(a.fit.noise().precision, b.fit.noise().precision, root);
}

static Shape everything() {
  Shape shape;
  shape.n = 60;
  shape.fixed = 3;
  shape.penalised = 3;
  shape.held = 2;
  shape.groups = 7;
  shape.width = 2;
  shape.weights = shape.offset = true;
  return shape;
}

TEST("the bound never falls, accelerated or not") {
  for (const RowModel& model : models()) {
    for (unsigned seed = 0; seed < 40; ++seed) {
      const Problem problem = problem_of(model, random_shape(seed), seed);
      for (const bool accelerate : {true, false}) {
        const Fitted fitted(problem, model, 1e-9, accelerate);
        double fall = 0.0;
        for (std::size_t t = 1; t < fitted.result.bound.size(); ++t) {
          fall = std::max(fall,
                          fitted.result.bound[t - 1] - fitted.result.bound[t]);
        }
        CHECK(fitted.result.converged);
        CHECK(fall <= 1e-9 * (1.0 + std::abs(fitted.bound())));
      }
    }
  }
}

TEST("accelerated and plain steps end at the same place") {
  for (const RowModel& model : models()) {
    for (unsigned seed = 100; seed < 120; ++seed) {
      const Problem problem = problem_of(model, random_shape(seed), seed);
      check_same(Fitted(problem, model, 1e-13),
                 Fitted(problem, model, 1e-13, false), 1e-8);
    }
  }
}

TEST("the direct rule takes few passes and the higher bound") {
  for (const Family family : {Family::probit, Family::logit}) {
    for (unsigned seed = 130; seed < 140; ++seed) {
      Shape shape;
      shape.n = 200;
      shape.fixed = 4;
      const Problem problem = problem_of(model_of(family, true), shape, seed);
      const Fitted direct(problem, model_of(family, true), 1e-6);
      const Fitted augmented(problem, model_of(family, false), 1e-6);
      CHECK(direct.bound() > augmented.bound());
      CHECK(direct.result.converged && direct.result.passes <= 12);
    }
  }
}

TEST("a whole power is that many equal rows") {
  for (const RowModel& model : models()) {
    Problem problem = problem_of(model, everything(), 7);
    Problem repeated = problem;
    PackedRows& rows = repeated.rows;
    Index n = 0;
    for (Index i = 0; i < problem.rows.rows(); ++i) {
      problem.rows.weight[i] = static_cast<double>(1 + i % 3);
      n += 1 + i % 3;
    }
    rows.x.resize(problem.rows.x.rows(), n);
    rows.z.resize(problem.rows.z.rows(), n);
    rows.y.resize(n);
    rows.offset.resize(n);
    rows.weight = VectorXd::Ones(n);
    std::vector<Index> begin(1, 0);
    for (Index g = 0, at = 0; g < problem.rows.groups(); ++g) {
      for (Index i = problem.group_begin[g]; i < problem.group_begin[g + 1];
           ++i) {
        for (Index k = 0; k < 1 + i % 3; ++k, ++at) {
          rows.x.col(at) = problem.rows.x.col(i);
          rows.z.col(at) = problem.rows.z.col(i);
          rows.y[at] = problem.rows.y[i];
          rows.offset[at] = problem.rows.offset[i];
        }
      }
      begin.push_back(at);
    }
    rows.finish(begin);
    check_same(Fitted(problem, model, 1e-13), Fitted(repeated, model, 1e-13),
               1e-10);
  }
}

TEST("an offset along a column is a shift of its coefficient") {
  for (const RowModel& model : models()) {
    const Problem problem = problem_of(model, everything(), 11);
    Problem shifted = problem;
    shifted.rows.offset += 0.8 * problem.rows.x.row(1).transpose();
    shifted.prior.mean[1] -= 0.8;
    const Fitted a(problem, model, 1e-13), b(shifted, model, 1e-13);
    CHECK_NEAR(a.bound(), b.bound(), 1e-10);
    CHECK_NEAR(a.mean()[1], b.mean()[1] + 0.8, 1e-5);
    CHECK((a.fit.mean() - b.fit.mean()).norm() <
          1e-5 * (1.0 + a.fit.mean().norm()));
  }
}

TEST("eliminated groups are columns of their own") {
  for (const RowModel& model : models()) {
    const Problem problem = problem_of(model, everything(), 13);
    check_same(Fitted(problem, model, 1e-13),
               Fitted(dense_twin(problem), model, 1e-13), 1e-10);
  }
}

TEST("known noise: the bound is the log density of the data, in one step") {
  RowModel model = model_of(Family::gaussian, false);
  model.noise.held = true;
  model.noise.precision = 2.3;
  Shape shape;
  shape.n = 30;
  shape.fixed = 3;
  shape.held = 2;
  shape.groups = 5;
  shape.offset = shape.weights = true;
  Problem problem = problem_of(model, shape, 17);
  for (Block& block : problem.prior.blocks) {
    block.kind = Block::Kind::held;
  }
  const Problem dense = dense_twin(problem);
  const Prior& prior = dense.prior;
  const PackedRows& rows = dense.rows;
  const Index n = rows.rows(), p = rows.x_columns();
  VectorXd precision = prior.precision;
  for (const Block& block : prior.blocks) {
    precision.segment(block.first, block.members).setConstant(block.precision);
  }
  // N(y; f, v)^w = N(y; f, v / w) times what does not depend on f.
  MatrixXd covariance =
      rows.x.transpose() * precision.cwiseInverse().asDiagonal() * rows.x;
  double rest = 0.0;
  const double v = 1.0 / model.noise.precision;
  for (Index i = 0; i < n; ++i) {
    covariance(i, i) += v / rows.weight[i];
    rest += 0.5 * (1.0 - rows.weight[i]) * std::log(2.0 * M_PI * v) -
            0.5 * std::log(rows.weight[i]);
  }
  const VectorXd gap =
      rows.y - rows.offset - rows.x.transpose() * prior.mean.head(p);
  const double density =
      rest -
      0.5 * (static_cast<double>(n) * std::log(2.0 * M_PI) +
             log_det_dense(covariance) + gap.dot(covariance.llt().solve(gap)));
  const Fitted fitted(problem, model, 1e-9);
  CHECK_NEAR(fitted.result.bound[0], density, 1e-12);
  CHECK_NEAR(fitted.bound(), density, 1e-12);
  CHECK(fitted.result.passes == 2);  // that of the start is the other
}

TEST("learned noise: the bound is the textbook bound") {
  const RowModel model = model_of(Family::gaussian, false);
  for (unsigned seed = 20; seed < 30; ++seed) {
    const Problem problem =
        dense_twin(problem_of(model, random_shape(seed), seed));
    for (const double tolerance : {1e-3, 1e-10}) {
      const Fitted fitted(problem, model, tolerance);
      const DenseQ q{fitted.mean(), fitted.fit.posterior().theta_covariance(),
                     fitted.fit.variances()};
      const bayeskernel::NoisePosterior& noise = fitted.fit.noise();
      // The noise is a block whose members are the residuals.
      Block block;
      block.shape = model.noise.shape;
      block.rate = model.noise.rate;
      BlockPosterior v;
      v.shape = noise.shape;
      v.rate = noise.rate;
      const double e_log = std::log(v.rate) - boost::math::digamma(v.shape);
      double bound = dense_bound(problem, q) + block_term(block, q, v);
      for (Index i = 0; i < problem.rows.rows(); ++i) {
        const double m =
            problem.rows.offset[i] + q.mean.dot(problem.rows.x.col(i));
        const double s =
            problem.rows.x.col(i).dot(q.covariance * problem.rows.x.col(i));
        const double slack = 1.0 - problem.rows.y[i] * m;
        const double gap = problem.rows.y[i] - m, w = problem.rows.weight[i];
        // Out go the rows of the hinge, in come Gaussian ones.
        bound += w * (slack + std::sqrt(slack * slack + s)) -
                 0.5 * w *
                     (std::log(2.0 * M_PI) + e_log +
                      v.shape / v.rate * (gap * gap + s));
      }
      CHECK_NEAR(fitted.bound(), bound, 1e-11);
      CHECK_NEAR(noise.shape,
                 model.noise.shape + 0.5 * problem.rows.weight.sum(), 1e-12);
    }
  }
}

// Every row is `copies` completions of equal probability.
static Problem with_completions(const Problem& problem, Index copies,
                                Completions& units) {
  Problem out;
  out.prior = problem.prior;
  const Index n = problem.rows.rows();
  out.rows.x.resize(problem.rows.x.rows(), n * copies);
  out.rows.z.resize(problem.rows.z.rows(), n * copies);
  for (VectorXd* v : {&out.rows.y, &out.rows.weight, &out.rows.offset}) {
    v->resize(n * copies);
  }
  units.log_prior.setConstant(n * copies,
                              -std::log(static_cast<double>(copies)));
  units.unit.resize(n * copies);
  for (Index i = 0; i < n * copies; ++i) {
    const Index from = i / copies;
    out.rows.x.col(i) = problem.rows.x.col(from);
    out.rows.z.col(i) = problem.rows.z.col(from);
    out.rows.y[i] = problem.rows.y[from];
    out.rows.weight[i] = problem.rows.weight[from];
    out.rows.offset[i] = problem.rows.offset[from];
    units.unit[i] = from;
  }
  for (const Index g : problem.group_begin) {
    out.group_begin.push_back(g * copies);
  }
  out.rows.finish(out.group_begin, units.unit);
  return out;
}

TEST("equal completions are one row") {
  for (const RowModel& model : models()) {
    // More rows than one tile has, so that tiles end between units.
    for (const Index groups : {0, 7}) {
      Shape shape = everything();
      shape.n = 230;
      shape.groups = groups;
      const Problem problem = problem_of(model, shape, 19);
      Completions units;
      const Problem completions = with_completions(problem, 7, units);
      for (const auto& span : completions.rows.tiles()) {
        CHECK(span.row_begin % 7 == 0 && span.row_end % 7 == 0);
      }
      RowModel with = model;
      with.completions = &units;
      const Fitted one(problem, model, 1e-13), many(completions, with, 1e-13);
      check_same(one, many, 1e-10);
      const VectorXd& share = many.fit.accepted().responsibility;
      CHECK((share.array() - 1.0 / 7.0).abs().maxCoeff() < 1e-12);
    }
  }
}

// CompletedRows that differ in the second column, three to every third row.
static Problem with_holes(const RowModel& model, unsigned seed,
                          Completions& units) {
  const Problem problem = problem_of(model, everything(), seed);
  Problem out = with_completions(problem, 3, units);
  Draw draw(seed);
  for (Index i = 0; i < out.rows.rows(); ++i) {
    if (units.unit[i] % 3 > 0) continue;
    out.rows.x(1, i) += draw.normal();
    units.log_prior[i] = std::log(i % 3 == 1 ? 0.6 : 0.2);
  }
  return out;
}

TEST("with holes the bound never falls, and steps of any kind end together") {
  for (RowModel model : models()) {
    for (unsigned seed = 40; seed < 46; ++seed) {
      Completions units;
      const Problem problem = with_holes(model, seed, units);
      model.completions = &units;
      const Fitted fast(problem, model, 1e-12);
      const Fitted plain(problem, model, 1e-12, false);
      CHECK(fast.result.converged && plain.result.converged);
      CHECK(fast.result.largest_fall < 1e-9 * (1.0 + std::abs(fast.bound())));
      CHECK(plain.result.largest_fall < 1e-9 * (1.0 + std::abs(fast.bound())));
      CHECK_NEAR(fast.bound(), plain.bound(), 1e-8);
      const VectorXd& share = fast.fit.accepted().responsibility;
      for (Index i = 0; i < share.size(); i += 3) {
        CHECK_NEAR(share.segment(i, 3).sum(), 1.0, 1e-12);
      }
    }
  }
}

TEST("completions of a row without weight keep their prior") {
  const RowModel logit = model_of(Family::logit, true);
  Completions units;
  Problem problem = with_holes(logit, 51, units);
  problem.rows.weight.head(3).setZero();
  RowModel model = logit;
  model.completions = &units;
  const Fitted fitted(problem, model, 1e-9);
  CHECK((fitted.fit.accepted().responsibility.head(3).array().log() -
         units.log_prior.head(3).array())
            .abs()
            .maxCoeff() < 1e-12);
}

TEST("threads and their order do not change a fit by a bit") {
  RowModel model = model_of(Family::logit, true);
  Shape shape = everything();
  shape.n = 9000;
  const Problem problem = problem_of(model, shape, 61);
  Completions units;
  const Problem completions = with_completions(problem, 2, units);
  model.completions = &units;
  MeanFieldSettings settings;
  settings.max_passes = 4;
  SerialExecutor serial;
  MeanFieldFit one(completions.rows, completions.prior, serial, nullptr,
                   nullptr, true, model);
  one.run(settings, always);
  ReverseExecutor reverse;
  ThreadExecutor threads(3);
  for (bayeskernel::Executor* executor :
       {static_cast<bayeskernel::Executor*>(&reverse),
        static_cast<bayeskernel::Executor*>(&threads)}) {
    MeanFieldFit other(completions.rows, completions.prior, *executor, nullptr,
                       nullptr, true, model);
    other.run(settings, always);
    CHECK(one.bound() == other.bound());
    CHECK(one.posterior().mean.x == other.posterior().mean.x);
    CHECK(one.accepted().responsibility == other.accepted().responsibility);
  }
}
