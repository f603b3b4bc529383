#include "ep/selection.hpp"
#include "likelihood/likelihood.hpp"

#include "check.hpp"
#include "hinge_problem.hpp"

using bayeskernel::Family;
using bayeskernel::log_likelihood;
using bayeskernel::NoisePrior;
using bayeskernel::Selection;
using bayeskernel::SelectionEp;
using bayeskernel::SelectionEpOutcome;
using bayeskernel::SelectionEpSettings;
using bayeskernel::SerialExecutor;
using bayeskernel::spike_slab;

static const Family kFamilies[] = {Family::hinge, Family::probit, Family::logit,
                                   Family::gaussian};

static NoisePrior held(double variance) {
  NoisePrior out;
  out.held = true;
  out.precision = 1.0 / variance;
  return out;
}

static SelectionEpSettings exact(double scale) {
  SelectionEpSettings out;
  out.passes.tolerance = 1e-10;
  out.passes.max_passes = 1000;
  out.scale = scale;
  return out;
}

// Columns of x with y made from `effect`; those from `first` on are under
// selection, the others have a prior N(0, 1).
struct SelectionProblem {
  Problem whole;
  Selection selection;

  SelectionProblem(const MatrixXd& x, const VectorXd& effect, Family family,
                   unsigned seed, Index first = 0, double rho = 0.3) {
    Draw draw(seed);
    PackedRows& rows = whole.rows;
    const Index n = x.cols(), p = x.rows();
    rows.x = x;
    rows.z.resize(0, n);
    rows.weight = VectorXd::Ones(n);
    rows.offset = VectorXd::Zero(n);
    rows.y = x.transpose() * effect;
    for (Index i = 0; i < n; ++i) {
      rows.y[i] += draw.normal();
      if (family != Family::gaussian) rows.y[i] = rows.y[i] > 0.0 ? 1.0 : -1.0;
    }
    rows.finish({});
    whole.prior.precision = VectorXd::Ones(p);
    whole.prior.mean = VectorXd::Zero(p);
    for (Index k = first; k < p; ++k) selection.columns.push_back(k);
    selection.half_t.df = 4.0;
    selection.rho = rho;
  }

  SelectionEpOutcome run(Family family, const SelectionEpSettings& settings,
                         double noise = 1.0) const {
    SerialExecutor serial;
    SelectionEp fit(whole.rows, whole.prior, selection, serial, family,
                    held(noise), nullptr);
    return fit.run(settings);
  }
};

static MatrixXd correlated(Index p, Index n, unsigned seed) {
  Draw draw(seed);
  MatrixXd x = draw.matrix(p, n);
  for (Index k = 1; k < p; ++k) x.row(k) += 0.6 * x.row(k - 1);
  return x;
}

static double laplace(double t, double scale) {
  return std::exp(-std::abs(t) / scale) / (2.0 * scale);
}

TEST("a spike and slab in a normal cavity has the moments of its integrals") {
  for (const double scale : {0.05, 0.8, 20.0}) {
    for (const double v : {0.01, 1.0, 30.0}) {
      for (const double m : {0.0, 0.3, -2.0, 9.0}) {
        for (const double rho : {0.01, 0.6}) {
          const auto normal = [&](double t) {
            return std::exp(-0.5 * (t - m) * (t - m) / v) /
                   std::sqrt(2.0 * M_PI * v);
          };
          const double out = (1.0 - rho) * normal(0.0);
          // Either half, up to where its factors are below 1e-17 of the most.
          double in = 0.0, first = 0.0, second = 0.0;
          for (const double side : {-1.0, 1.0}) {
            const double end =
                std::min(40.0 * scale + std::abs(m),
                         std::max(side * m, 0.0) + 9.0 * std::sqrt(v));
            const int steps = 20000;
            const double h = end / steps;
            for (int j = 0; j <= steps; ++j) {
              const double t = side * j * h;
              // Simpson's rule.
              const double w = (j == 0 || j == steps ? 1.0 : j % 2 ? 4.0 : 2.0);
              const double mass =
                  w * h / 3.0 * rho * laplace(t, scale) * normal(t);
              in += mass;
              first += t * mass;
              second += t * t * mass;
            }
          }
          const double z = in + out, mean = first / z;
          const auto found =
              spike_slab(m, v, std::log(rho), std::log1p(-rho), scale);
          CHECK_NEAR(found.log_z, std::log(z), 1e-8);
          CHECK_NEAR(found.inclusion, in / z, 1e-8);
          CHECK_NEAR(found.mean, mean, 1e-8);
          CHECK(std::abs(found.variance - (second / z - mean * mean)) <
                1e-7 * found.variance + 1e-12);
        }
      }
    }
  }
}

