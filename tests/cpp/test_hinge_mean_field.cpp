#include "prior/wide_block.hpp"
#include "linear/mean_field.hpp"

#include "check.hpp"
#include "dense_bound.hpp"
#include "hinge_problem.hpp"

using bayeskernel::Executor;
using bayeskernel::MeanFieldFit;
using bayeskernel::MeanFieldResult;
using bayeskernel::MeanFieldSettings;
using bayeskernel::Progress;
using bayeskernel::SerialExecutor;

static const auto always = [](const Progress&) { return true; };

// A fit together with what it points to.
struct Fitted {
  Fitted(const Problem& problem, const MeanFieldSettings& settings,
         Executor& executor)
      : fit(problem.rows, problem.prior, executor),
        result(fit.run(settings, always)) {}
  double bound() const { return result.bound.back(); }
  // Mean and covariance over theta and, group by group, the group effects.
  VectorXd mean() const {
    const auto& from = fit.posterior().mean;
    VectorXd out(from.x.size() + from.group.size());
    out.head(from.x.size()) = from.x;
    out.tail(from.group.size()) =
        Eigen::Map<const VectorXd>(from.group.data(), from.group.size());
    return out;
  }
  MatrixXd covariance() const {
    const MatrixXd theta = fit.posterior().theta_covariance();
    const MatrixXd& loading = fit.system().loading();
    const MatrixXd& inverse = fit.system().group_inverse();
    const Index p = theta.rows(), r = inverse.rows(), gr = inverse.cols();
    MatrixXd out(p + gr, p + gr);
    out.topLeftCorner(p, p) = theta;
    out.topRightCorner(p, gr) = -theta * loading;
    out.bottomLeftCorner(gr, p) = -loading.transpose() * theta;
    out.bottomRightCorner(gr, gr) = loading.transpose() * theta * loading;
    for (Index at = 0; at < gr; at += r) {
      out.block(p + at, p + at, r, r) += inverse.middleCols(at, r);
    }
    return out;
  }

  MeanFieldFit fit;
  MeanFieldResult result;
};

static Fitted run(const Problem& problem, double tolerance,
                  bool accelerate = true) {
  SerialExecutor serial;
  MeanFieldSettings settings;
  settings.tolerance = tolerance;
  settings.max_passes = 20000;
  settings.accelerate = accelerate;
  return Fitted(problem, settings, serial);
}

static Shape everything() {
  Shape shape;
  shape.n = 60;
  shape.fixed = 3;
  shape.penalised = 3;
  shape.held = 2;
  shape.kept_members = 3;
  shape.kept_width = 2;
  shape.groups = 7;
  shape.width = 2;
  shape.weights = shape.offset = true;
  return shape;
}

// Every other one has half t standard deviations.
static Problem any_problem(unsigned seed) {
  const Problem out = make_problem(random_shape(seed), seed);
  return seed % 2 == 0 ? out : with_half_t(out, seed % 4 == 1 ? 4.0 : 2.0);
}

// Columns x = T'^-1 z of the parts z with theta = T c: theta'x = c'z.
TEST("a coupled block is that of independent parts of its columns") {
  Shape shape;
  shape.held = 3;
  shape.groups = 5;
  shape.weights = shape.offset = true;
  for (unsigned seed = 0; seed < 20; ++seed) {
    const Problem parts = make_problem(shape, seed);
    Draw draw(seed + 1000);
    const MatrixXd turn = draw.positive_definite(3) + draw.matrix(3, 3) * 0.2;
    const MatrixXd back = turn.inverse();
    Problem columns = parts;
    columns.rows.x.middleRows(2, 3) =
        back.transpose() * parts.rows.x.middleRows(2, 3);
    Block& block = columns.prior.blocks[0];
    block.members = 1;
    block.width = 3;
    block.coupled = block.precision * back.transpose() * back;
    const Fitted one = run(parts, 1e-12), other = run(columns, 1e-12);
    CHECK_NEAR(other.bound(), one.bound(), 1e-6);
    VectorXd expected = one.mean();
    expected.segment(2, 3) = turn * expected.segment(2, 3).eval();
    CHECK((other.mean() - expected).norm() < 1e-4 * (1.0 + expected.norm()));
    const MatrixXd cov = other.covariance().block(2, 2, 3, 3);
    const MatrixXd own =
        turn * one.covariance().block(2, 2, 3, 3) * turn.transpose();
    CHECK((cov - own).norm() < 1e-4 * own.norm());
  }
}

