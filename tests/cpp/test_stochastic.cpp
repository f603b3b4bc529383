#include "linear/stochastic.hpp"

#include "check.hpp"
#include "hinge_problem.hpp"

using bayeskernel::Executor;
using bayeskernel::MeanFieldFit;
using bayeskernel::MeanFieldResult;
using bayeskernel::MeanFieldSettings;
using bayeskernel::MeanFieldStart;
using bayeskernel::Minibatches;
using bayeskernel::Progress;
using bayeskernel::SerialExecutor;
using bayeskernel::StochasticFit;
using bayeskernel::StochasticSettings;

static const auto always = [](const Progress&) { return true; };

static StochasticSettings batches_of(Index rows, int epochs = 1,
                                     std::uint64_t seed = 1) {
  StochasticSettings settings;
  settings.batch_rows = rows;
  settings.epochs = epochs;
  settings.seed = seed;
  return settings;
}

static MeanFieldStart stochastic(const Problem& problem, Executor& executor,
                                 const StochasticSettings& settings) {
  StochasticFit fit(problem.rows, problem.prior, executor, settings);
  fit.run(always);
  return fit.state();
}

static Shape plain(Index n) {
  Shape shape;
  shape.n = n;
  shape.fixed = 2;
  shape.penalised = 4;
  shape.offset = shape.weights = true;
  return shape;
}

static Shape grouped(Index n, Index groups) {
  Shape shape = plain(n);
  shape.groups = groups;
  shape.width = 2;
  return shape;
}

TEST("an epoch shows every row once, in another order each time") {
  const Problem problem = make_problem(plain(150000), 1);
  Minibatches batches(problem.rows, batches_of(1000));
  std::vector<double> first_seen;
  for (int epoch = 0; epoch < 2; ++epoch) {
    VectorXd sum = VectorXd::Zero(6);
    Index rows = 0, steps = 0, largest = 0, smallest = 150000;
    const bool finished = batches.epoch(epoch, [&] {
      const PackedRows& batch = batches.rows();
      if (steps == 0) first_seen.push_back(batch.x(1, 0));
      sum += batch.x.rowwise().sum();
      rows += batch.rows();
      largest = std::max(largest, batch.rows());
      smallest = std::min(smallest, batch.rows());
      ++steps;
      return true;
    });
    CHECK(finished && rows == 150000 && steps == batches.steps_of_epoch());
    CHECK(smallest >= 500 && largest <= 1500);
    CHECK((sum - problem.rows.x.rowwise().sum()).norm() < 1e-6);
  }
  CHECK(first_seen[0] != first_seen[1]);
}

TEST("minibatches of a grouped source are whole groups") {
  const Problem problem = make_problem(grouped(20000, 900), 2);
  Minibatches batches(problem.rows, batches_of(500));
  std::vector<int> seen(900, 0);
  Index rows = 0;
  batches.epoch(0, [&] {
    const PackedRows& batch = batches.rows();
    rows += batch.rows();
    bool whole = batch.groups() == static_cast<Index>(batches.groups().size());
    for (Index g = 0; g < batch.groups(); ++g) {
      const Index from = batches.groups()[g];
      const Index begin = problem.group_begin[from];
      const Index size = problem.group_begin[from + 1] - begin;
      whole = whole && batch.group_begin(g + 1) - batch.group_begin(g) == size;
      whole = whole && batch.z.middleCols(batch.group_begin(g), size) ==
                           problem.rows.z.middleCols(begin, size);
      ++seen[from];
    }
    CHECK(whole);
    return true;
  });
  CHECK(rows == 20000);
  CHECK(std::count(seen.begin(), seen.end(), 1) == 900);
}

// Gap of the bound to the optimum where the epochs end, as a share of the gap
// where full passes start.
static double gap(const Problem& problem, const StochasticSettings& settings) {
  SerialExecutor serial;
  const MeanFieldStart start = stochastic(problem, serial, settings);
  MeanFieldSettings control;
  control.tolerance = 1e-10;
  MeanFieldFit cold(problem.rows, problem.prior, serial);
  MeanFieldFit warm(problem.rows, problem.prior, serial);
  const std::vector<double> bound = cold.run(control, always).bound;
  return (bound.back() - warm.run(control, always, &start).bound.front()) /
         (bound.back() - bound.front());
}

TEST("one epoch comes near the optimum, more epochs nearer") {
  for (unsigned seed : {31, 32, 33}) {
    const Problem problem = make_problem(plain(40000), seed);
    const double once = gap(problem, batches_of(100));
    const double often = gap(problem, batches_of(100, 8));
    CHECK(once > 0.0 && once < 0.2);
    CHECK(often > 0.0 && often < 0.3 * once);
  }
}

TEST("one epoch over whole groups comes near the optimum") {
  for (Index width : {1, 2}) {
    Shape shape = grouped(20000, 1500);
    shape.width = width;
    const Problem problem = make_problem(shape, 4);
    const double once = gap(problem, batches_of(100));
    const double often = gap(problem, batches_of(100, 5));
    CHECK(once > 0.0 && once < 0.2);
    CHECK(often > 0.0 && often < 0.5 * once);
  }
}

