#include <Eigen/Eigenvalues>

#include "check.hpp"
#include "math/special.hpp"
#include "multinomial/learning.hpp"
#include "multinomial/predict.hpp"
#include "multinomial_problem.hpp"

using bayeskernel::KernelLearner;
using bayeskernel::log_gamma;
using bayeskernel::WeightPosterior;
using bayeskernel::WeightSettings;

static VectorXd two(double a, double b) {
  return (VectorXd(2) << a, b).finished();
}

// A concave quadratic, as of a sum's fit.
struct Quadratic {
  VectorXd slope;
  MatrixXd bend;
  double operator()(const VectorXd& beta, VectorXd* gradient) const {
    if (gradient != nullptr) *gradient += slope - bend * beta;
    return beta.dot(slope - 0.5 * bend * beta);
  }
};

static Quadratic two_weights(double size, double top) {
  MatrixXd bend(2, 2);
  bend << 2.0, 0.4, 0.4, 1.0;
  bend *= size;
  return {bend * two(top, 1.0 - top), bend};
}

// Moments of q(beta) and the part of the bound, S = 2, E rho held at 1 by a
// prior that is nearly a point.
struct Exact {
  double mean = 0.0, sd = 0.0, log_mean = 0.0, bound = 0.0;
};
static Exact by_quadrature(const Quadratic& f) {
  Exact out;
  double total = 0.0, square = 0.0;
  const int nodes = 200000;
  const double shift = f(two(0.3, 0.7), nullptr);
  double value = 0.0;
  for (int k = 0; k < nodes; ++k) {
    const double b = (k + 0.5) / nodes;
    const double own = f(two(b, 1.0 - b), nullptr);
    const double p = std::exp(own - shift);
    total += p;
    out.mean += p * b;
    square += p * b * b;
    out.log_mean += p * std::log(b);
    value += p * own;
  }
  out.mean /= total;
  out.log_mean /= total;
  out.sd = std::sqrt(square / total - out.mean * out.mean);
  // - E log q, and log p = 0.
  out.bound = shift + std::log(total / nodes) - value / total;
  return out;
}

static WeightSettings held_rho(bool slice, Index points) {
  WeightSettings out;
  out.slice = slice;
  out.first = out.second = 1e8;
  out.points = points;
  out.steps = 20000;
  return out;
}

TEST("moments of a sum's weights are those of quadrature") {
  for (const double size : {3.0, 60.0, 2e6}) {
    const Quadratic f = two_weights(size, 0.3);
    const Exact exact = by_quadrature(f);
    for (const bool slice : {false, true}) {
      WeightPosterior q(2, held_rho(slice, 20000));
      const bool same = q.update(f);
      // Flat points are too few for a narrow law: then others are.
      CHECK(same == (slice || size < 1e5));
      CHECK(q.effective() >= 1000.0);
      const double error = exact.sd / std::sqrt(q.effective());
      CHECK(std::abs(q.mean()[0] - exact.mean) < 4.5 * error);
      CHECK_NEAR(q.mean().sum(), 1.0, 1e-12);
      CHECK(std::abs(std::sqrt(q.covariance()(0, 0)) / exact.sd - 1.0) < 0.06);
      CHECK(std::abs(q.log_mean()[0] - exact.log_mean) <
            4.5 * error / exact.mean + 0.003);
      CHECK(std::abs(q.bound() - exact.bound) < 0.06);
      const MatrixXd spread = q.spread();
      CHECK(spread.cols() == 1);
      CHECK((spread * spread.transpose() - q.covariance()).norm() <
            1e-8 * q.covariance().norm());
      const MatrixXd draws = q.draws(4000);
      CHECK(std::abs(draws.row(0).mean() - q.mean()[0]) < 0.05 * exact.sd);
      const double below = q.quantile(0, 0.975);
      CHECK(below > exact.mean + exact.sd);
      CHECK(below < exact.mean + 3.0 * exact.sd);
    }
  }
}

TEST("both ways agree on four weights, shapes and rates included") {
  MatrixXd root = normal_matrix(4, 4, 5);
  const MatrixXd bend =
      40.0 * (root * root.transpose() + MatrixXd::Identity(4, 4));
  const VectorXd top = (VectorXd(4) << 0.1, 0.2, 0.3, 0.4).finished();
  const Quadratic f{bend * top, bend};
  for (const bool product : {false, true}) {
    WeightSettings set;
    set.product = product;
    set.first = 2.0;
    set.second = 1.5;
    set.points = 20000;
    WeightPosterior importance(4, set);
    set.slice = true;
    set.steps = 40000;
    WeightPosterior slice(4, set);
    for (int k = 0; k < 10; ++k) {
      importance.update(f);
      slice.update(f);
    }
    for (Index s = 0; s < 4; ++s) {
      const double sd = std::sqrt(slice.covariance()(s, s));
      const double error = sd * (1.0 / std::sqrt(importance.effective()) +
                                 1.0 / std::sqrt(slice.effective()));
      CHECK(std::abs(importance.mean()[s] - slice.mean()[s]) < 4.5 * error);
      CHECK(std::abs(std::sqrt(importance.covariance()(s, s)) - sd) <
            4.5 * error);
    }
    CHECK(std::abs(importance.bound() - slice.bound()) <
          4.5 / std::sqrt(importance.effective()));
  }
}

