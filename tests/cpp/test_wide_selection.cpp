// Selection with more columns than rows, and the half t scales that keep it in
// bounds.
#include "check.hpp"
#include "gibbs/model_chain.hpp"
#include "math/cholesky.hpp"
#include "model_fit.hpp"
#include "prior/variance_prior.hpp"
#include "selection/dual/posterior.hpp"

using bayeskernel::HalfT;
using bayeskernel::VariancePrior;

namespace {
const HalfT kHalfT{4.0, 1.5};

bayeskernel::KeepGoing never_stop() {
  return [](const bayeskernel::Progress&) { return true; };
}

// Integral over log sigma^2 of the density times g.
template <class G>
double integral(const VariancePrior& prior, G&& g) {
  double sum = 0.0;
  const double step = 0.01;
  for (double x = -60.0; x < 60.0; x += step) {
    sum += step * std::exp(prior.log_density(x)) * g(x);
  }
  return sum;
}
}  // namespace

TEST("a half t scale has its density, with the mixture's slope") {
  const VariancePrior prior(0.01, 0.01, kHalfT);
  CHECK_NEAR(integral(prior, [](double) { return 1.0; }), 1.0, 1e-9);
  // E sigma of |t_4| times s: t_4 has E|t| = 1.
  CHECK_NEAR(integral(prior, [](double x) { return std::exp(0.5 * x); }), 1.5,
             1e-6);
  for (const double x : {-3.0, 0.0, 2.5}) {
    const double h = 1e-5;
    const double slope =
        (prior.log_density(x + h) - prior.log_density(x - h)) / (2.0 * h);
    CHECK_NEAR(prior.slope(x), slope, 1e-8);
    const double moved = prior.log_density(x + 0.4) - prior.log_density(x);
    const double scale = prior.log_scale_density(std::exp(-x), 0.2) -
                         prior.log_scale_density(std::exp(-x), 0.0);
    CHECK_NEAR(scale, moved, 1e-12);
  }
}

TEST("q of a half t scale is where both its factors stand still") {
  const VariancePrior prior(0.01, 0.01, kHalfT);
  for (const double count : {0.0, 1.0, 7.0}) {
    for (const double moment : {1e-9, 0.3, 1e4}) {
      const double e = prior.precision(count, moment);
      CHECK_NEAR(e * (prior.rate(e) + 0.5 * moment),
                 prior.shape() + 0.5 * count, 1e-9);
    }
  }
}

TEST("draws of a half t scale without effects have its law") {
  const VariancePrior prior(0.01, 0.01, kHalfT);
  const int draws = check::slow() ? 400000 : 100000;
  double below = 0.0, precision = 1.0, median = 0.0;
  for (double sum = 0.0; sum < 0.5; median += 1e-3) {
    sum += 1e-3 * std::exp(prior.log_density(median - 20.0));
  }
  bayeskernel::Stream stream(1, 2, bayeskernel::Purpose::variance, 3, 4);
  for (int k = 0; k < draws; ++k) {
    precision = prior.draw(stream, 0.0, 0.0, precision);
    below += -std::log(precision) < median - 20.0;
  }
  // The chain forgets a draw within a few: four standard errors of its own.
  CHECK(std::abs(below / draws - 0.5) < 4.0 * 1.2 / std::sqrt(draws));
}

TEST("with half t scales the bound of plain steps never falls") {
  for (const unsigned seed : {1U, 2U, 3U}) {
    ModelShape shape;
    shape.n = 12;
    shape.extra = 3;
    ModelProblem problem = make_model(shape, seed);
    problem.selection.half_t = kHalfT;
    problem.prior.blocks[0].half_t = kHalfT;
    bayeskernel::SerialExecutor executor;
    ModelFit fit(problem, executor);
    bayeskernel::MeanFieldSettings settings;
    settings.accelerate = false;
    settings.tolerance = 1e-12;
    const auto result = fit.run(settings, never_stop());
    CHECK(result.converged);
    CHECK(result.largest_fall < 1e-10);
    CHECK(result.bound.size() > 5);
    // Accelerated steps end at the same place or above.
    ModelFit fast(problem, executor);
    settings.accelerate = true;
    const auto quick = fast.run(settings, never_stop());
    CHECK(quick.bound.back() > result.bound.back() - 1e-6);
  }
}

