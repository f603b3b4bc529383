// Selection in which columns share an indicator, in chains.
#include <Eigen/LU>
#include "gibbs/model_chain.hpp"

#include "check.hpp"
#include "hinge_problem.hpp"

using bayeskernel::Family;
using bayeskernel::GibbsChain;
using bayeskernel::HalfT;
using bayeskernel::MissingPattern;
using bayeskernel::ModelChain;
using bayeskernel::RowModel;
using bayeskernel::Selection;
using bayeskernel::SelectionGibbs;
using bayeskernel::SerialExecutor;

// Columns of x: the first `always` are in, then those of the units.
static Selection units_of(Index always, double rho) {
  Selection out;
  for (Index k = 0; k < 5; ++k) out.columns.push_back(always + k);
  // A block of three that do not stand together, and two singles.
  out.units = {{1}, {0, 2, 4}, {3}};
  out.half_t = HalfT{4.0, 1.0};
  out.rho = rho;
  return out;
}

static Problem rows_of(Index n, Index always, unsigned seed) {
  Draw draw(seed);
  Problem out;
  const Index p = always + 5;
  out.rows.x = draw.matrix(p, n);
  // Columns of the block are nearly collinear, as levels are.
  out.rows.x.row(always + 4) = -0.8 * out.rows.x.row(always) -
                               0.8 * out.rows.x.row(always + 2) +
                               0.2 * out.rows.x.row(always + 4);
  out.rows.z.resize(0, n);
  out.rows.weight = VectorXd::Ones(n);
  out.rows.offset = VectorXd::Zero(n);
  out.rows.y.resize(n);
  for (Index i = 0; i < n; ++i) {
    const double f = 0.5 * out.rows.x(always, i) + 0.4 * out.rows.x(p - 2, i);
    out.rows.y[i] = f + draw.normal() > 0.0 ? 1.0 : -1.0;
  }
  out.rows.finish({});
  out.prior.precision = VectorXd::Zero(p);
  out.prior.precision.head(always).setConstant(0.5);
  out.prior.mean = VectorXd::Zero(p);
  return out;
}

TEST("units given the latent scales have the law of the enumeration") {
  const Index always = 2, p = 7;
  const Problem problem = rows_of(30, always, 2);
  const Selection selection = units_of(always, 0.3);
  SerialExecutor serial;
  GibbsChain chain(problem.rows, problem.prior, serial, 1, 1);
  SelectionGibbs step(selection, problem.prior, 0, 0, 1, 1);
  chain.state.point.x << 0.2, 0.1, 0.4, -0.3, 0.2, 0.1, 0.3;
  step.state.b << 0.5, 2.0, 1.2, 0.7, 3.0;
  step.state.precision = 0.8;
  chain.latent_pass();

  MatrixXd gram = chain.sums().curvature.gram;
  gram.diagonal() += problem.prior.precision;
  for (Index k = 0; k < 5; ++k) {
    gram(always + k, always + k) += step.state.b[k] * step.state.precision;
  }
  const MatrixXd a = gram.selfadjointView<Eigen::Lower>();
  const VectorXd h = chain.sums().linear.x;
  VectorXd probability(8), mean = VectorXd::Zero(p);
  MatrixXd means(p, 8);
  for (unsigned bits = 0; bits < 8; ++bits) {
    std::vector<Index> in{0, 1};
    double log_mass = 0.0;
    for (unsigned j = 0; j < 3; ++j) {
      if (!(bits >> j & 1u)) continue;
      log_mass += step.state.logit_rho;
      for (const Index k : selection.units[j]) {
        in.push_back(always + k);
        log_mass += 0.5 * std::log(step.state.b[k] * step.state.precision);
      }
    }
    const Index q = static_cast<Index>(in.size());
    MatrixXd sub(q, q);
    VectorXd rhs(q);
    for (Index i = 0; i < q; ++i) {
      rhs[i] = h[in[i]];
      for (Index j = 0; j < q; ++j) sub(i, j) = a(in[i], in[j]);
    }
    const VectorXd solution = sub.inverse() * rhs;
    probability[bits] = std::exp(log_mass + 0.5 * rhs.dot(solution) -
                                 0.5 * std::log(sub.determinant()));
    means.col(bits).setZero();
    for (Index i = 0; i < q; ++i) means(in[i], bits) = solution[i];
  }
  probability /= probability.sum();
  mean = means * probability;
  CHECK(probability.maxCoeff() < 0.9 && probability.minCoeff() > 1e-3);

  const int batches = 50, size = check::slow() ? 4000 : 400;
  MatrixXd found = MatrixXd::Zero(batches, 8 + p);
  double recorded = 0.0;
  for (int t = -20; t < batches * size; ++t) {
    step.draw_coefficients(chain);
    ++chain.state.sweep;
    if (t < 0) continue;
    unsigned bits = 0;
    for (unsigned j = 0; j < 3; ++j) {
      const auto& unit = selection.units[j];
      for (const Index k : unit) {
        CHECK(step.state.in[k] == step.state.in[unit[0]]);
        CHECK(step.state.probability[k] == step.state.probability[unit[0]]);
        CHECK((step.state.in[k] == 0.0) ==
              (chain.state.point.x[always + k] == 0.0));
      }
      if (step.state.in[unit[0]] != 0.0) bits |= 1u << j;
    }
    found(t / size, bits) += 1.0 / size;
    found.row(t / size).tail(p) += chain.state.point.x.transpose() / size;
    recorded += step.state.probability[0] / (batches * size);
  }
  VectorXd expected(8 + p);
  expected << probability, mean;
  for (Index k = 0; k < 8 + p; ++k) {
    const double average = found.col(k).mean();
    const double error =
        std::sqrt((found.col(k).array() - average).square().sum() /
                  (batches * (batches - 1)));
    CHECK(std::abs(average - expected[k]) < 4.5 * error);
  }
  double inclusion = 0.0;
  for (unsigned bits = 0; bits < 8; ++bits) {
    if (bits >> 1 & 1u) inclusion += probability[bits];
  }
  CHECK_NEAR(recorded, inclusion, 0.01);
}