TEST("pi and chi have the moments of their law") {
  // Two steps at a point that f pins down: E pi = 2 / r.
  const Quadratic f{1e6 * two(0.5, 2.0), 1e6 * MatrixXd::Identity(2, 2)};
  WeightSettings set;
  set.product = true;
  set.first = 2.0;
  set.second = 1.5;
  WeightPosterior q(2, set);
  q.update(f);
  q.update(f);
  // log p(beta) of beta = 0.5 and 2, less q's entropy, by quadrature of
  // int int p(pi) p(chi) chi^pi / Gamma(pi) beta^(pi - 1) exp(-chi beta).
  double expected = 0.0;
  for (const double beta : {0.5, 2.0}) {
    double sum = 0.0;
    const int nodes = 1000;
    for (int i = 0; i < nodes; ++i) {
      const double pi = (i + 0.5) * 12.0 / nodes;
      for (int j = 0; j < nodes; ++j) {
        const double chi = (j + 0.5) * 20.0 / nodes;
        sum += 2.0 * std::exp(-2.0 * pi) * 1.5 *
               std::exp(-1.5 * chi - log_gamma(pi) + pi * std::log(chi) +
                        (pi - 1.0) * std::log(beta) - chi * beta);
      }
    }
    expected += std::log(sum * 12.0 * 20.0 / nodes / nodes);
    // The entropy of a normal with variance 1e-6.
    expected += 0.5 * std::log(2.0 * 3.14159265358979 * std::exp(1.0) * 1e-6);
  }
  CHECK(std::abs(q.bound() - expected) < 0.05);
}

static MultinomialSettings passes_of(LatentScales scales, int passes) {
  MultinomialSettings out;
  out.scales = scales;
  out.alpha0 = scales == LatentScales::fixed ? 5.0 : 1.0;
  out.tau = 2.0;
  out.tolerance = 0.0;
  out.max_passes = passes;
  return out;
}

TEST("the bound rises with weights of fixed points") {
  const MultinomialProblem problem(30, 3, 5);
  SerialExecutor serial;
  for (const bool bias : {true, false}) {
    for (const auto scales :
         {LatentScales::by_class, LatentScales::shared, LatentScales::fixed}) {
      const MultinomialSettings settings = passes_of(scales, 80);
      Composite composite = problem.composite(Combination::sum, bias);
      MultinomialFit fit(problem.t, 3, settings, serial);
      KernelLearner learner(composite, two(0.5, 0.5), {}, {true, false}, fit,
                            settings, serial);
      WeightSettings set;
      set.points = 2000;
      WeightPosterior q(2, set);
      const MultinomialResult result = learner.spread({&q}, go_on);
      CHECK(result.bound.size() > 40);
      for (std::size_t k = 1; k < result.bound.size(); ++k) {
        CHECK(result.bound[k] >=
              result.bound[k - 1] - 1e-9 * (1.0 + std::abs(result.bound[k])));
      }
      CHECK(q.effective() >= WeightPosterior::kFewest);
      CHECK(std::abs(q.mean()[0] - 0.5) > 0.01);
    }
  }
}

// Section 6 of the theory term by term, with dense matrices and E K K' as an
// average over draws of the weights.
TEST("the bound with weights that are not known is that of its terms") {
  const MultinomialProblem problem(20, 3, 7);
  SerialExecutor serial;
  const MultinomialSettings settings = passes_of(LatentScales::fixed, 6);
  Composite composite = problem.composite(Combination::sum, true);
  MultinomialFit fit(problem.t, 3, settings, serial);
  KernelLearner learner(composite, two(0.5, 0.5), {}, {true, false}, fit,
                        settings, serial);
  WeightSettings set;
  set.slice = true;  // its points are equally probable
  set.steps = 400;
  WeightPosterior q(2, set);
  const MultinomialResult result = learner.spread({&q}, go_on);
  const MatrixXd points = q.draws(400);
  MatrixXd gram = MatrixXd::Zero(21, 21), mean = MatrixXd::Zero(21, 20);
  for (Index k = 0; k < 400; ++k) {
    const Design design(composite, points.col(k), serial);
    gram += design.matrix() * design.matrix().transpose() / 400.0;
    mean += design.matrix() / 400.0;
  }
  CHECK((gram - fit.gram()).norm() < 1e-9 * gram.norm());
  CHECK((mean - learner.design().matrix()).norm() < 1e-9 * mean.norm());
  const MatrixXd f = fit.mean() * mean;
  bayeskernel::ConicRule rule(3);
  double bound = q.bound();
  for (Index i = 0; i < 20; ++i) {
    VectorXd y(3);
    bound += rule.moments(f.col(i).data(), problem.t[i], y.data());
    bound += 0.5 * f.col(i).squaredNorm();
  }
  for (Index c = 0; c < 3; ++c) {
    const MatrixXd v = fit.factor(c).covariance();
    const VectorXd w = fit.mean().row(c).transpose();
    bound -= 0.5 * ((v * gram).trace() + w.dot(gram * w));
    const Eigen::SelfAdjointEigenSolver<MatrixXd> own(v);
    bound += 0.5 * (21.0 + own.eigenvalues().array().log().sum());
    bound += 0.5 * 21.0 * std::log(5.0) - 2.5 * (w.squaredNorm() + v.trace());
  }
  CHECK_NEAR(result.bound.back(), bound, 1e-9);
}

