#include <algorithm>
#include <string>

#include "check.hpp"
#include "math/special.hpp"
#include "multinomial/gibbs.hpp"
#include "multinomial_problem.hpp"

using bayeskernel::digamma;
using bayeskernel::MultinomialChain;
using bayeskernel::MultinomialGibbsSettings;
using bayeskernel::WeightPrior;

// The mean of draws against what the prior says, by the errors of 40 batches.
struct PriorCheck {
  static constexpr int kBatches = 40;

  void expect(const std::string& name, double mean) {
    names.push_back(name);
    means.push_back(mean);
  }
  void add(const std::vector<double>& values) {
    draws.insert(draws.end(), values.begin(), values.end());
  }
  double largest() const {
    const Index v = static_cast<Index>(means.size());
    const Index size = static_cast<Index>(draws.size()) / v / kBatches;
    double most = 0.0;
    for (Index k = 0; k < v; ++k) {
      VectorXd batch = VectorXd::Zero(kBatches);
      for (Index i = 0; i < size * kBatches; ++i) {
        batch[i / size] += draws[i * v + k] / static_cast<double>(size);
      }
      const double mean = batch.mean();
      const double error = std::sqrt((batch.array() - mean).square().sum() /
                                     (kBatches - 1.0) / kBatches);
      const double z = (mean - means[k]) / error;
      if (std::abs(z) > 4.5) {
        std::printf("  %s: %.4f, prior %.4f, z %.2f\n", names[k].c_str(), mean,
                    means[k], z);
      }
      most = std::max(most, std::abs(z));
    }
    return most;
  }

  std::vector<std::string> names;
  std::vector<double> means, draws;
};

// Geweke (2004): sweeps of the chain and new latent vectors given all else take
// turns; what they visit is the prior.
static double geweke(WeightPrior weights, bool lengthscales, bool collapsed,
                     LatentScales scales, std::uint64_t seed) {
  const MultinomialProblem problem(5, 3, seed);
  MultinomialGibbsSettings set;
  set.scales = scales;
  set.tau = 5.0;
  set.nu = 4.0;
  set.weights = weights;
  set.lengthscales = lengthscales;
  set.collapsed = collapsed;
  set.first = weights == WeightPrior::bernoulli ? 0.4 : 2.0;
  set.second = 1.5;
  set.theta_shape = 3.0;
  set.theta_rate = 4.0;
  const bool product = weights == WeightPrior::gamma;
  MultinomialChain chain(
      problem.composite(product ? Combination::product : Combination::sum,
                        true),
      problem.t, 3, VectorXd::Ones(2), set, seed, 0, 0);
  PriorCheck check;
  check.expect("log alpha", digamma(5.0) - std::log(4.0));
  check.expect("scaled w^2", 1.0);
  check.expect("scaled w", 0.0);
  for (int c = 0; c < 3; ++c) check.expect("class", 1.0 / 3.0);
  if (weights == WeightPrior::dirichlet) {
    check.expect("beta", 0.5);
    check.expect("log rho", digamma(2.0) - std::log(1.5));
    check.expect("rho", 2.0 / 1.5);
  } else if (product) {
    check.expect("log pi", digamma(1.0) - std::log(2.0));
    check.expect("pi", 0.5);
    check.expect("log chi", digamma(1.0) - std::log(1.5));
    check.expect("log of one more than beta is below", 0.0);
  } else if (weights == WeightPrior::bernoulli) {
    check.expect("first", 0.4);
    check.expect("second", 0.4);
  }
  if (lengthscales) {
    check.expect("log theta", digamma(3.0) - std::log(4.0));
    check.expect("theta", 3.0 / 4.0);
  }
  // E of a bounded function of beta ~ Gamma(pi, chi), by simulation.
  double bounded = 0.0;
  const int simulated = 400000;
  if (product) {
    Stream stream(7, 0, 1, 0, 0);
    for (int k = 0; k < simulated; ++k) {
      const double shape = stream.exponential() / 2.0;
      const double rate = stream.exponential() / 1.5;
      const double beta =
          std::exp(bayeskernel::log_gamma_variate(stream, shape)) / rate;
      bounded += beta / (1.0 + beta) / simulated;
    }
    check.means[9] = bounded;
  }
  const int sweeps = check::slow() ? 60000 : 12000;
  for (int k = 0; k < sweeps; ++k) {
    chain.sweep();
    const auto& at = chain.state;
    std::vector<double> now(6, 0.0);
    const MatrixXd alpha =
        at.alpha.rows() == 1 ? MatrixXd(at.alpha.replicate(3, 1)) : at.alpha;
    const MatrixXd scaled = at.w.array() * alpha.array().sqrt();
    now[0] = alpha.array().log().mean();
    now[1] = scaled.cwiseAbs2().mean();
    now[2] = scaled.mean();
    for (const Index t : chain.t) now[3 + t] += 0.2;
    if (weights == WeightPrior::dirichlet) {
      now.push_back(at.weights[0]);
      now.push_back(at.first.array().log().mean());
      now.push_back(at.first.mean());
    } else if (product) {
      now.push_back(at.first.array().log().mean());
      now.push_back(at.first.mean());
      now.push_back(at.second.array().log().mean());
      now.push_back((at.weights.array() / (1.0 + at.weights.array())).mean());
    } else if (weights == WeightPrior::bernoulli) {
      now.push_back(at.weights[0]);
      now.push_back(at.weights[1]);
    }
    if (lengthscales) {
      const Eigen::ArrayXd log_theta =
          -std::log(2.0) - 2.0 * chain.log_lengthscales().array();
      now.push_back(log_theta.mean());
      now.push_back(log_theta.exp().mean());
    }
    check.add(now);
    chain.state.y = chain.latent();
    Stream stream(seed + 500, 0, 1, k, 0);
    for (Index i = 0; i < 5; ++i) {
      for (Index c = 0; c < 3; ++c) chain.state.y(c, i) += stream.normal();
      chain.state.y.col(i).maxCoeff(&chain.t[i]);
    }
  }
  return check.largest();
}