TEST("the n x n form is the dense one") {
  for (const unsigned seed : {1U, 2U, 3U}) {
    Draw draw(seed);
    const Index n = 30, size = 90, fixed = seed == 3 ? 0 : 2;
    const Index p = size + fixed;
    MatrixXd x = draw.matrix(n, p);
    VectorXd w(n), odds(size), slab(size);
    const VectorXd l = draw.matrix(n, 1);
    for (Index i = 0; i < n; ++i) w[i] = 0.1 + 3.0 * draw.uniform();
    for (Index k = 0; k < size; ++k) {
      odds[k] = k % 3 == 0 ? -40.0 : k % 7 == 0 ? 45.0 : 3.0 * draw.normal();
      slab[k] = 0.2 + 2.0 * draw.uniform();
    }
    VectorXd precision = VectorXd::Zero(p), mean0 = VectorXd::Zero(p);
    for (Index k = 0; k < fixed; ++k) {
      precision[k] = k == 0 ? 1e-8 : 0.5;
      mean0[k] = 0.3 * static_cast<double>(k);
    }
    bayeskernel::WidePosterior wide(x.leftCols(fixed), x.rightCols(size),
                                    precision.head(fixed), mean0.head(fixed));
    const VectorXd inclusion = bayeskernel::expit(odds);
    wide.set(w, l, inclusion, slab);

    const MatrixXd a = x.transpose() * w.asDiagonal() * x;
    const VectorXd h = x.transpose() * l;
    VectorXd g = VectorXd::Ones(p);
    g.tail(size) = inclusion;
    MatrixXd second = g * g.transpose();
    second.diagonal() = g;
    MatrixXd full = a.cwiseProduct(second);
    full.diagonal() += precision;
    full.diagonal().tail(size) += slab;
    const Eigen::LLT<MatrixXd> llt(full);
    const MatrixXd covariance = llt.solve(MatrixXd::Identity(p, p));
    const VectorXd mu =
        llt.solve(g.cwiseProduct(h) + precision.cwiseProduct(mean0));
    CHECK_NEAR(wide.log_det, bayeskernel::log_det(llt), 1e-11);
    CHECK((wide.mean - mu.tail(size)).norm() < 1e-10 * (1.0 + mu.norm()));
    CHECK((wide.fixed_mean - mu.head(fixed)).norm() <
          1e-10 * (1.0 + mu.norm()));
    CHECK((wide.variance - covariance.diagonal().tail(size))
              .cwiseAbs()
              .maxCoeff() < 1e-10);
    CHECK((wide.covariance() - covariance).norm() <
          1e-10 * (1.0 + covariance.norm()));
    CHECK((wide.fixed_covariance - covariance.topLeftCorner(fixed, fixed))
              .norm() < 1e-9 * (1.0 + covariance.norm()));

    Selection selection;
    std::vector<Index> columns;
    for (Index k = 0; k < size; ++k) columns.push_back(fixed + k);
    selection.columns = columns;
    const bayeskernel::Indicators indicators(selection, columns, p, 0);
    bayeskernel::Curvature curvature(p, 0, 0);
    curvature.gram = a.triangularView<Eigen::Lower>();
    VectorXd expected = odds, found = odds;
    bayeskernel::IndicatorPosterior q;
    indicators.update_odds(curvature, h, VectorXd::Zero(p), mu, covariance, g,
                           q, expected);
    wide.update_odds(std::log(selection.rho / (1.0 - selection.rho)), found);
    double worst = 0.0;
    for (Index k = 0; k < size; ++k) {
      worst = std::max(worst, std::abs(found[k] - expected[k]) /
                                  (1.0 + std::abs(expected[k])));
    }
    CHECK(worst < 1e-9);

    g.tail(size) = bayeskernel::expit(expected);
    second = g * g.transpose();
    second.diagonal() = g;
    const MatrixXd moment =
        (covariance + mu * mu.transpose()).cwiseProduct(second);
    const VectorXd m = x * g.cwiseProduct(mu);
    const VectorXd s =
        ((x * moment).cwiseProduct(x)).rowwise().sum() - m.cwiseAbs2();
    VectorXd mean, variance;
    wide.rows(mean, variance);
    CHECK((mean - m).cwiseAbs().maxCoeff() < 1e-9 * (1.0 + m.norm()));
    CHECK((variance - s).cwiseAbs().maxCoeff() < 1e-9 * (1.0 + s.norm()));
  }
}

