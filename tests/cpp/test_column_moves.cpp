// Effects and indicators drawn with the latents integrated out, against sums
// over rows and against quadrature.
#include "likelihood/likelihood.hpp"
#include "likelihood/line_terms.hpp"
#include "mcmc/tangents.hpp"
#include "parallel/executor.hpp"
#include "prior/blocks.hpp"
#include "selection/column_moves.hpp"

#include <cmath>
#include <vector>

#include "check.hpp"
#include "hinge_problem.hpp"

using bayeskernel::ColumnMoves;
using bayeskernel::Family;
using bayeskernel::LineTerms;
using bayeskernel::SerialExecutor;
using bayeskernel::TangentHull;

static const Family kLabels[] = {Family::hinge, Family::probit, Family::logit};

TEST("the likelihood along a line is the sum over the rows") {
  Draw draw(3);
  const Index n = 1301;
  VectorXd gap(n), w(n), s(n);
  for (Index i = 0; i < n; ++i) {
    gap[i] = 3.0 * draw.normal();
    s[i] = draw.normal();
  }
  gap[5] = 30.0;
  gap[6] = -30.0;
  for (const bool equal : {true, false}) {
    for (Index i = 0; i < n; ++i) w[i] = equal ? 1.0 : draw.uniform();
    for (const Family family : kLabels) {
      const double one = family == Family::hinge ? 1.0 : 0.0;
      for (const double t : {0.0, -0.7, 4.0}) {
        double value = 0.0, above = 0.0, below = 0.0;
        const double h = 1e-6;
        const auto sum = [&](double at) {
          double out = 0.0;
          for (Index i = 0; i < n; ++i) {
            out += w[i] * log_likelihood(family, 1.0,
                                         one + at * s[i] - gap[i], 1.0);
          }
          return out;
        };
        value = sum(t);
        above = sum(t + h);
        below = sum(t - h);
        for (const auto level :
             {bayeskernel::simd::Level::narrow, bayeskernel::simd::level()}) {
          const LineTerms found = line_terms(
              family, {n, gap.data(), w.data(), s.data(), equal}, t, level);
          CHECK_NEAR(found.value, value, 1e-11 * std::abs(value));
          CHECK_NEAR(found.slope, (above - below) / (2.0 * h), 2e-2);
        }
      }
    }
  }
}

TEST("a hull of tangents is above its density and is drawn from") {
  TangentHull hull;
  for (const double x : {-1.0, 0.5, 2.0, 0.0}) {
    hull.add({x, -0.5 * x * x, -x});
  }
  const int n = 400000;
  double mass = 0.0, below = 0.0;
  for (int i = 0; i < n; ++i) {
    const double t = -20.0 + 40.0 * (i + 0.5) / n;
    CHECK(hull.log_density(t) >= -0.5 * t * t - 1e-12);
    mass += 40.0 / n * std::exp(hull.log_density(t));
    if (t < 0.7) below = mass;
  }
  CHECK_NEAR(hull.log_mass(), std::log(mass), 1e-6);
  int under = 0;
  const int side = 300;
  for (int i = 0; i < side; ++i) {
    for (int j = 0; j < side; ++j) {
      under += hull.draw((i + 0.5) / side, (j + 0.5) / side) < 0.7;
    }
  }
  CHECK_NEAR(under / (1.0 * side * side), below / mass, 2e-3);
}

// One column that may be out and an intercept, which moves with it: what stays
// is the intercept at the column's median.
TEST("an indicator and its effect have the law of the quadrature") {
  const Index n = 41;
  for (const Family family : kLabels) {
    Draw draw(7);
    bayeskernel::PackedRows rows;
    rows.x = MatrixXd::Ones(2, n);
    rows.z.resize(0, n);
    rows.y.resize(n);
    rows.weight = VectorXd::Ones(n);
    rows.offset = VectorXd::Constant(n, 0.1);
    for (Index i = 0; i < n; ++i) {
      rows.x(1, i) = i < 25 ? -0.4 : draw.normal();
      rows.y[i] = draw.normal() + 0.6 * rows.x(1, i) > 0.0 ? 1.0 : -1.0;
    }
    rows.finish({});
    bayeskernel::Prior prior;
    prior.precision = VectorXd::Zero(2);
    prior.mean = VectorXd::Zero(2);
    prior.precision[0] = 0.5;
    prior.mean[0] = 0.2;
    bayeskernel::Selection selection;
    selection.columns = {1};
    bayeskernel::SelectionState state;
    state.in = VectorXd::Zero(1);
    state.precision = 1.7;
    state.logit_rho = -0.4;
    const double level = 0.3, rate = std::sqrt(state.precision);

    double out = 0.0, in = 0.0, mean = 0.0;
    const auto density = [&](double t) {
      const double intercept = level + 0.4 * t;
      double log = -0.25 * (intercept - 0.2) * (intercept - 0.2);
      for (Index i = 0; i < n; ++i) {
        const double f = 0.1 + intercept + t * rows.x(1, i);
        log += log_likelihood(family, rows.y[i], f, 1.0);
      }
      return std::exp(log);
    };
    out = density(0.0);
    const int points = 20000;
    for (int k = 0; k < points; ++k) {
      const double t = -10.0 + 20.0 * (k + 0.5) / points;
      const double part = 20.0 / points * 0.5 * rate *
                          std::exp(state.logit_rho - rate * std::abs(t)) *
                          density(t);
      in += part;
      mean += t * part;
    }
    SerialExecutor serial;
    ColumnMoves moves(rows, prior, selection, serial, family);
    bayeskernel::ArrowVector point(2, 0, 0);
    point.x << level, 0.0;
    const int draws = check::slow() ? 200000 : 20000;
    double found_in = 0.0, found_mean = 0.0;
    for (int d = 0; d < draws; ++d) {
      bayeskernel::Stream stream(1, 1, bayeskernel::Purpose::selection, d, 2);
      moves.run(stream, point, state);
      CHECK((state.in[0] == 0.0) == (point.x[1] == 0.0));
      found_in += state.in[0] / draws;
      found_mean += point.x[1] / draws;
    }
    CHECK_NEAR(point.x[0] - 0.4 * point.x[1], level, 1e-9);
    CHECK_NEAR(found_in, in / (in + out), 2.5 / std::sqrt(draws));
    CHECK_NEAR(found_mean, mean / (in + out), 3.0 / std::sqrt(draws));
  }
}