// The process prior: features Phi with Phi'Phi the covariance of the functions
// but for the noise that each object's is divided by, and unit coefficients.
// Sweeps and new responses leave the functions' covariance as it is.
TEST("sweeps on features of a process leave its joint law as it is") {
  constexpr Index n = 4, classes = 3;
  const MatrixXd x = normal_matrix(2, n, 41);
  const VectorXd noise = (VectorXd(n) << 1.0, 1.6, 1.0, 1.2).finished();
  MatrixXd cov(n, n);
  for (Index i = 0; i < n; ++i) {
    for (Index j = 0; j < n; ++j) {
      const double k = std::exp(-0.5 * (x.col(i) - x.col(j)).squaredNorm());
      cov(i, j) = (2.0 * k + 0.5) / (noise[i] * noise[j]);
    }
  }
  const MatrixXd phi = cov.llt().matrixU();
  const Composite composite(
      {Source::given(Source::View(phi.data(), phi.rows(), phi.cols()))},
      Combination::sum, false);
  MultinomialGibbsSettings set;
  set.scales = LatentScales::fixed;
  set.weights = WeightPrior::fixed;
  MultinomialChain chain(composite, {0, 1, 2, 0}, classes, VectorXd::Ones(1),
                         set, 42, 0, 0);
  PriorCheck check;
  for (Index i = 0; i < n; ++i) {
    for (Index j = 0; j <= i; ++j) check.expect("covariance", cov(i, j));
  }
  check.expect("between classes", 0.0);
  check.expect("fourth moment", 3.0 * cov(1, 1) * cov(1, 1));
  for (Index c = 0; c < classes; ++c) check.expect("class", 1.0 / 3.0);
  const int sweeps = check::slow() ? 60000 : 12000;
  for (int k = 0; k < sweeps; ++k) {
    chain.sweep();
    const MatrixXd f = chain.latent();
    std::vector<double> now;
    for (Index i = 0; i < n; ++i) {
      for (Index j = 0; j <= i; ++j) {
        now.push_back(f.col(i).dot(f.col(j)) / classes);
      }
    }
    now.push_back((f(0, 0) * f(1, 0) + f(0, 2) * f(2, 1)) / 2.0);
    now.push_back(f.col(1).array().pow(4).mean());
    for (Index c = 0; c < classes; ++c) {
      now.push_back(
          static_cast<double>(std::count(chain.t.begin(), chain.t.end(), c)) /
          static_cast<double>(n));
    }
    check.add(now);
    chain.state.y = f;
    Stream stream(543, 0, 1, k, 0);
    for (Index i = 0; i < n; ++i) {
      for (Index c = 0; c < classes; ++c) {
        chain.state.y(c, i) += stream.normal();
      }
      chain.state.y.col(i).maxCoeff(&chain.t[i]);
    }
  }
  CHECK(check.largest() < 4.5);
}

