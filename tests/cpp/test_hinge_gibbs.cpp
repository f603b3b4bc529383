#include "prior/wide_block.hpp"
#include "gibbs/recorder.hpp"
#include "linear/gibbs.hpp"

#include "check.hpp"
#include "hinge_problem.hpp"

using bayeskernel::Executor;
using bayeskernel::GibbsChain;
using bayeskernel::GibbsState;
using bayeskernel::SerialExecutor;

static VectorXd stack(const GibbsState& state) {
  VectorXd out(state.point.x.size() + state.point.group.size());
  out.head(state.point.x.size()) = state.point.x;
  out.tail(state.point.group.size()) = Eigen::Map<const VectorXd>(
      state.point.group.data(), state.point.group.size());
  return out;
}

static GibbsState after(const Problem& problem, Executor& executor, int sweeps,
                        std::uint64_t seed = 1, std::uint64_t chain = 1) {
  GibbsChain sampler(problem.rows, problem.prior, executor, seed, chain);
  for (int t = 0; t < sweeps; ++t) sampler.sweep();
  return sampler.state;
}

static bool same_bits(const GibbsState& a, const GibbsState& b) {
  return stack(a) == stack(b) && a.precision == b.precision &&
         a.sweep == b.sweep;
}

TEST("any executor gives the same states") {
  for (Index groups : {0, 37}) {
    for (Index fixed : {3, 9}) {
      Shape shape;
      shape.n = 9000;
      shape.fixed = fixed;
      shape.penalised = 2;
      shape.groups = groups;
      const Problem problem = make_problem(shape, 1);
      SerialExecutor serial;
      const GibbsState expected = after(problem, serial, 4);
      ReverseExecutor reverse;
      CHECK(same_bits(after(problem, reverse, 4), expected));
      for (int threads : {1, 2, 3, 4}) {
        ThreadExecutor executor(threads);
        CHECK(same_bits(after(problem, executor, 4), expected));
      }
    }
  }
}

TEST("a chain goes on from a stored state as if it had not stopped") {
  Shape shape;
  shape.groups = 6;
  shape.width = 2;
  shape.penalised = 3;
  const Problem problem = make_problem(shape, 2);
  SerialExecutor serial;
  GibbsChain resumed(problem.rows, problem.prior, serial, 5, 3);
  resumed.state = after(problem, serial, 7, 5, 3);
  for (int t = 0; t < 6; ++t) resumed.sweep();
  CHECK(same_bits(resumed.state, after(problem, serial, 13, 5, 3)));
}

TEST("chains and seeds differ") {
  const Problem problem = make_problem(Shape(), 3);
  SerialExecutor serial;
  const VectorXd a = stack(after(problem, serial, 3, 1, 1));
  CHECK((a - stack(after(problem, serial, 3, 1, 2))).norm() > 1e-3);
  CHECK((a - stack(after(problem, serial, 3, 2, 1))).norm() > 1e-3);
}

// Means and variances by batch means, with their standard errors.
struct Moments {
  VectorXd mean, variance, mean_error, variance_error;
};

static Moments moments_of(const MatrixXd& draws) {
  const Index batches = 40, size = draws.rows() / batches;
  const Index d = draws.cols();
  Moments out;
  out.mean = draws.topRows(batches * size).colwise().mean();
  const MatrixXd square =
      (draws.rowwise() - out.mean.transpose()).array().square();
  MatrixXd means(batches, d), squares(batches, d);
  for (Index b = 0; b < batches; ++b) {
    means.row(b) = draws.middleRows(b * size, size).colwise().mean();
    squares.row(b) = square.middleRows(b * size, size).colwise().mean();
  }
  const auto error = [&](const MatrixXd& batch) {
    const MatrixXd c = batch.rowwise() - batch.colwise().mean();
    return VectorXd((c.array().square().colwise().sum() /
                     static_cast<double>(batches * (batches - 1)))
                        .sqrt());
  };
  out.variance = squares.colwise().mean();
  out.mean_error = error(means);
  out.variance_error = error(squares);
  return out;
}