TEST("full passes from a stochastic start end where cold ones do") {
  std::vector<Shape> shapes{plain(3000), grouped(3000, 300), grouped(500, 3)};
  Shape kept = grouped(2000, 100);
  kept.kept_members = 5;
  kept.kept_width = 2;
  kept.held = 2;
  shapes.push_back(kept);
  Shape no_theta;
  no_theta.n = 500;
  no_theta.fixed = 0;
  no_theta.groups = 40;
  shapes.push_back(no_theta);
  unsigned seed = 10;
  for (const Shape& shape : shapes) {
    const Problem problem = make_problem(shape, ++seed);
    SerialExecutor serial;
    MeanFieldSettings control;
    control.tolerance = 1e-12;
    MeanFieldFit cold(problem.rows, problem.prior, serial);
    const MeanFieldResult a = cold.run(control, always);
    const MeanFieldStart start = stochastic(problem, serial, batches_of(256));
    MeanFieldFit warm(problem.rows, problem.prior, serial);
    const MeanFieldResult b = warm.run(control, always, &start);
    CHECK(a.converged && b.converged);
    CHECK_NEAR(b.bound.back(), a.bound.back(), 1e-9);
    CHECK(b.largest_fall <= 1e-9 * (1.0 + std::abs(b.bound.back())));
    CHECK((warm.posterior().mean.x - cold.posterior().mean.x).norm() < 1e-4);
    CHECK((warm.posterior().mean.group - cold.posterior().mean.group).norm() <
          1e-4 * (1.0 + cold.posterior().mean.group.norm()));
  }
}

TEST("a random mixture of parts survives tiny minibatches") {
  for (unsigned seed = 900; seed < 940; ++seed) {
    const Problem problem = make_problem(random_shape(seed), seed);
    SerialExecutor serial;
    MeanFieldSettings control;
    control.tolerance = 1e-11;
    const double best = MeanFieldFit(problem.rows, problem.prior, serial)
                            .run(control, always)
                            .bound.back();
    const MeanFieldStart start = stochastic(problem, serial, batches_of(4, 2));
    MeanFieldFit warm(problem.rows, problem.prior, serial);
    const MeanFieldResult result = warm.run(control, always, &start);
    CHECK(result.converged);
    CHECK_NEAR(result.bound.back(), best, 1e-6);
  }
}

TEST("the state depends on the seed, not on the threads") {
  const Problem problem = make_problem(plain(30000), 5);
  SerialExecutor serial;
  ThreadExecutor three(3);
  const auto mean = [&](Executor& executor, std::uint64_t seed) {
    return stochastic(problem, executor, batches_of(6000, 1, seed)).mean.x;
  };
  CHECK(mean(serial, 1) == mean(three, 1));
  CHECK(mean(serial, 1) != mean(serial, 2));
}

TEST("a single row and a single minibatch are no special case") {
  for (Index n : {1, 7, 300}) {
    const Problem problem = make_problem(plain(n), 6);
    SerialExecutor serial;
    const MeanFieldStart start =
        stochastic(problem, serial, batches_of(1000, 3));
    CHECK(start.mean.x.allFinite() && start.curvature.gram.norm() > 0.0);
  }
}

TEST("the epochs stop when they are told to") {
  const Problem problem = make_problem(plain(30000), 7);
  SerialExecutor serial;
  StochasticFit fit(problem.rows, problem.prior, serial, batches_of(500));
  int asked = 0;
  CHECK(!fit.run([&](const Progress&) { return ++asked < 5; }));
  CHECK(fit.steps() == 5);
}

TEST("a start that is no proper q gives way to the cold start") {
  const Problem problem = make_problem(plain(500), 8);
  SerialExecutor serial;
  MeanFieldStart start = stochastic(problem, serial, batches_of(100));
  start.curvature.gram *= -1.0;
  MeanFieldFit cold(problem.rows, problem.prior, serial);
  MeanFieldFit warm(problem.rows, problem.prior, serial);
  const MeanFieldResult a = cold.run(MeanFieldSettings(), always);
  const MeanFieldResult b = warm.run(MeanFieldSettings(), always, &start);
  CHECK(a.bound == b.bound && b.passes == a.passes + 1);
  CHECK(cold.posterior().mean.x == warm.posterior().mean.x);
}

TEST("the watched bound of whole groups is the bound of the fit") {
  // One minibatch of everything: after many steps q is the optimum.
  Shape shape;
  shape.n = 300;
  shape.fixed = 3;
  shape.groups = 12;
  shape.width = 2;
  Problem problem = make_problem(shape, 14);
  Block& group = problem.prior.blocks.back();
  group.kind = Block::Kind::unstructured;
  group.df = 1e7;  // the covariance of the groups is known
  group.scale = 1e7 * 0.5 * MatrixXd::Identity(2, 2);
  SerialExecutor serial;
  StochasticSettings settings = batches_of(1000, 400);
  settings.tolerance = 1e-12;
  StochasticFit stochastic(problem.rows, problem.prior, serial, settings);
  stochastic.run(always);
  CHECK(stochastic.bound().size() > 2);
  MeanFieldSettings control;
  MeanFieldFit fit(problem.rows, problem.prior, serial);
  CHECK_NEAR(stochastic.bound().back(), fit.run(control, always).bound.back(),
             1e-3);
}