TEST("the n x n form has an answer where every column is out") {
  Draw draw(4);
  const Index n = 12, size = 20;
  const MatrixXd x = draw.matrix(n, size);
  const VectorXd w = VectorXd::Constant(n, 0.7), l = draw.matrix(n, 1);
  bayeskernel::WidePosterior wide(
      VectorXd::Ones(n), x, VectorXd::Constant(1, 1e-8), VectorXd::Zero(1));
  VectorXd odds = VectorXd::Constant(size, -60.0);
  wide.set(w, l, bayeskernel::expit(odds), VectorXd::Constant(size, 2.0));
  CHECK_NEAR(wide.fixed_mean[0], l.sum() / w.sum(), 1e-6);
  CHECK((wide.variance.array() - 0.5).abs().maxCoeff() < 1e-12);
  wide.update_odds(-60.0, odds);
  for (Index k = 0; k < size; ++k) {
    const double square = 0.7 * x.col(k).squaredNorm();
    CHECK_NEAR(odds[k], -60.0 - 0.25 * square, 1e-9);
  }
  VectorXd mean, variance;
  wide.rows(mean, variance);
  CHECK((mean.array() - wide.fixed_mean[0]).abs().maxCoeff() < 1e-12);
  CHECK((variance.array() - 1.0 / (w.sum() + 1e-8)).abs().maxCoeff() < 1e-10);
}

// sigma_v^2 moves by a share of about shape / K a pass where the data say
// little of the columns, unless it is taken to where it goes in the end.
TEST("many columns that say nothing do not delay a wide fit") {
  for (const unsigned seed : {1U, 2U, 3U}) {
    Draw draw(seed);
    const Index n = 40, size = 400;
    PackedRows rows;
    rows.x = draw.matrix(size + 1, n);
    rows.x.row(0).setOnes();
    rows.z.resize(0, n);
    rows.y.resize(n);
    rows.weight = VectorXd::Constant(n, 0.3);
    rows.offset = VectorXd::Zero(n);
    for (Index i = 0; i < n; ++i) {
      rows.y[i] = 2.0 * rows.x(1, i) + draw.normal() > 0.0 ? 1.0 : -1.0;
    }
    rows.finish({});
    Prior prior;
    prior.precision = VectorXd::Zero(size + 1);
    prior.mean = VectorXd::Zero(size + 1);
    prior.precision[0] = 1e-8;
    Selection selection;
    for (Index k = 1; k <= size; ++k) selection.columns.push_back(k);
    selection.half_t = bayeskernel::HalfT{4.0, 1.0};
    selection.rho = 0.01;
    const bayeskernel::WholeModel whole{std::make_shared<PackedRows>(rows),
                                        prior, selection, MissingPattern(),
                                        bayeskernel::RowModel()};
    bayeskernel::MeanFieldSettings settings;
    settings.max_passes = 120;
    for (const double start : {1.0, 0.5, 0.1}) {
      bayeskernel::WideFit fit(whole, VectorXd::Constant(size, start), true);
      bayeskernel::AscentSchedule schedule =
          bayeskernel::AscentSchedule::wary();
      schedule.settle = 10;
      bayeskernel::MeanFieldResult result;
      ascend(
          fit, schedule, settings,
          [&](const bayeskernel::Progress&) { return !fit.narrow(); }, result);
      CHECK(fit.narrow() || result.converged);
      CHECK(result.largest_fall < 1e-6);
    }
  }
}

