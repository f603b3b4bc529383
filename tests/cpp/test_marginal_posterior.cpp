// Likelihoods of groups with what rows miss and effects integrated out, and
// their posterior: against one normal density of all rows.
#include <Eigen/Cholesky>

#include "check.hpp"
#include "hinge_problem.hpp"
#include "math/spd.hpp"
#include "missing/group_likelihood.hpp"
#include "missing/marginal_posterior.hpp"
#include "missing/shared_likelihood.hpp"

using bayeskernel::Family;
using bayeskernel::GroupLikelihood;
using bayeskernel::HalfT;
using bayeskernel::MarginalLikelihood;
using bayeskernel::MarginalPosterior;
using bayeskernel::SharedLikelihood;
using bayeskernel::VariancePrior;

// Groups of four rows, an intercept and two predictors that may be missing, an
// effect of each group and, beside it, a slope.
struct Shared {
  static constexpr Index kGroups = 6, kRows = 24;
  VectorXd y, weight;
  MatrixXd x, z, open, mean, toward, apart;
  std::vector<int> group;
  std::vector<SharedLikelihood::Pattern> patterns;
  std::vector<SharedLikelihood::Use> uses;
  MatrixXd precision, left;

  explicit Shared(unsigned seed) {
    Draw draw(seed);
    y = draw.matrix(kRows, 1);
    weight = (0.5 + draw.matrix(kRows, 1).array().square()).matrix();
    x = draw.matrix(kRows, 3);
    x.col(0).setOnes();
    z = draw.matrix(kRows, 2);
    z.col(0).setOnes();
    mean = draw.matrix(kRows, 2);
    toward = MatrixXd::Zero(kRows, 2);
    apart = MatrixXd::Zero(kRows, 4);
    open.resize(4, kGroups);
    for (Index g = 0; g < kGroups; ++g) {
      const MatrixXd own = positive(draw);
      open.col(g) = Eigen::Map<const VectorXd>(own.data(), 4);
    }
    left = positive(draw);
    precision = positive(draw);
    patterns.resize(3);
    for (int k = 0; k < 3; ++k) {
      MatrixXd move = MatrixXd::Zero(2, 2), own = MatrixXd::Zero(2, 2);
      for (int j = 0; j < 2; ++j) {
        if (k != 2 && k != j) continue;
        move(j, j) = 1.0;
        own(j, j) = left(j, j);
        if (k != 2) move(j, 1 - j) = -0.4;
      }
      if (k == 2) own = left;
      patterns[k].move = move;
      patterns[k].left = patterns[k].bare = own;
    }
    for (int i = 0; i < kRows; ++i) {
      group.push_back(i / 4);
      if (i % 4 == 3) continue;
      patterns[i % 4].rows.push_back(i);
      for (int j = 0; j < 2; ++j) {
        if (i % 4 == 2 || i % 4 == j) {
          uses.push_back({i, j + 1, j, 1.3, draw.matrix(1, 1)(0, 0)});
        }
      }
    }
  }

  static MatrixXd positive(Draw& draw) {
    const MatrixXd root = draw.matrix(2, 2);
    return root * root.transpose() + 0.3 * MatrixXd::Identity(2, 2);
  }

  SharedLikelihood likelihood() const {
    return SharedLikelihood({y, weight, x, z, group, static_cast<int>(kGroups),
                             patterns, uses, open, mean, toward, apart});
  }

  double dense(const VectorXd& theta, const MatrixXd& psi, double noise) const {
    MatrixXd columns = x, slope = MatrixXd::Zero(kRows, 2),
             load = MatrixXd::Zero(kRows, 2);
    for (const auto& use : uses) {
      columns(use.row, use.column) = use.value;
      slope(use.row, use.place) = use.slope * theta[use.column];
    }
    MatrixXd covariance = MatrixXd::Zero(kRows, kRows);
    for (const auto& one : patterns) {
      for (const int i : one.rows) {
        load.row(i) = slope.row(i) * one.move;
        covariance(i, i) = slope.row(i) * one.left * slope.row(i).transpose();
      }
    }
    const MatrixXd effects = bayeskernel::spd_inverse(psi, "psi");
    for (Index i = 0; i < kRows; ++i) {
      covariance(i, i) += noise / weight[i];
      for (Index j = 0; j < kRows; ++j) {
        if (group[i] != group[j]) continue;
        const Eigen::Map<const MatrixXd> own(open.col(group[i]).data(), 2, 2);
        covariance(i, j) += z.row(i) * effects * z.row(j).transpose();
        covariance(i, j) += load.row(i) * own * load.row(j).transpose();
      }
    }
    const VectorXd gap = y - columns * theta;
    const VectorXd turned =
        bayeskernel::spd_inverse(covariance, "covariance") * gap;
    return -0.5 * (kRows * std::log(2.0 * M_PI) +
                   bayeskernel::spd_log_det(covariance) + gap.dot(turned));
  }
};