static double largest_z(const Moments& a, const Moments& b) {
  const auto z = [](const VectorXd& u, const VectorXd& v, const VectorXd& eu,
                    const VectorXd& ev) {
    return ((u - v).array().abs() /
            (eu.array().square() + ev.array().square()).sqrt())
        .maxCoeff();
  };
  return std::max(
      z(a.mean, b.mean, a.mean_error, b.mean_error),
      z(a.variance, b.variance, a.variance_error, b.variance_error));
}

// Coefficients, group effects and log precisions.
static MatrixXd sample(const Problem& problem, int sweeps, std::uint64_t seed) {
  SerialExecutor serial;
  GibbsChain chain(problem.rows, problem.prior, serial, seed, 1);
  for (int t = 0; t < 300; ++t) chain.sweep();
  const Index d = stack(chain.state).size();
  const Index blocks = static_cast<Index>(chain.state.precision.size());
  MatrixXd out(sweeps, d + blocks);
  for (int t = 0; t < sweeps; ++t) {
    chain.sweep();
    out.row(t).head(d) = stack(chain.state);
    for (Index l = 0; l < blocks; ++l) {
      out(t, d + l) = std::log(chain.state.precision[l](0, 0));
    }
  }
  return out;
}

TEST("eliminated and dense group effects have the same law") {
  for (Index width : {1, 2}) {
    Shape shape;
    shape.n = 50;
    shape.groups = 5;
    shape.width = width;
    shape.weights = shape.offset = true;
    Problem problem = make_problem(shape, 10 + static_cast<unsigned>(width));
    problem.prior.blocks[0].shape = problem.prior.blocks[0].rate = 3.0;
    problem.prior.blocks[0].df = 8.0;
    const int sweeps = check::slow() ? 40000 : 6000;
    CHECK(largest_z(moments_of(sample(problem, sweeps, 1)),
                    moments_of(sample(dense_twin(problem), sweeps, 2))) < 5.5);
  }
}

TEST("draws through the basis of a wide block have the law without it") {
  Shape shape;
  shape.n = 6;
  shape.fixed = 1;
  shape.penalised = 10;
  Problem dense = make_problem(shape, 21);
  dense.prior.blocks[0].shape = dense.prior.blocks[0].rate = 3.0;
  Problem reduced = dense;
  reduced.rows = PackedRows();
  reduced.rows.x = dense.rows.x;
  reduced.rows.z.resize(0, shape.n);
  reduced.rows.y = dense.rows.y;
  reduced.rows.weight = dense.rows.weight;
  reduced.rows.offset = dense.rows.offset;
  const bayeskernel::WideBlock wide =
      bayeskernel::reduce_wide(reduced.rows, reduced.prior);
  reduced.rows.finish({});
  const int sweeps = check::slow() ? 40000 : 6000;
  const bayeskernel::Recorder recorder(VectorXd::Zero(11), VectorXd::Ones(11),
                                       true, reduced.prior, {MatrixXd(0, 0)},
                                       wide, 4, true);
  CHECK(recorder.variables() == 12);
  SerialExecutor serial;
  GibbsChain chain(reduced.rows, reduced.prior, serial, 4, 1);
  MatrixXd through(sweeps, 12);
  VectorXd row(12);
  for (int t = -300; t < sweeps; ++t) {
    chain.sweep();
    recorder.write(chain.state, 1, row.data(), 1);
    if (t >= 0) through.row(t) = row;
  }
  through.col(11) = through.col(11).array().log();
  MatrixXd direct = sample(dense, sweeps, 3);
  direct.col(11) *= -1.0;  // log precision to log variance
  CHECK(largest_z(moments_of(through), moments_of(direct)) < 5.5);
}