TEST("a wide fit is that of the dense steps, and its bound never falls") {
  for (const unsigned seed : {1U, 2U}) {
    ModelShape shape;
    shape.n = 20;
    shape.groups = 0;
    shape.predictors = 2;
    shape.extra = 30;
    shape.holes = false;
    ModelProblem problem = make_model(shape, seed);
    problem.prior.blocks.clear();
    problem.prior.precision[1] = 1e-8;
    problem.selection.half_t = kHalfT;
    problem.selection.learn_rho = seed == 2;
    problem.selection.rho = 0.2;
    const bayeskernel::WholeModel whole{
        std::make_shared<PackedRows>(problem.rows), problem.prior,
        problem.selection, problem.holes, bayeskernel::RowModel()};
    CHECK(bayeskernel::WideFit::applies(whole));
    bayeskernel::WideFit wide(whole, VectorXd::Constant(32, 0.5), false);
    bayeskernel::MeanFieldSettings settings;
    settings.accelerate = false;
    settings.max_passes = 12;
    bayeskernel::MeanFieldResult found, expected;
    ascend(wide, bayeskernel::AscentSchedule::wary(), settings, never_stop(),
           found);
    bayeskernel::SerialExecutor executor;
    bayeskernel::Indicators indicators(problem.selection,
                                       problem.selection.columns, 34, 0);
    bayeskernel::MeanFieldFit dense(problem.rows, problem.prior, executor,
                                    &indicators);
    dense.start(expected, VectorXd::Constant(32, 0.5));
    ascend(dense, bayeskernel::AscentSchedule::wary(), settings, never_stop(),
           expected);
    CHECK(found.largest_fall < 1e-10 && found.bound.size() == 12);
    for (std::size_t k = 0; k < 11; ++k) {
      CHECK_NEAR(found.bound[k], expected.bound[k], 1e-8);
    }
  }
}

TEST("the tableau of the active columns reads as the whole one") {
  Draw draw(5);
  const Index n = 15, p = 25;
  const MatrixXd x = draw.matrix(p, n);
  VectorXd w(n), lambda(p);
  const VectorXd h = draw.matrix(p, 1);
  for (Index i = 0; i < n; ++i) w[i] = 0.1 + draw.uniform();
  for (Index k = 0; k < p; ++k) lambda[k] = 0.1 + draw.uniform();
  MatrixXd a = x * w.asDiagonal() * x.transpose();
  a.diagonal() += lambda;
  const std::vector<Index> members{3, 7, 20};
  bayeskernel::Tableau whole(p);
  whole.build(a, h, members);
  bayeskernel::ActiveTableau active(x);
  active.build(w, h, lambda, members);
  for (int step = 0; step < 200; ++step) {
    const Index k = draw.below(p);
    CHECK_NEAR(active.log_ratio(k), whole.log_ratio(k), 1e-9);
    CHECK(active.in(k) == whole.in(k));
    if (draw.uniform() < 0.5) {
      active.sweep(k);
      whole.sweep(k);
    }
  }
  const std::vector<Index> left = active.members();
  const Index q = static_cast<Index>(left.size());
  MatrixXd own(q, q);
  VectorXd shift(q), theta = VectorXd::Zero(p);
  for (Index j = 0; j < q; ++j) {
    shift[j] = h[left[j]];
    for (Index i = 0; i < q; ++i) own(i, j) = a(left[i], left[j]);
  }
  active.draw([] { return 0.0; }, theta);
  const VectorXd mean = own.llt().solve(shift);
  for (Index j = 0; j < q; ++j) CHECK_NEAR(theta[left[j]], mean[j], 1e-9);
}

