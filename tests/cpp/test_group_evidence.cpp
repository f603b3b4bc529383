#include <Eigen/LU>

#include "ep/group_evidence.hpp"
#include "likelihood/likelihood.hpp"

#include "check.hpp"
#include "hinge_problem.hpp"

using bayeskernel::EpFit;
using bayeskernel::EpSettings;
using bayeskernel::Family;
using bayeskernel::GroupEvidence;
using bayeskernel::SerialExecutor;

static EpSettings exact() {
  EpSettings out;
  out.tolerance = 1e-10;
  out.max_passes = 500;
  return out;
}

// log of the integral of N(u; 0, root root') prod p(y | offset + z'u)^w over
// u, the rows begin .. end - 1, by the trapezoidal rule.
static double log_group_evidence(const Problem& problem, Family family,
                                 Index begin, Index end, const MatrixXd& root) {
  const Index r = root.rows();
  const double step = r == 1 ? 0.005 : 0.03, reach = 8.5;
  const Index nodes = static_cast<Index>(2.0 * reach / step) + 1;
  double sum = 0.0;
  for (Index k = 0; k < (r == 1 ? nodes : nodes * nodes); ++k) {
    VectorXd e(r);
    e[0] = -reach + step * static_cast<double>(k % nodes);
    if (r == 2) e[1] = -reach + step * static_cast<double>(k / nodes);
    const VectorXd u = root * e;
    double value = -0.5 * e.squaredNorm();
    for (Index i = begin; i < end; ++i) {
      value += problem.rows.weight[i] *
               bayeskernel::log_likelihood(
                   family, problem.rows.y[i],
                   problem.rows.offset[i] + problem.rows.z.col(i).dot(u), 1.0);
    }
    sum += std::exp(value);
  }
  const double cell = step / std::sqrt(2.0 * M_PI);
  return std::log(sum) + static_cast<double>(r) * std::log(cell);
}

TEST("the evidence of whole groups is exact where they share no coefficient") {
  for (Family family : {Family::logit, Family::probit}) {
    for (Index r : {1, 2}) {
      for (double sd : {1.0, 4.0}) {
        Shape shape;
        shape.n = 40;
        shape.fixed = shape.penalised = shape.held = shape.kept_members = 0;
        shape.groups = 9;
        shape.width = r;
        shape.weights = shape.offset = true;
        Problem problem = make_problem(shape, 5);
        // One class alone, in some groups.
        for (Index i = 0; i < problem.group_begin[4]; ++i) {
          problem.rows.y[i] = 1.0;
        }
        SerialExecutor serial;
        EpFit fit(problem.rows, problem.prior, serial, family);
        MatrixXd root = sd * MatrixXd::Identity(r, r);
        if (r == 2) root(1, 0) = 0.5;
        fit.set({MatrixXd((root * root.transpose()).inverse())}, 1.0);
        CHECK(fit.run(exact()).converged);
        double truth = 0.0;
        for (Index g = 0; g < shape.groups; ++g) {
          truth += log_group_evidence(problem, family, problem.group_begin[g],
                                      problem.group_begin[g + 1], root);
        }
        CHECK(GroupEvidence::applies(fit));
        GroupEvidence missed(fit);
        const double error = std::abs(fit.log_z() - truth);
        CHECK(std::abs(fit.log_z() + missed().sum() - truth) <
              std::max(0.04 * error, 2e-4));
      }
    }
  }
}

TEST("the evidence of whole groups: one row alone misses nothing") {
  for (Family family : {Family::logit, Family::probit}) {
    Shape shape;
    shape.n = 12;
    shape.fixed = shape.penalised = shape.held = shape.kept_members = 0;
    shape.groups = 12;
    shape.width = 1;
    Problem problem = make_problem(shape, 3);
    problem.group_begin.clear();
    for (Index g = 0; g <= shape.n; ++g) problem.group_begin.push_back(g);
    problem.rows.finish(problem.group_begin);
    SerialExecutor serial;
    EpFit single(problem.rows, problem.prior, serial, family);
    CHECK(single.run(exact()).converged);
    CHECK(GroupEvidence(single)().sum() == 0.0);
  }
  const Problem numbers = make_problem(Shape(), 1);
  SerialExecutor serial;
  EpFit plain(numbers.rows, numbers.prior, serial, Family::gaussian);
  CHECK(!GroupEvidence::applies(plain));
}

TEST("the evidence of whole groups beside the truth, with a coefficient") {
  for (Family family : {Family::logit, Family::probit}) {
    Shape shape;
    shape.n = 60;
    shape.fixed = 1;
    shape.groups = 20;
    Problem problem = make_problem(shape, 11);
    SerialExecutor serial;
    EpFit fit(problem.rows, problem.prior, serial, family);
    for (double sd : {1.0, 3.0, 9.0}) {
      fit.set({MatrixXd::Constant(1, 1, 1.0 / (sd * sd))}, 1.0);
      CHECK(fit.run(exact()).converged);
      GroupEvidence missed(fit);
      const double found = missed().sum();
      // Over the coefficient by the trapezoidal rule.
      const MatrixXd root = MatrixXd::Constant(1, 1, sd);
      const double precision = problem.prior.precision[0];
      const double middle = fit.posterior().mean.x[0];
      const double spread = std::sqrt(fit.posterior().theta_variance()[0]);
      double truth = 0.0;
      Problem moved = problem;
      for (double t = -7.0; t <= 7.0; t += 0.25) {
        const double beta = middle + spread * t;
        moved.rows.offset =
            problem.rows.offset + beta * problem.rows.x.row(0).transpose();
        double value =
            -0.5 * precision * std::pow(beta - problem.prior.mean[0], 2) +
            0.5 * std::log(precision / (2.0 * M_PI));
        for (Index g = 0; g < shape.groups; ++g) {
          value += log_group_evidence(moved, family, problem.group_begin[g],
                                      problem.group_begin[g + 1], root);
        }
        truth += 0.25 * spread * std::exp(value - fit.log_z());
      }
      truth = std::log(truth);
      CHECK(std::abs(found - truth) < std::max(0.08 * std::abs(truth), 2e-3));
    }
  }
}