TEST("a sum's sweeps leave the prior as it is, collapsed or not") {
  CHECK(geweke(WeightPrior::dirichlet, false, true, LatentScales::by_class,
               11) < 4.5);
  CHECK(geweke(WeightPrior::dirichlet, true, false, LatentScales::by_class,
               12) < 4.5);
  CHECK(geweke(WeightPrior::fixed, true, true, LatentScales::shared, 13) < 4.5);
}

TEST("a product's sweeps leave the prior as it is") {
  CHECK(geweke(WeightPrior::gamma, false, true, LatentScales::by_class, 21) <
        4.5);
  CHECK(geweke(WeightPrior::gamma, false, false, LatentScales::shared, 22) <
        4.5);
}

TEST("on and off weights' sweeps leave the prior as it is") {
  CHECK(geweke(WeightPrior::bernoulli, false, true, LatentScales::by_class,
               31) < 4.5);
}

TEST("a chain that goes on from a checkpoint repeats nothing and misses none") {
  const MultinomialProblem problem(12, 3, 4);
  MultinomialGibbsSettings set;
  set.weights = WeightPrior::dirichlet;
  set.lengthscales = true;
  const Composite composite = problem.composite(Combination::sum, true);
  const VectorXd half = VectorXd::Constant(2, 0.5);
  MultinomialChain whole(composite, problem.t, 3, half, set, 9, 1, 10);
  MultinomialChain first(composite, problem.t, 3, half, set, 9, 1, 10);
  MultinomialChain second(composite, problem.t, 3, half, set, 9, 1, 10);
  for (int k = 0; k < 30; ++k) whole.sweep();
  for (int k = 0; k < 17; ++k) first.sweep();
  second.restore(first.checkpoint());
  for (int k = 17; k < 30; ++k) second.sweep();
  CHECK(whole.sweeps() == second.sweeps());
  CHECK((whole.state.w - second.state.w).norm() == 0.0);
  CHECK(whole.state.weights == second.state.weights);
  CHECK(whole.log_likelihood() == second.log_likelihood());
}

TEST("probabilities of the sampler and of mean fields agree on fixed scales") {
  const MultinomialProblem problem(30, 3, 6);
  SerialExecutor serial;
  const Composite composite = problem.composite(Combination::sum);
  const VectorXd half = VectorXd::Constant(2, 0.5);
  MultinomialGibbsSettings set;
  set.scales = LatentScales::fixed;
  set.alpha0 = 20.0;
  MultinomialChain chain(composite, problem.t, 3, half, set, 3, 0, 100);
  MatrixXd f = MatrixXd::Zero(3, 30);
  const int draws = check::slow() ? 8000 : 2000;
  for (int k = 0; k < 100; ++k) chain.sweep();
  for (int k = 0; k < draws; ++k) {
    chain.sweep();
    f += chain.latent() / draws;
  }
  MultinomialSettings settings;
  settings.scales = LatentScales::fixed;
  settings.alpha0 = 20.0;
  settings.tolerance = 1e-12;
  settings.max_passes = 1000;
  MultinomialFit fit(problem.t, 3, settings, serial);
  const Design design(composite, half, serial);
  fit.run(design, go_on);
  const MatrixXd mode = fit.mean() * design.matrix();
  const double correlation =
      (f.array() - f.mean())
          .matrix()
          .cwiseProduct((mode.array() - mode.mean()).matrix())
          .sum() /
      ((f.array() - f.mean()).matrix().norm() *
       (mode.array() - mode.mean()).matrix().norm());
  CHECK(correlation > 0.98);
}