TEST("a recorder undoes centring and scaling") {
  Shape shape;
  shape.fixed = 3;
  shape.groups = 4;
  shape.width = 2;
  const Problem problem = make_problem(shape, 31);
  SerialExecutor serial;
  const GibbsState state = after(problem, serial, 5);
  const VectorXd center = (VectorXd(3) << 0.0, 1.5, -2.0).finished();
  const VectorXd scale = (VectorXd(3) << 1.0, 2.0, 0.5).finished();
  // z* = (1, (z - 3) / 4).
  const MatrixXd transform =
      (MatrixXd(2, 2) << 1.0, -0.75, 0.0, 0.25).finished();
  const bayeskernel::WideBlock wide;
  const bayeskernel::Recorder recorder(center, scale, true, problem.prior,
                                       {transform}, wide, 1, true);
  CHECK(recorder.variables() == 3 + 8 + 3);
  VectorXd out(14);
  recorder.write(state, 1, out.data(), 1);
  const VectorXd x = (VectorXd(3) << 1.0, 0.3, 0.9).finished();
  const double z = 7.0;
  double model = state.point.x[0], data = out[0];
  for (Index k = 1; k < 3; ++k) {
    model += state.point.x[k] * (x[k] - center[k]) / scale[k];
    data += out[k] * x[k];
  }
  CHECK_NEAR(data, model, 1e-12);
  for (Index g = 0; g < 4; ++g) {
    CHECK_NEAR(out[3 + 2 * g] + out[4 + 2 * g] * z,
               state.point.group(0, g) + state.point.group(1, g) * (z - 3) / 4,
               1e-12);
  }
  // Var of u0 + u1 z under both scales.
  const MatrixXd psi = state.precision[0].llt().solve(MatrixXd::Identity(2, 2));
  const double w = (z - 3) / 4;
  CHECK_NEAR(out[11] + 2 * z * out[12] + z * z * out[13],
             psi(0, 0) + 2 * w * psi(1, 0) + w * w * psi(1, 1), 1e-11);
}

TEST("a group of many blocks draws the same on any number of threads") {
  Shape shape;
  shape.n = 9000;
  shape.groups = 3;
  shape.width = 2;
  Problem problem = make_problem(shape, 5);
  problem.group_begin = {0, 30, 7000, 9000};
  problem.rows.finish(problem.group_begin);
  SerialExecutor serial;
  ThreadExecutor three(3);
  CHECK(problem.rows.blocks() > 4);
  CHECK(same_bits(after(problem, three, 4), after(problem, serial, 4)));
}

TEST("eliminated effects of known variance take part in moves of the scale") {
  // A second block of learned variance: all moves are tried in turn.
  Shape shape;
  shape.n = 60;
  shape.fixed = 1;
  shape.penalised = 2;
  shape.groups = 6;
  Problem problem = make_problem(shape, 6);
  Block& group = problem.prior.blocks.back();
  group.kind = Block::Kind::held;
  group.precision = 4.0;
  SerialExecutor serial;
  // The last column is the precision that is known.
  const auto moments = [](const MatrixXd& draws) {
    return moments_of(draws.leftCols(draws.cols() - 1));
  };
  const Moments eliminated = moments(sample(problem, 20000, 1));
  const Moments dense = moments(sample(dense_twin(problem), 20000, 2));
  CHECK(largest_z(eliminated, dense) < 4.9);
}

TEST("a chain says what it had to add to a singular precision") {
  Shape shape;
  shape.fixed = 3;
  Problem problem = make_problem(shape, 7);
  SerialExecutor serial;
  GibbsChain proper(problem.rows, problem.prior, serial, 1, 1);
  proper.sweep();
  CHECK(proper.jitter() == 0.0);
  problem.rows.x.row(2) = problem.rows.x.row(1);
  problem.prior.precision.setZero();
  GibbsChain chain(problem.rows, problem.prior, serial, 1, 1);
  chain.sweep();
  CHECK(chain.jitter() > 0.0);
}