TEST("wide chains have the law of dense ones") {
  ModelShape shape;
  shape.n = 10;
  shape.groups = 0;
  shape.predictors = 1;
  shape.extra = 10;
  shape.holes = false;
  ModelProblem problem = make_model(shape, 3);
  problem.selection.half_t = kHalfT;
  problem.selection.learn_rho = false;
  problem.selection.rho = 0.2;
  problem.rows.x.row(3) = 0.4 * problem.rows.x.row(3);
  for (Index i = 0; i < shape.n; ++i) {
    problem.rows.x(2, i) += 0.7 * problem.rows.y[i];
  }
  // One model twice: a held block keeps the dense form.
  Prior held = problem.prior;
  held.blocks[0].kind = Block::Kind::held;
  held.blocks[0].precision = 2.0;
  problem.prior.blocks.clear();
  problem.prior.precision[1] = 2.0;
  CHECK(bayeskernel::SelectionGibbs::wide(problem.rows, problem.prior, false));
  CHECK(!bayeskernel::SelectionGibbs::wide(problem.rows, held, false));
  bayeskernel::SerialExecutor executor;
  bayeskernel::ModelChain wide(problem.rows, problem.prior, problem.selection,
                               problem.holes, executor, 1, 0);
  bayeskernel::ModelChain dense(problem.rows, held, problem.selection,
                                problem.holes, executor, 1, 0);
  const int batches = 20, sweeps = check::slow() ? 4000 : 800;
  const Index size = problem.selection.size();
  MatrixXd found(size, batches), expected(size, batches);
  for (int b = 0; b < batches; ++b) {
    VectorXd first = VectorXd::Zero(size), second = first;
    for (int k = 0; k < sweeps; ++k) {
      wide.sweep();
      dense.sweep();
      first += wide.selection().probability / sweeps;
      second += dense.selection().probability / sweeps;
    }
    found.col(b) = first;
    expected.col(b) = second;
  }
  double largest = 0.0;
  for (Index k = 0; k < size; ++k) {
    const auto variance = [&](const MatrixXd& m) {
      return (m.row(k).array() - m.row(k).mean()).square().sum() /
             (batches - 1.0) / batches;
    };
    const double error = std::sqrt(variance(found) + variance(expected));
    CHECK(std::abs(found.row(k).mean() - expected.row(k).mean()) <
          4.5 * error + 1e-3);
    largest = std::max(largest, found.row(k).mean());
  }
  CHECK(largest > 0.4);  // there is something to tell apart
}

TEST("chains of separable data with many columns stay finite") {
  ModelShape shape;
  shape.n = 20;
  shape.groups = 0;
  shape.predictors = 1;
  shape.extra = 60;
  shape.holes = false;
  ModelProblem problem = make_model(shape, 8);
  problem.prior.blocks.clear();
  problem.prior.precision[1] = 1e-8;
  problem.selection.half_t = HalfT{4.0, 1.0};
  problem.selection.learn_rho = false;
  bayeskernel::SerialExecutor executor;
  bayeskernel::ModelChain chain(problem.rows, problem.prior, problem.selection,
                                problem.holes, executor, 4, 1);
  double highest = 0.0;
  for (int k = 0; k < 400; ++k) {
    chain.sweep();
    CHECK(chain.base().point.x.allFinite() &&
          chain.selection().probability.allFinite());
    highest = std::max(highest, -std::log(chain.selection().precision));
  }
  CHECK(highest < 12.0);
}

TEST("a search that ends wide tells what a dense one tells") {
  ModelShape shape;
  shape.n = 10;
  shape.groups = 0;
  shape.predictors = 1;
  shape.extra = 20;
  shape.holes = false;
  ModelProblem problem = make_model(shape, 4);
  problem.selection.half_t = kHalfT;
  problem.selection.learn_rho = false;
  problem.selection.rho = 0.3;
  problem.rows.weight *= 0.3;  // nothing is left out for good
  ModelProblem held = problem;
  held.prior.blocks[0].kind = Block::Kind::held;
  held.prior.blocks[0].precision = 2.0;
  problem.prior.blocks.clear();
  problem.prior.precision[1] = 2.0;
  bayeskernel::SerialExecutor executor;
  bayeskernel::MeanFieldSettings settings;
  settings.tolerance = 1e-12;
  ModelFit wide(problem, executor), dense(held, executor);
  const auto found = wide.run(settings, never_stop());
  const auto expected = dense.run(settings, never_stop());
  CHECK(found.converged && expected.converged);
  CHECK(wide.fit().posterior().mean.x.size() == 2);  // it ended wide
  CHECK_NEAR(found.bound.back(), expected.bound.back(), 1e-9);
  CHECK((wide.mean().x - dense.mean().x).norm() < 1e-4);
  CHECK((wide.theta_covariance() - dense.theta_covariance()).norm() < 1e-4);
  CHECK((wide.inclusion() - dense.inclusion()).norm() < 1e-4);
  CHECK((wide.expected_b() - dense.expected_b()).norm() < 1e-3);
}