// Rows drawn anew from the state before each sweep: the states follow the
// prior.
static void check_prior(Index n, Index always, bool learn, unsigned seed) {
  Problem problem = rows_of(n, always, seed);
  Selection selection = units_of(always, 0.3);
  selection.learn_rho = learn;
  selection.rho_in = 2.0;
  selection.rho_out = 3.0;
  RowModel model;
  model.family = Family::probit;
  SerialExecutor serial;
  const MissingPattern none;
  ModelChain chain(problem.rows, problem.prior, selection, none, serial, seed,
                   1, model);
  Draw draw(seed + 1u);
  const int batches = 40, size = check::slow() ? 10000 : 1000;
  // Units, effects of moderate size by column, all of the block and none.
  MatrixXd found = MatrixXd::Zero(batches, 10);
  for (int t = -200; t < batches * size; ++t) {
    for (Index i = 0; i < n; ++i) {
      const double f = chain.base().point.x.dot(problem.rows.x.col(i));
      problem.rows.y[i] = f + draw.normal() > 0.0 ? 1.0 : -1.0;
    }
    chain.sweep();
    if (t < 0) continue;
    auto row = found.row(t / size);
    const auto& state = chain.selection();
    for (Index j = 0; j < 3; ++j) {
      row[j] += state.in[selection.units[j][0]] / size;
    }
    for (Index k = 0; k < 5; ++k) {
      row[3 + k] += (chain.base().point.x[always + k] > 0.3) / double(size);
    }
    row[8] += state.in[1] * state.in[0] / size;
    row[9] += (state.precision > 1.0) / double(size);
  }
  const double rho = learn ? 0.4 : 0.3;
  // E rho^2 of a Beta(2, 3) law is 2 * 3 / (5 * 6).
  const double both = learn ? 0.2 : 0.09;
  // P(effect > 0.3 | in) = E exp(-0.3 / sigma) / 2, sigma half t.
  double beyond = 0.0, above = 0.0;
  const auto variance = selection.variance();
  for (double x = -40.0; x < 40.0; x += 0.005) {
    const double mass = 0.005 * std::exp(variance.log_density(x));
    beyond += 0.5 * mass * std::exp(-0.3 * std::exp(-0.5 * x));
    if (x < 0.0) above += mass;
  }
  VectorXd expected(10);
  expected << rho, rho, rho, VectorXd::Constant(5, rho * beyond), both, above;
  for (Index k = 0; k < 10; ++k) {
    const double average = found.col(k).mean();
    const double error =
        std::sqrt((found.col(k).array() - average).square().sum() /
                  (batches * (batches - 1)));
    CHECK(std::abs(average - expected[k]) < 4.5 * error);
    CHECK(error < 0.03);
  }
}

TEST("over data from the prior units are in as the prior says") {
  check_prior(12, 1, false, 5);
  check_prior(12, 1, true, 6);
}

TEST("so are those of chains with more columns than rows") {
  const Problem problem = rows_of(4, 0, 7);
  CHECK(SelectionGibbs::wide(problem.rows, problem.prior, false));
  check_prior(4, 0, false, 7);
}

TEST("units of one column each are the columns") {
  const Problem problem = rows_of(20, 1, 9);
  Selection plain = units_of(1, 0.3), named = plain;
  plain.units.clear();
  named.units = {{0}, {1}, {2}, {3}, {4}};
  SerialExecutor serial;
  const MissingPattern none;
  ModelChain a(problem.rows, problem.prior, plain, none, serial, 3, 1);
  ModelChain b(problem.rows, problem.prior, named, none, serial, 3, 1);
  for (int t = 0; t < 50; ++t) {
    a.sweep();
    b.sweep();
    CHECK(a.base().point.x == b.base().point.x);
    CHECK(a.selection().probability == b.selection().probability);
  }
}