TEST("spikes and slabs at the ends of numbers stay finite") {
  for (const double scale : {1e-6, 1.0, 1e6}) {
    for (const double v : {1e-12, 1.0, 1e12}) {
      for (const double u : {-1e4, -30.0, 0.0, 30.0, 1e4}) {
        const auto found = spike_slab(u * std::sqrt(v), v, std::log(1e-6),
                                      std::log1p(-1e-6), scale);
        CHECK(std::isfinite(found.log_z) && std::isfinite(found.mean));
        CHECK(found.inclusion >= 0.0 && found.inclusion <= 1.0 + 1e-12);
        CHECK(found.variance > 0.0 && found.variance < 3.0 * v * (1.0 + u * u));
      }
    }
  }
  // A cavity that knows nothing leaves the prior.
  const auto prior = spike_slab(0.0, 1e14, std::log(0.3), std::log(0.7), 2.0);
  CHECK_NEAR(prior.inclusion, 0.3, 1e-6);
  CHECK_NEAR(prior.variance, 0.3 * 2.0 * 4.0, 1e-5);
}

// One column and Gaussian rows: a single site is not Gaussian, so that the
// messages are exact. log Z and the inclusion by integrals over the effect and,
// where it is learned, the scale.
static void one_column(double effect, bool learn, double& found_z,
                       double& found, double& expected_z, double& expected) {
  const MatrixXd x = correlated(1, 12, 5);
  SelectionProblem problem(x, VectorXd::Constant(1, effect), Family::gaussian,
                           6);
  // Of one indicator the prior mean of rho is all that matters.
  problem.selection.learn_rho = learn;
  problem.selection.rho_in = 0.6;
  problem.selection.rho_out = 1.4;
  SelectionEpSettings settings = exact(learn ? 0.0 : 0.7);
  settings.step = 0.35;
  settings.drop = 14.0;
  settings.most = 200;
  const SelectionEpOutcome out = problem.run(Family::gaussian, settings, 0.5);
  CHECK(out.result.converged);
  found_z = out.log_evidence;
  found = out.inclusion[0];
  const auto likelihood = [&](double t) {
    double sum = 0.0;
    for (Index i = 0; i < x.cols(); ++i) {
      sum += bayeskernel::gaussian_log_density(
          problem.whole.rows.y[i] - t * x(0, i), 0.5);
    }
    return std::exp(sum);
  };
  const auto slab = [&](double scale) {
    const double h = 0.002;
    double sum = 0.5 * h * likelihood(0.0) * (laplace(0.0, scale) * 2.0);
    for (double t = h; t < 8.0; t += h) {
      sum += h * laplace(t, scale) * (likelihood(t) + likelihood(-t));
    }
    return sum;
  };
  double in = 0.0;
  if (learn) {
    const double h = 0.2;
    for (double log_variance = -40.0; log_variance < 20.0; log_variance += h) {
      // Below the step of the inner rule the slab is the spike.
      const double scale = std::exp(0.5 * log_variance);
      in += h *
            std::exp(problem.selection.variance().log_density(log_variance)) *
            (scale < 0.01 ? likelihood(0.0) : slab(scale));
    }
  } else {
    in = slab(0.7);
  }
  const double z = 0.7 * likelihood(0.0) + 0.3 * in;
  expected_z = std::log(z);
  expected = 0.3 * in / z;
}

