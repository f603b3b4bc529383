// Expectation propagation of processes: the exact one in function space, that
// of inducing points by its features, and derivatives of the evidence.
#include "rows/memory_readers.hpp"
#include "ep/fit.hpp"
#include "gp/bound_gradient.hpp"
#include "gp/exact_ep.hpp"
#include "rng/stream.hpp"

#include "check.hpp"

using namespace bayeskernel;

namespace {
const Family kAll[] = {Family::hinge, Family::probit, Family::logit,
                       Family::gaussian};

struct Problem {
  PackedRows raw;  // predictors in x

  Problem(Family family, Index n) {
    raw.x.resize(2, n);
    raw.z.resize(0, n);
    raw.y.resize(n);
    raw.weight.resize(n);
    raw.offset.resize(n);
    Stream stream(11, 0, Purpose::predict, 0, 0);
    for (Index i = 0; i < n; ++i) {
      raw.x(0, i) = stream.normal();
      raw.x(1, i) = stream.normal();
      raw.offset[i] = 0.3 * stream.normal();
      raw.weight[i] = 0.6 + stream.uniform();
      const double f = raw.x(0, i) * raw.x(1, i) + raw.x(0, i);
      const double noisy = f + 0.5 * stream.normal();
      raw.y[i] = family == Family::gaussian ? noisy : noisy > 0.0 ? 1.0 : -1.0;
    }
    raw.finish({});
  }
};

EpSettings tight() {
  EpSettings out;
  out.tolerance = 1e-12;
  out.max_passes = 400;
  return out;
}

const double kNoise = 0.4;

// 1, then the features.
PackedRows with_intercept(const Problem& problem, const Features& features) {
  SerialExecutor serial;
  PackedRows phi, out;
  keep_features(FeatureRows(problem.raw, features, serial), phi);
  out.x.resize(1 + phi.x.rows(), phi.x.cols());
  out.x.row(0).setOnes();
  out.x.bottomRows(phi.x.rows()) = phi.x;
  out.z.resize(0, phi.x.cols());
  out.y = phi.y;
  out.weight = phi.weight;
  out.offset = problem.raw.offset;
  out.residual = phi.residual;
  out.finish({});
  return out;
}

Prior prior_of(Index m) {
  Prior out = unit_prior(m + 1);
  out.precision[0] = 0.1;
  return out;
}

struct Answer {
  double log_z, noise_slope;
  BoundGradient gradient;
};

Answer evidence(Family family, const Problem& problem, const Kernel& kernel,
                double nugget, const MatrixXd& z, double noise) {
  SerialExecutor serial;
  const Features features(kernel, z, nugget);
  const PackedRows rows = with_intercept(problem, features);
  const Index m = features.columns();
  const Prior prior = prior_of(m);
  EpFit fit(rows, prior, serial, family);
  fit.sites.residual_slope = VectorXd::Zero(rows.rows());
  fit.set({}, noise);
  CHECK(fit.run(tight()).converged);
  const MatrixXd s = fit.posterior().theta_covariance();
  const MatrixXd ones = MatrixXd::Ones(1, rows.rows());
  const BesideFeatures beside{ones, fit.posterior().mean.x.head(1),
                              s.bottomLeftCorner(m, 1)};
  return {fit.log_z(), fit.noise_slope(),
          BoundGradientPass(problem.raw, features, serial, &fit.sites)
              .run(fit.posterior().mean.x.tail(m), s.bottomRightCorner(m, m),
                   true, &beside)};
}
}  // namespace

TEST("the evidence has the derivatives that it names") {
  for (const Family family : kAll) {
    const Problem problem(family, 50);
    const MatrixXd z = problem.raw.x.leftCols(6);
    const Kernel kernel = Kernel::rbf(Eigen::Vector2d(0.9, 1.4), 1.6);
    const auto at = [&](const Kernel& k, double nugget, const MatrixXd& points,
                        double noise) {
      return evidence(family, problem, k, nugget, points, noise).log_z;
    };
    const Answer found = evidence(family, problem, kernel, 0.2, z, kNoise);
    const double h = 1e-4;
    const VectorXd log = kernel.log_parameters();
    for (Index k = 0; k < log.size(); ++k) {
      Kernel up = kernel, down = kernel;
      up.set_log_parameters(log + h * VectorXd::Unit(log.size(), k));
      down.set_log_parameters(log - h * VectorXd::Unit(log.size(), k));
      CHECK_NEAR(found.gradient.kernel[k],
                 (at(up, 0.2, z, kNoise) - at(down, 0.2, z, kNoise)) / (2 * h),
                 1e-6);
    }
    CHECK_NEAR(
        found.gradient.nugget,
        (at(kernel, 0.2 + h, z, kNoise) - at(kernel, 0.2 - h, z, kNoise)) /
            (2 * h),
        1e-6);
    MatrixXd up = z, down = z;
    up(1, 2) += h;
    down(1, 2) -= h;
    CHECK_NEAR(
        found.gradient.locations(1, 2),
        (at(kernel, 0.2, up, kNoise) - at(kernel, 0.2, down, kNoise)) / (2 * h),
        1e-6);
    if (family == Family::gaussian) {
      CHECK_NEAR(found.noise_slope,
                 (at(kernel, 0.2, z, kNoise * std::exp(h)) -
                  at(kernel, 0.2, z, kNoise * std::exp(-h))) /
                     (2 * h),
                 1e-6);
    }
  }
}