TEST("the bound never falls, accelerated or not, over 200 random problems") {
  for (unsigned seed = 0; seed < 200; ++seed) {
    const Problem problem = any_problem(seed);
    for (bool accelerate : {true, false}) {
      const Fitted fitted = run(problem, 1e-9, accelerate);
      double largest_fall = 0.0;
      for (std::size_t t = 1; t < fitted.result.bound.size(); ++t) {
        const double fall = fitted.result.bound[t - 1] - fitted.result.bound[t];
        largest_fall = std::max(
            largest_fall, fall / (1.0 + std::abs(fitted.result.bound[t])));
      }
      CHECK(fitted.result.converged && largest_fall <= 1e-9);
    }
  }
}

TEST("accelerated and plain steps end at the same place") {
  for (unsigned seed = 200; seed < 260; ++seed) {
    const Problem problem = any_problem(seed);
    const Fitted fast = run(problem, 1e-13), plain = run(problem, 1e-13, false);
    CHECK_NEAR(fast.bound() - plain.bound(), 0.0, 1e-7);
    CHECK((fast.mean() - plain.mean()).cwiseAbs().maxCoeff() <
          1e-5 * (1.0 + plain.mean().cwiseAbs().maxCoeff()));
    CHECK(fast.result.passes <= plain.result.passes + 2);
  }
}

TEST("the reported bound is the textbook bound of the reported fit") {
  for (unsigned seed = 300; seed < 360; ++seed) {
    const Problem problem = any_problem(seed);
    for (double tolerance : {1e-3, 1e-10}) {
      const Fitted fitted = run(problem, tolerance);
      const DenseQ q{fitted.mean(), fitted.covariance(),
                     fitted.fit.variances()};
      CHECK_NEAR(fitted.bound(), dense_bound(dense_twin(problem), q), 1e-11);
    }
  }
}

// Central difference of the bound when `at` moves by 2 `step`.
template <class Bound>
static double slope(double& at, double step, Bound&& bound) {
  const double middle = at;
  at = middle + step;
  const double up = bound();
  at = middle - step;
  const double down = bound();
  at = middle;
  return (up - down) / (2.0 * step);
}

TEST("every derivative of the textbook bound vanishes at the fixed point") {
  std::vector<Shape> shapes{everything()};
  for (unsigned seed = 0; seed < 12; ++seed) {
    shapes.push_back(random_shape(400 + seed));
  }
  unsigned seed = 400;
  for (const Shape& shape : shapes) {
    Problem problem = make_problem(shape, seed++);
    if (seed % 2 == 1) problem = with_half_t(problem, 4.0);
    const Fitted fitted = run(problem, 1e-13);
    const Problem dense = dense_twin(problem);
    DenseQ q{fitted.mean(), fitted.covariance(), fitted.fit.variances()};
    const auto bound = [&] { return dense_bound(dense, q); };
    const VectorXd sd = q.covariance.diagonal().cwiseSqrt();
    double steepest = 0.0;  // in standard deviations and relative changes
    const auto look = [&](double& at, double scale) {
      steepest =
          std::max(steepest, std::abs(scale * slope(at, 1e-5 * scale, bound)));
    };
    for (Index k = 0; k < q.mean.size(); ++k) {
      look(q.mean[k], sd[k]);
      look(q.covariance(k, k), sd[k] * sd[k]);
      for (Index j = 0; j < k; ++j) {
        const double scale = 1e-5 * sd[j] * sd[k];
        const MatrixXd middle = q.covariance;
        double difference = 0.0;
        for (double sign : {1.0, -1.0}) {
          q.covariance(j, k) = q.covariance(k, j) = middle(j, k) + sign * scale;
          difference += sign * bound();
        }
        q.covariance = middle;
        steepest = std::max(steepest, std::abs(difference / 2e-5));
      }
    }
    for (std::size_t l = 0; l < q.variances.size(); ++l) {
      BlockPosterior& v = q.variances[l];
      if (dense.prior.blocks[l].kind == Block::Kind::iid) {
        look(v.shape, v.shape);
        look(v.rate, v.rate);
      } else if (dense.prior.blocks[l].kind == Block::Kind::unstructured) {
        look(v.df, v.df);
        for (Index k = 0; k < v.scale.rows(); ++k) {
          look(v.scale(k, k), v.scale(k, k));
        }
      }
    }
    CHECK_NEAR(steepest, 0.0, 2e-5);
  }
}