TEST("one column beside Gaussian rows is exact, its scale held or learned") {
  for (const bool learn : {false, true}) {
    for (const double effect : {0.0, 0.5}) {
      double found_z, found, expected_z, expected;
      one_column(effect, learn, found_z, found, expected_z, expected);
      const double tolerance = learn ? 1e-3 : 1e-5;
      CHECK_NEAR(found_z, expected_z, tolerance);
      CHECK_NEAR(found, expected, tolerance);
    }
  }
}

// Messages are not exact where two columns share what the rows say.
TEST("two columns are near the enumeration, whatever the family") {
  const double scale = 0.8, h = 0.05, noise = 0.8;
  const int half = 120;
  for (const Family family : kFamilies) {
    double error = 0.0;
    const unsigned seeds = 4;
    for (unsigned seed = 9; seed < 9 + seeds; ++seed) {
      const MatrixXd x = correlated(2, 30, seed);
      const SelectionProblem problem(x, 0.7 * VectorXd::Unit(2, 0), family,
                                     seed + 50);
      const SelectionEpOutcome out = problem.run(family, exact(scale), noise);
      CHECK(out.result.converged);
      const auto likelihood = [&](double a, double b) {
        double sum = 0.0;
        for (Index i = 0; i < x.cols(); ++i) {
          sum += log_likelihood(family, problem.whole.rows.y[i],
                                a * x(0, i) + b * x(1, i), noise);
        }
        return std::exp(sum);
      };
      // By the columns that are in.
      double z[2][2] = {{likelihood(0.0, 0.0), 0.0}, {0.0, 0.0}};
      double mean = 0.0;
      for (int i = -half; i <= half; ++i) {
        const double a = i * h, in = h * laplace(a, scale);
        const double alone = in * likelihood(a, 0.0);
        z[1][0] += alone;
        z[0][1] += in * likelihood(0.0, a);
        double both = 0.0;
        for (int j = -half; j <= half; ++j) {
          both += h * laplace(j * h, scale) * likelihood(a, j * h);
        }
        z[1][1] += in * both;
        mean += a * (0.3 * 0.7 * alone + 0.09 * in * both);
      }
      const double total =
          0.49 * z[0][0] + 0.21 * (z[1][0] + z[0][1]) + 0.09 * z[1][1];
      const double first = (0.21 * z[1][0] + 0.09 * z[1][1]) / total;
      const double second = (0.21 * z[0][1] + 0.09 * z[1][1]) / total;
      const double largest = std::max(std::abs(out.inclusion[0] - first),
                                      std::abs(out.inclusion[1] - second));
      error += (std::abs(out.inclusion[0] - first) +
                std::abs(out.inclusion[1] - second)) /
               (2.0 * seeds);
      std::printf("family %d: inclusion %.3f %.3f, exact %.3f %.3f\n",
                  static_cast<int>(family), out.inclusion[0], out.inclusion[1],
                  first, second);
      CHECK(largest < 0.05);
      CHECK(std::abs(out.log_evidence - std::log(total)) < 0.15);
      CHECK(std::abs(out.effect_mean[0] - mean / total) < 0.1);
    }
    CHECK(error < 0.025);
  }
}

TEST("columns that say nothing keep their prior") {
  MatrixXd x = correlated(4, 30, 3);
  x.row(2).setZero();
  x.row(3).setZero();
  for (const Family family : kFamilies) {
    SelectionProblem problem(x, VectorXd::Unit(4, 0), family, 4, 1);
    for (const double scale : {0.0, 0.6}) {
      SelectionEpSettings settings = exact(scale);
      settings.passes.tolerance = 1e-6;
      const SelectionEpOutcome out = problem.run(family, settings);
      CHECK(out.result.converged);
      for (const Index k : {1, 2}) {
        CHECK_NEAR(out.inclusion[k], 0.3, 1e-4);
        CHECK_NEAR(out.effect_mean[k], 0.0, 1e-6);
      }
      if (scale > 0.0) {
        CHECK_NEAR(out.effect_variance[1], 0.3 * 2.0 * scale * scale, 1e-3);
      }
    }
  }
}