TEST("the exact process is that of inducing points at every row") {
  for (const Family family : kAll) {
    for (const double nugget : {0.0, 0.3}) {
      const Problem problem(family, 40);
      const Index n = 40;
      const Features features(Kernel::rbf(Eigen::Vector2d(0.9, 1.4), 1.6),
                              problem.raw.x, nugget);
      PackedRows rows, featured;
      exact_rows(n, nugget, rows);
      exact_features(features, featured);
      for (PackedRows* part : {&rows, &featured}) {
        part->y = problem.raw.y;
        part->weight = problem.raw.weight;
        part->offset = problem.raw.offset;
      }
      // Rows that say nothing, too.
      if (family != Family::gaussian) {
        for (Index i : {3, 4, 5}) {
          rows.offset[i] = featured.offset[i] = 60.0 * rows.y[i];
        }
      }
      ExactEp exact(features.gram(), rows, family, kNoise);
      const EpResult passes = exact.run(tight());
      CHECK(passes.converged);
      SerialExecutor serial;
      const Prior prior = unit_prior(n);
      EpFit fit(featured, prior, serial, family);
      fit.set({}, kNoise);
      const EpResult other_passes = fit.run(tight());
      CHECK(other_passes.converged);
      CHECK(std::abs(passes.passes - other_passes.passes) <= 3);
      CHECK_NEAR(exact.log_z(), fit.log_z(), 1e-8);
      const WhitenedPosterior q = whitened(features, exact);
      const GaussianPosterior& other = fit.posterior();
      CHECK((q.mean - other.mean.x).cwiseAbs().maxCoeff() < 1e-6);
      CHECK((q.whitener.transpose() * q.whitener - other.theta_covariance())
                .cwiseAbs()
                .maxCoeff() < 1e-6);
      for (Index i = 0; i < n; ++i) {
        CHECK_NEAR(exact.sites.kappa[i], fit.sites.kappa[i], 1e-6);
        CHECK_NEAR(exact.sites.b[i], fit.sites.b[i], 1e-6);
        CHECK_NEAR(exact.variance()[i], fit.sites.variance[i] + nugget, 1e-6);
        CHECK_NEAR(exact.mean()[i], fit.sites.mean[i], 1e-6);
        CHECK_NEAR(exact.sites.cavity_variance[i], fit.sites.cavity_variance[i],
                   1e-5);
      }
      if (family == Family::gaussian) {
        CHECK_NEAR(exact.noise_slope(), fit.noise_slope(), 1e-6);
      }
    }
  }
}

TEST("a residual is an explicit effect of each row") {
  for (const Family family : kAll) {
    const Problem problem(family, 30);
    const Features features(Kernel::rbf(Eigen::Vector2d(0.9, 1.4), 1.6),
                            problem.raw.x.leftCols(4), 0.1);
    const PackedRows rows = with_intercept(problem, features);
    const Index n = rows.rows(), p = rows.x.rows();
    PackedRows wide;
    wide.x = MatrixXd::Zero(p + n, n);
    wide.x.topRows(p) = rows.x;
    for (Index i = 0; i < n; ++i) {
      wide.x(p + i, i) = std::sqrt(rows.residual[i]);
    }
    wide.z.resize(0, n);
    wide.y = rows.y;
    wide.weight = rows.weight;
    wide.offset = rows.offset;
    wide.finish({});
    SerialExecutor serial;
    const Prior prior = prior_of(p - 1), more = prior_of(p + n - 1);
    EpFit fit(rows, prior, serial, family), other(wide, more, serial, family);
    for (EpFit* each : {&fit, &other}) {
      each->set({}, kNoise);
      CHECK(each->run(tight()).converged);
    }
    CHECK_NEAR(fit.log_z(), other.log_z(), 1e-9);
    CHECK((fit.posterior().mean.x - other.posterior().mean.x.head(p))
              .cwiseAbs()
              .maxCoeff() < 1e-7);
    CHECK((fit.posterior().theta_covariance() -
           other.posterior().theta_covariance().topLeftCorner(p, p))
              .cwiseAbs()
              .maxCoeff() < 1e-7);
  }
}

TEST("messages to start from spare passes and change nothing") {
  const Problem problem(Family::hinge, 60);
  const Features features(Kernel::rbf(Eigen::Vector2d(0.9, 1.4), 1.6),
                          problem.raw.x.leftCols(6), 0.0);
  const PackedRows rows = with_intercept(problem, features);
  const Prior prior = prior_of(6);
  SerialExecutor serial;
  EpFit cold(rows, prior, serial, Family::hinge);
  const EpResult first = cold.run(tight());
  EpFit warm(rows, prior, serial, Family::hinge);
  warm.start_from(cold.sites.kappa, cold.sites.b);
  const EpResult second = warm.run(tight());
  CHECK(second.passes < first.passes - 5);
  CHECK_NEAR(warm.log_z(), cold.log_z(), 1e-9);

  PackedRows plain;
  exact_rows(60, 0.0, plain);
  plain.y = rows.y;
  plain.weight = rows.weight;
  plain.offset = rows.offset;
  const Features own(Kernel::rbf(Eigen::Vector2d(0.9, 1.4), 1.6), problem.raw.x,
                     0.0);
  ExactEp exact(own.gram(), plain, Family::hinge);
  const EpResult third = exact.run(tight());
  ExactEp again(own.gram(), plain, Family::hinge);
  again.start_from(exact.sites.kappa, exact.sites.b);
  CHECK(again.run(tight()).passes < third.passes - 5);
  CHECK_NEAR(again.log_z(), exact.log_z(), 1e-9);
}