TEST("weights of a product by points are those of the sampler") {
  const MultinomialProblem problem(20, 3, 5);
  SerialExecutor serial;
  const MultinomialSettings settings = passes_of(LatentScales::shared, 6);
  std::vector<WeightPosterior> found;
  for (const bool slice : {false, true}) {
    Composite composite = problem.composite(Combination::product);
    MultinomialFit fit(problem.t, 3, settings, serial);
    KernelLearner learner(composite, two(1.0, 1.0), {}, {true, false}, fit,
                          settings, serial);
    WeightSettings set;
    set.product = true;
    set.slice = slice;
    set.points = 400;
    set.steps = 400;
    found.emplace_back(2, set);
    const MultinomialResult result = learner.spread({&found.back()}, go_on);
    CHECK(std::isfinite(result.bound.back()));
    CHECK(found.back().effective() >= WeightPosterior::kFewest);
  }
  for (Index s = 0; s < 2; ++s) {
    const double sd = std::sqrt(found[1].covariance()(s, s));
    CHECK(sd > 0.0);
    CHECK(std::abs(found[0].mean()[s] - found[1].mean()[s]) <
          5.0 * sd *
              (1.0 / std::sqrt(found[0].effective()) +
               1.0 / std::sqrt(found[1].effective())));
  }
}

// Variances of new functions against draws of the weights and of W.
TEST("predictions know the spread of the weights") {
  const MultinomialProblem problem(20, 3, 9);
  SerialExecutor serial;
  const MultinomialSettings settings = passes_of(LatentScales::shared, 5);
  Composite composite = problem.composite(Combination::sum, true);
  MultinomialFit fit(problem.t, 3, settings, serial);
  KernelLearner learner(composite, two(0.5, 0.5), {}, {true, false}, fit,
                        settings, serial);
  WeightSettings set;
  set.slice = true;
  set.steps = 400;
  WeightPosterior q(2, set);
  learner.spread({&q}, go_on);
  std::vector<bayeskernel::RegressionFactor> factors;
  factors.push_back(fit.factor(0));
  const MatrixXd v = factors[0].covariance();
  const bayeskernel::MultinomialPosterior posterior(fit.mean(),
                                                    std::move(factors));
  std::vector<Design> beyond;
  const MatrixXd spread = q.spread();
  for (Index k = 0; k < spread.cols(); ++k) {
    beyond.emplace_back(composite, spread.col(k), serial, 0.0, 0.0);
  }
  const auto found = bayeskernel::predict_classes(posterior, learner.design(),
                                                  0, serial, beyond);
  const MatrixXd points = q.draws(400);
  MatrixXd first = MatrixXd::Zero(3, 20), second = first;
  for (Index k = 0; k < 400; ++k) {
    const Design design(composite, points.col(k), serial);
    const MatrixXd f = fit.mean() * design.matrix();
    first += f / 400.0;
    second += f.cwiseAbs2() / 400.0;
    second.rowwise() +=
        (v * design.matrix()).cwiseProduct(design.matrix()).colwise().sum() /
        400.0;
  }
  CHECK((found.mean - first).norm() < 1e-9 * first.norm());
  const MatrixXd variance = second - first.cwiseAbs2();
  CHECK((found.variance - variance).norm() < 1e-8 * variance.norm());
}

// Those that the paper prints: draws from the prior, which stay.
TEST("points of the prior have the moments of quadrature") {
  const Quadratic f = two_weights(60.0, 0.3);
  const Exact exact = by_quadrature(f);
  WeightSettings set = held_rho(false, 20000);
  set.printed = true;
  set.held = true;
  set.first = 1.0;
  WeightPosterior q(2, set);
  for (int k = 0; k < 3; ++k) q.update(f);
  const double error = exact.sd / std::sqrt(q.effective());
  CHECK(q.effective() >= 3000.0);
  CHECK(std::abs(q.mean()[0] - exact.mean) < 4.5 * error);
  CHECK(std::abs(std::sqrt(q.covariance()(0, 0)) / exact.sd - 1.0) < 0.06);
  CHECK(!q.exact());
  // Weights of passes before count: that of the first was larger.
  const auto higher = [&](const VectorXd& beta, VectorXd* gradient) {
    return f(beta, gradient) + 40.0;
  };
  const auto other = two_weights(60.0, 0.8);
  WeightPosterior kept(2, set);
  kept.update(higher);
  const double before = kept.mean()[0];
  kept.update(other);
  const Exact last = by_quadrature(other);
  CHECK(std::abs(kept.mean()[0] - before) <
        std::abs(kept.mean()[0] - last.mean));
}