TEST("noise, separated classes, copies and many columns have answers") {
  for (const Family family : kFamilies) {
    // Noise alone.
    const MatrixXd x = correlated(12, 80, 21);
    const VectorXd none = VectorXd::Zero(12);
    const SelectionProblem noise(x, none, family, 22, 1, 0.1);
    SelectionEpSettings settings = exact(0.0);
    settings.passes.tolerance = 1e-4;
    const SelectionEpOutcome a = noise.run(family, settings);
    CHECK(a.result.converged);
    if (family != Family::hinge) CHECK(a.inclusion.mean() < 0.1);
    // A column and its copy share what is known of it.
    MatrixXd twice = x;
    twice.row(3) = twice.row(2);
    const SelectionProblem copies(twice, 2.0 * VectorXd::Unit(12, 2), family,
                                  23, 1, 0.1);
    const SelectionEpOutcome b = copies.run(family, settings);
    CHECK_NEAR(b.inclusion[1], b.inclusion[2], 1e-2);
    // One column separates.
    const SelectionProblem separated(x, 1e4 * VectorXd::Unit(12, 5), family, 24,
                                     1, 0.1);
    if (family != Family::gaussian) {
      const SelectionEpOutcome c = separated.run(family, settings);
      CHECK(c.inclusion.allFinite() && c.theta_mean.allFinite());
      CHECK(c.inclusion[4] > 0.9);
    }
    // More columns than rows.
    const SelectionProblem wide(correlated(60, 30, 25),
                                3.0 * VectorXd::Unit(60, 20), family, 26, 1,
                                0.02);
    const SelectionEpOutcome d = wide.run(family, settings);
    CHECK(d.inclusion.allFinite() && d.theta_variance.minCoeff() > 0.0);
    Index top;
    d.inclusion.maxCoeff(&top);
    CHECK(top == 19);
  }
}

TEST("a learned probability near its prior is a known one") {
  const MatrixXd x = correlated(6, 40, 31);
  for (const Family family : {Family::probit, Family::gaussian}) {
    SelectionProblem problem(x, VectorXd::Unit(6, 2), family, 32, 1);
    const SelectionEpOutcome known = problem.run(family, exact(0.7));
    problem.selection.learn_rho = true;
    problem.selection.rho_in = 0.3e8;
    problem.selection.rho_out = 0.7e8;
    const SelectionEpOutcome learned = problem.run(family, exact(0.7));
    CHECK_NEAR(learned.log_evidence, known.log_evidence, 1e-5);
    for (Index k = 0; k < 5; ++k) {
      CHECK_NEAR(learned.inclusion[k], known.inclusion[k], 1e-6);
    }
  }
}

TEST("groups that are eliminated are columns, variances learned beside") {
  for (const Family family : kFamilies) {
    Shape shape;
    shape.n = 60;
    shape.fixed = 4;
    shape.groups = 6;
    Problem problem = make_problem(shape, 41);
    Problem twin = dense_twin(problem);
    Selection selection;
    selection.columns = {1, 2, 3};
    selection.half_t.df = 4.0;
    selection.rho = 0.2;
    SelectionEpSettings settings = exact(0.0);
    settings.passes.tolerance = 1e-8;
    const auto run = [&](Problem& from) {
      for (const Index k : selection.columns) {
        from.prior.precision[k] = from.prior.mean[k] = 0.0;
      }
      SerialExecutor serial;
      SelectionEp fit(from.rows, from.prior, selection, serial, family,
                      held(0.7), nullptr);
      return fit.run(settings);
    };
    const SelectionEpOutcome a = run(problem), b = run(twin);
    CHECK(a.result.converged && b.result.converged);
    CHECK(a.x.size() > 4);
    CHECK_NEAR(a.weight.sum(), 1.0, 1e-12);
    CHECK_NEAR(a.log_evidence, b.log_evidence, 1e-6);
    for (Index k = 0; k < 3; ++k) {
      CHECK_NEAR(a.inclusion[k], b.inclusion[k], 1e-6);
      CHECK_NEAR(a.effect_variance[k], b.effect_variance[k], 1e-6);
    }
    CHECK_NEAR(a.leave_one_out.sum(), b.leave_one_out.sum(), 1e-5);
  }
}