TEST("group effects eliminated or as columns of theta give the same fit") {
  for (unsigned seed = 500; seed < 540; ++seed) {
    Shape shape = random_shape(seed);
    shape.groups = 1 + static_cast<Index>(seed % 11);
    const Problem problem = make_problem(shape, seed);
    const Fitted arrow = run(problem, 1e-12);
    const Fitted dense = run(dense_twin(problem), 1e-12);
    CHECK_NEAR(arrow.bound(), dense.bound(), 1e-9);
    CHECK((arrow.mean() - dense.mean()).norm() <
          1e-4 * (1 + dense.mean().norm()));
    CHECK((arrow.covariance() - dense.covariance()).norm() <
          1e-4 * (1 + dense.covariance().norm()));
    CHECK((arrow.fit.mean() - dense.fit.mean()).norm() <
          1e-4 * (1 + dense.fit.mean().norm()));
    CHECK((arrow.fit.variance() - dense.fit.variance()).norm() <
          1e-4 * (1 + dense.fit.variance().norm()));
  }
}

TEST("elimination changes no step: plain iterations agree one by one") {
  const Problem problem = make_problem(everything(), 11);
  const Fitted arrow = run(problem, 1e-8, false);
  const Fitted dense = run(dense_twin(problem), 1e-8, false);
  CHECK(arrow.result.bound.size() == dense.result.bound.size());
  for (std::size_t t = 0; t < arrow.result.bound.size(); ++t) {
    CHECK_NEAR(arrow.result.bound[t], dense.result.bound[t], 1e-12);
  }
}

TEST("a group column that is zero leaves the fit without groups as it is") {
  Shape shape = everything();
  shape.groups = 0;
  const Problem without = make_problem(shape, 21);
  Problem with = without;
  with.rows = PackedRows();
  with.rows.x = without.rows.x;
  with.rows.y = without.rows.y;
  with.rows.weight = without.rows.weight;
  with.rows.offset = without.rows.offset;
  with.rows.z = MatrixXd::Zero(1, shape.n);
  with.rows.finish({0, 20, 60});
  Block held;  // known variance: its terms of the bound cancel
  held.kind = Block::Kind::held;
  held.eliminated = true;
  held.members = 2;
  with.prior.blocks.push_back(held);
  const Fitted a = run(with, 1e-12), b = run(without, 1e-12);
  CHECK_NEAR(a.bound(), b.bound(), 1e-12);
  CHECK((a.mean().head(b.mean().size()) - b.mean()).norm() < 1e-8);
}

static bool same_bits(const Fitted& a, const Fitted& b) {
  return a.result.bound == b.result.bound && a.mean() == b.mean() &&
         a.covariance() == b.covariance() && a.fit.mean() == b.fit.mean() &&
         a.fit.variance() == b.fit.variance();
}

TEST("any executor gives the same bits") {
  for (Index groups : {0, 37}) {
    for (Index fixed : {3, 9}) {
      Shape shape;
      shape.n = 9000;
      shape.fixed = fixed;
      shape.groups = groups;
      shape.width = 2;
      const Problem problem = make_problem(shape, 31);
      CHECK(problem.rows.blocks() > 3);
      MeanFieldSettings settings;
      SerialExecutor serial;
      ReverseExecutor reverse;
      const Fitted expected(problem, settings, serial);
      CHECK(same_bits(Fitted(problem, settings, reverse), expected));
      for (int threads : {1, 2, 3, 4}) {
        ThreadExecutor executor(threads);
        CHECK(same_bits(Fitted(problem, settings, executor), expected));
      }
    }
  }
}