TEST("the likelihood of groups with missing numbers is the dense one") {
  const Shared rows(1);
  const SharedLikelihood likelihood = rows.likelihood();
  VectorXd theta(3);
  theta << 0.3, 0.8, -0.5;
  const double noise = 0.7, h = 1e-5;
  const auto found = likelihood.look(theta, rows.precision, noise, true);
  CHECK_NEAR(found.value, rows.dense(theta, rows.precision, noise), 1e-10);
  const auto slope = [&](auto&& f) { return (f(h) - f(-h)) / (2.0 * h); };
  for (Index j = 0; j < 3; ++j) {
    const auto moved = [&](double t) {
      VectorXd there = theta;
      there[j] += t;
      return there;
    };
    CHECK_NEAR(found.theta[j], slope([&](double t) {
                 return rows.dense(moved(t), rows.precision, noise);
               }),
               1e-6);
  }
  CHECK_NEAR(found.scale, slope([&](double t) {
               return rows.dense(theta, rows.precision * std::exp(-t), noise);
             }),
             1e-6);
  CHECK_NEAR(found.noise, slope([&](double t) {
               return rows.dense(theta, rows.precision, noise * std::exp(t));
             }),
             1e-6);
}

TEST("where rows know nothing of others both scores are one") {
  // Without effects that are left open, and effects of the groups far from
  // nothing known.
  Shared rows(2);
  rows.open *= 1e-12;
  const SharedLikelihood likelihood = rows.likelihood();
  VectorXd theta(3);
  theta << 0.3, 0.0, 0.0;
  const MatrixXd sure = rows.precision * 1e9;
  const auto all = likelihood.look(theta, sure, 1.0, false);
  const auto alone = likelihood.apart(theta, sure);
  for (Index j = 0; j < 3; ++j) CHECK_NEAR(alone.theta[j], all.theta[j], 1e-6);
}

TEST("the peak has no slope, and points lie on its ridge") {
  const Shared rows(3);
  const SharedLikelihood likelihood = rows.likelihood();
  MarginalPosterior::Settings settings;
  settings.prior_precision = MatrixXd::Identity(3, 3);
  settings.prior_mean = VectorXd::Zero(3);
  settings.precision = rows.precision;
  settings.noise_prior = VariancePrior(2.0, 1.0, HalfT{});
  const MarginalPosterior target(likelihood, settings);
  const auto peak = target.peak(VectorXd::Zero(3));
  CHECK(peak.has_value());
  if (!peak) return;
  const auto here = target.look(peak->phi, true);
  for (Index j = 0; j < 3; ++j) {
    CHECK(std::abs(here.score[j]) * std::sqrt(peak->covariance(j, j)) < 0.02);
  }
  CHECK_NEAR(peak->phi[3], 0.0, 1e-15);
  MatrixXd within, moves(2, 1);
  moves << 0.0, 0.3;
  const auto points = target.points(*peak, moves, within);
  for (const auto& point : points) {
    CHECK(std::isfinite(point.log_density));
    CHECK_NEAR(point.effects.cols(), Shared::kGroups, 0.0);
  }
  // The first is at the peak.
  CHECK((points[0].theta - peak->phi.head(3)).norm() < 0.05);
}

TEST("a lattice with too many nodes is not known, not wrong") {
  MatrixXd x(2, 1);
  x << 0.0, 4.0;
  const VectorXd y = VectorXd::Constant(2, 2.0), one = VectorXd::Ones(2),
                 none = VectorXd::Zero(2),
                 half = VectorXd::Constant(2, std::log(0.5));
  const GroupLikelihood likelihood(
      {Family::gaussian, x, y, none, one, one, half, {0, 0}, {0, 0}, 1});
  const MatrixXd unit = MatrixXd::Identity(1, 1);
  const VectorXd theta = VectorXd::Ones(1);
  CHECK(std::isfinite(likelihood.look(theta, unit, 0.01, true).value));
  const auto lost = likelihood.look(theta, unit, 1e-9, false);
  CHECK(std::isnan(lost.value) && std::isnan(lost.theta[0]));
}
