// Derivatives of the optimised bound against central differences, and the
// bound's own properties: exact features equal inducing points at every row.
#include "rows/memory_readers.hpp"
#include "gp/tune.hpp"
#include "rng/stream.hpp"
#include <cmath>
#include <string>

#include "check.hpp"

using namespace bayeskernel;

namespace {
const KeepGoing kGoOn = [](const Progress&) { return true; };

struct Problem {
  MatrixXd x;  // n x d
  VectorXd labels, weights;

  explicit Problem(Index n) : x(n, 2), labels(n), weights(n) {
    Stream stream(7, 0, Purpose::predict, 0, 0);
    for (Index i = 0; i < n; ++i) {
      x(i, 0) = stream.normal();
      x(i, 1) = stream.normal();
      const double f = x(i, 0) * x(i, 1) + 0.5 * x(i, 0) + stream.normal() / 2;
      labels[i] = f > 0.0;
      weights[i] = 0.5 + stream.uniform();
    }
  }

  StreamColumns columns() const {
    return {{0, 1}, VectorXd::Zero(2), VectorXd::Ones(2)};
  }
  Eigen::Map<const VectorXd> map(const VectorXd& v) const {
    return Eigen::Map<const VectorXd>(v.data(), v.size());
  }
};

MeanFieldSettings tight() {
  MeanFieldSettings out;
  out.tolerance = 1e-13;
  return out;
}

double bound_at(const Problem& problem, const TunePoint& at, bool exact) {
  MatrixReader reader(
      Eigen::Map<const MatrixXd>(problem.x.data(), problem.x.rows(), 2),
      problem.map(problem.labels));
  SerialExecutor executor;
  StreamedRows base(reader, problem.columns(), 1, false, at.z.cols());
  base.set_weights(problem.map(problem.weights));
  TuneProblem tune(base, {1}, exact, executor);
  return tune.evaluate(at, false, tight(), kGoOn).bound;
}

void check_gradient(const std::string& what, const Kernel& kernel, bool exact,
                    double nugget) {
  const Problem problem(60);
  const MatrixXd rows = problem.x.transpose();
  TunePoint at{kernel, nugget, exact ? rows : MatrixXd(rows.leftCols(7))};
  MatrixReader reader(Eigen::Map<const MatrixXd>(problem.x.data(), 60, 2),
                      problem.map(problem.labels));
  SerialExecutor executor;
  StreamedRows base(reader, problem.columns(), 1, false, at.z.cols());
  base.set_weights(problem.map(problem.weights));
  TuneProblem tune(base, {1}, exact, executor);
  const TuneValue value = tune.evaluate(at, !exact, tight(), kGoOn);

  const double step = 1e-4;
  const auto close = [&](const std::string& name, double exactly, double high,
                         double low, double width) {
    const double difference = (high - low) / (2.0 * width);
    const double scale = 1.0 + std::abs(difference);
    CHECK(std::abs(exactly - difference) < 2e-6 * scale);
    if (!(std::abs(exactly - difference) < 2e-6 * scale)) {
      std::printf("  %s, %s: %.10g, by differences %.10g\n", what.c_str(),
                  name.c_str(), exactly, difference);
    }
  };
  for (Index k = 0; k < kernel.parameters(); ++k) {
    TunePoint high = at, low = at;
    VectorXd log = kernel.log_parameters();
    log[k] += step;
    high.kernel.set_log_parameters(log);
    log[k] -= 2.0 * step;
    low.kernel.set_log_parameters(log);
    close("parameter " + std::to_string(k), value.gradient.kernel[k],
          bound_at(problem, high, exact), bound_at(problem, low, exact), step);
  }
  if (nugget > 0.0) {
    TunePoint high = at, low = at;
    high.nugget += step;
    low.nugget -= step;
    close("nugget", value.gradient.nugget, bound_at(problem, high, exact),
          bound_at(problem, low, exact), step);
  }
  if (exact) return;
  for (Index j = 0; j < 3; ++j) {
    for (Index d = 0; d < 2; ++d) {
      TunePoint high = at, low = at;
      high.z(d, j) += step;
      low.z(d, j) -= step;
      close("location", value.gradient.locations(d, j),
            bound_at(problem, high, false), bound_at(problem, low, false),
            step);
    }
  }
}
}  // namespace

TEST("derivatives of the optimised bound are its differences") {
  VectorXd ard(2), one(1);
  ard << 0.8, 1.7;
  one << 1.3;
  check_gradient("rbf", Kernel::rbf(one, 2.0), false, 0.0);
  check_gradient("rbf with nugget", Kernel::rbf(one, 2.0), false, 0.3);
  check_gradient("ARD", Kernel::rbf(ard, 1.4), false, 0.1);
  check_gradient("sum",
                 Kernel::sum({Kernel::rbf(ard, 1.4), Kernel::linear(0.5),
                              Kernel::polynomial(2, 1.0, 0.2)}),
                 false, 0.1);
  check_gradient("product",
                 Kernel::product({Kernel::rbf(one, 1.0), Kernel::linear(2.0)}),
                 false, 0.2);
  check_gradient("matern",
                 Kernel::sum({Kernel::matern(5, ard, 1.4),
                              Kernel::matern(3, one, 0.6).on({1})}),
                 false, 0.1);
  check_gradient(
      "periodic on a column",
      Kernel::product({Kernel::rbf(one, 1.3).on({1}),
                       Kernel::periodic(2.5, one, 0.9, 1.1).on({0})}),
      false, 0.1);
  MatrixXd one_row(1, 2);
  one_row << 0.9, -0.4;
  check_gradient("projected", Kernel::projected(one_row, 1.2), false, 0.1);
  check_gradient("exact projected", Kernel::projected(one_row, 1.2), true, 0.2);
  check_gradient("exact periodic", Kernel::periodic(2.5, ard, 0.9, 1.1), true,
                 0.2);
  check_gradient("exact rbf", Kernel::rbf(ard, 1.4), true, 0.0);
  check_gradient("exact rbf with nugget", Kernel::rbf(one, 1.4), true, 0.2);
}

TEST("inducing points at every row are the exact process") {
  const Problem problem(50);
  TunePoint at{Kernel::rbf(VectorXd::Constant(1, 1.1), 1.5), 0.0,
               problem.x.transpose()};
  const double exact = bound_at(problem, at, true);
  const double inducing = bound_at(problem, at, false);
  // The features differ by the jitter alone.
  CHECK(std::abs(exact - inducing) < 1e-3);
}