TEST("the basis of a wide block gives the fit without it") {
  for (bool held : {false, true}) {
    for (unsigned seed = 600; seed < 610; ++seed) {
      Shape shape;
      shape.n = 12;
      shape.fixed = 1 + static_cast<Index>(seed % 2);
      (held ? shape.held : shape.penalised) = 20;
      shape.weights = shape.offset = true;
      const Problem dense = make_problem(shape, seed);
      PackedRows rows;
      rows.x = dense.rows.x;
      rows.z.resize(0, shape.n);
      rows.y = dense.rows.y;
      rows.weight = dense.rows.weight;
      rows.offset = dense.rows.offset;
      Prior prior = dense.prior;
      const bayeskernel::WideBlock wide = bayeskernel::reduce_wide(rows, prior);
      CHECK(wide.basis.rows() == 20 && wide.basis.cols() == 12);
      rows.finish({});
      const Problem reduced{rows, prior, {}};
      for (bool accelerate : {true, false}) {
        const Fitted a = run(reduced, 1e-13, accelerate);
        const Fitted b = run(dense, 1e-13, accelerate);
        CHECK_NEAR(a.bound(), b.bound(), 1e-10);
        const Index p = shape.fixed;
        const MatrixXd& basis = wide.basis;
        CHECK((basis * a.mean().tail(12) - b.mean().tail(20)).norm() <
              1e-5 * (1.0 + b.mean().norm()));
        const double hidden = 1.0 / a.fit.precisions()[0](0, 0);
        const MatrixXd covariance =
            basis * a.covariance().bottomRightCorner(12, 12) *
                basis.transpose() +
            hidden * (MatrixXd::Identity(20, 20) - basis * basis.transpose());
        CHECK((covariance - b.covariance().bottomRightCorner(20, 20)).norm() <
              1e-5 * (1.0 + covariance.norm()));
        CHECK((basis * a.covariance().bottomLeftCorner(12, p) -
               b.covariance().bottomLeftCorner(20, p))
                  .norm() < 1e-5);
        CHECK((a.fit.variance() - b.fit.variance()).norm() < 1e-4);
      }
    }
  }
}

TEST("a whole weight counts as so many rows") {
  Shape shape;
  shape.n = 30;
  shape.fixed = 2;
  shape.penalised = 2;
  Problem weighted = make_problem(shape, 41);
  Problem repeated = weighted;
  Index n = 0;
  for (Index i = 0; i < 30; ++i) {
    weighted.rows.weight[i] = static_cast<double>(1 + i % 3);
    n += 1 + i % 3;
  }
  repeated.rows = PackedRows();
  repeated.rows.x.resize(4, n);
  repeated.rows.z.resize(0, n);
  repeated.rows.y.resize(n);
  repeated.rows.weight = VectorXd::Ones(n);
  repeated.rows.offset = VectorXd::Zero(n);
  for (Index i = 0, at = 0; i < 30; ++i) {
    for (Index copy = 0; copy <= i % 3; ++copy, ++at) {
      repeated.rows.x.col(at) = weighted.rows.x.col(i);
      repeated.rows.y[at] = weighted.rows.y[i];
    }
  }
  repeated.rows.finish({});
  const Fitted a = run(weighted, 1e-12), b = run(repeated, 1e-12);
  CHECK_NEAR(a.bound(), b.bound(), 1e-9);
  CHECK((a.mean() - b.mean()).norm() < 1e-5);
}

TEST("an iteration cap and a refusal to go on leave a proper fit") {
  const Problem problem = make_problem(everything(), 51);
  SerialExecutor serial;
  for (int cap = 1; cap < 12; ++cap) {
    MeanFieldSettings settings;
    settings.tolerance = 1e-12;
    settings.max_passes = cap;
    const Fitted fitted(problem, settings, serial);
    CHECK(!fitted.result.converged && fitted.result.passes <= cap + 1);
    const DenseQ q{fitted.mean(), fitted.covariance(), fitted.fit.variances()};
    CHECK_NEAR(fitted.bound(), dense_bound(dense_twin(problem), q), 1e-11);
  }
  MeanFieldFit fit(problem.rows, problem.prior, serial);
  const MeanFieldResult result =
      fit.run(MeanFieldSettings(), [](const Progress&) { return false; });
  CHECK(result.interrupted && !result.converged && result.bound.size() == 1);
}

TEST("the moments by row are those of the reported fit") {
  for (unsigned seed = 700; seed < 730; ++seed) {
    const Problem problem = make_problem(random_shape(seed), seed);
    const Fitted fitted = run(problem, 1e-4);
    const MatrixXd x = dense_twin(problem).rows.x;
    const VectorXd mean = problem.rows.offset + x.transpose() * fitted.mean();
    const VectorXd variance =
        (x.transpose() * fitted.covariance() * x).diagonal();
    CHECK((fitted.fit.mean() - mean).norm() < 1e-10 * (1 + mean.norm()));
    CHECK((fitted.fit.variance() - variance).norm() <
          1e-10 * (1 + variance.norm()));
  }
}

TEST("a row on the margin with hardly any variance stays finite") {
  Problem problem;
  problem.rows.x = MatrixXd::Ones(1, 1);
  problem.rows.z.resize(0, 1);
  problem.rows.y = VectorXd::Ones(1);
  problem.rows.weight = VectorXd::Ones(1);
  problem.rows.offset = VectorXd::Zero(1);
  problem.rows.finish({});
  problem.prior.precision = VectorXd::Constant(1, 1e30);
  problem.prior.mean = VectorXd::Ones(1);  // f = 1 exactly
  const Fitted fitted = run(problem, 1e-8);
  CHECK(std::isfinite(fitted.bound()) && fitted.result.largest_fall == 0.0);
  CHECK_NEAR(fitted.mean()[0], 1.0, 1e-12);
}

// Groups of thousands of rows, which many blocks share.
static Problem large_groups() {
  Shape shape;
  shape.n = 11000;
  shape.fixed = 2;
  shape.groups = 5;
  shape.width = 2;
  Problem out = make_problem(shape, 61);
  out.group_begin = {0, 40, 6040, 6060, 6060, 11000};
  out.rows.finish(out.group_begin);
  return out;
}

TEST("a group may be larger than a block, on any number of threads") {
  const Problem problem = large_groups();
  CHECK(problem.rows.blocks() >= 6);
  MeanFieldSettings settings;
  settings.tolerance = 1e-11;
  SerialExecutor serial;
  ReverseExecutor reverse;
  ThreadExecutor three(3);
  const Fitted fitted(problem, settings, serial);
  CHECK(same_bits(Fitted(problem, settings, reverse), fitted));
  CHECK(same_bits(Fitted(problem, settings, three), fitted));
  const Fitted dense(dense_twin(problem), settings, serial);
  CHECK_NEAR(fitted.bound(), dense.bound(), 1e-10);
  CHECK((fitted.mean() - dense.mean()).norm() <
        1e-5 * (1 + dense.mean().norm()));
  CHECK((fitted.fit.variance() - dense.fit.variance()).norm() < 1e-5);
}

TEST("an interrupt at any time leaves the last accepted fit") {
  Shape shape;
  shape.n = 140000;
  shape.fixed = 2;
  const Problem problem = make_problem(shape, 71);
  CHECK(problem.rows.chunks() == 3);
  SerialExecutor serial;
  MeanFieldSettings settings;
  settings.tolerance = 1e-12;
  MeanFieldFit whole(problem.rows, problem.prior, serial);
  int calls = 0;
  const MeanFieldResult all = whole.run(settings, [&](const Progress&) {
    ++calls;
    return true;
  });
  CHECK(calls > 2 * all.passes);
  for (int stop = 1; stop <= calls; ++stop) {
    int asked = 0;
    MeanFieldFit fit(problem.rows, problem.prior, serial);
    const MeanFieldResult result =
        fit.run(settings, [&](const Progress&) { return ++asked < stop; });
    CHECK(result.interrupted && !result.converged);
    if (result.bound.empty()) continue;
    const std::size_t last = result.bound.size() - 1;
    CHECK(result.bound[last] == all.bound[last]);
    // The moments by row are those of q.
    const VectorXd mean = problem.rows.x.transpose() * fit.posterior().mean.x;
    CHECK((fit.mean() - mean).cwiseAbs().maxCoeff() < 1e-10);
  }
}

TEST("second derivatives are of all rows when a covariance asks for them") {
  Shape shape;
  shape.n = 3000;
  shape.fixed = 3;
  const Problem problem = make_problem(shape, 81);
  const Fitted fitted = run(problem, 1e-9);
  bayeskernel::Moments at;
  at.q = &fitted.fit.posterior();
  SerialExecutor serial;
  bayeskernel::Pass pass(problem.rows, serial);
  MatrixXd gram = MatrixXd::Zero(3, 3);
  for (Index i = 0; i < shape.n; ++i) {
    const double weight =
        bayeskernel::mean_field(problem.rows.y[i], problem.rows.weight[i],
                                fitted.fit.mean()[i], fitted.fit.variance()[i])
            .newton;
    gram += weight * problem.rows.x.col(i) * problem.rows.x.col(i).transpose();
  }
  double off[2];
  for (bool exact : {false, true}) {
    bayeskernel::Sums sums(3, 0, 0);
    pass.run(at, bayeskernel::MeanFieldRule(),
             exact ? bayeskernel::Second::exact : bayeskernel::Second::step,
             sums);
    const MatrixXd lower = gram.triangularView<Eigen::Lower>();
    const MatrixXd found = sums.newton.gram.triangularView<Eigen::Lower>();
    off[exact] = (found - lower).norm() / lower.norm();
  }
  CHECK(off[0] > 1e-6 && off[0] < 0.1);
  CHECK(off[1] < 1e-12);
}
