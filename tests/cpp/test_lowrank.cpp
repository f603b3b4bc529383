// The sampler of klr(): its parts against plain sums, and its chains against
// the prior (likelihood off, and joint tests after Geweke 2004, where labels
// are redrawn given f between sweeps) and against weighted draws from it.
#include <cmath>
#include <random>
#include <string>
#include <vector>

#include "check.hpp"
#include "klr/chain.hpp"
#include "klr/save.hpp"
#include "math/special.hpp"

using namespace bayeskernel;
using Eigen::Index;
using Eigen::MatrixXd;
using Eigen::VectorXd;

static MatrixXd some_rows(Index n, Index p, unsigned seed) {
  std::mt19937 engine(seed);
  std::normal_distribution<double> normal;
  return MatrixXd::NullaryExpr(n, p, [&] { return normal(engine); });
}

// Mean of a series and its standard error by batches.
struct Series {
  std::vector<double> values;
  double mean() const {
    double sum = 0.0;
    for (const double v : values) sum += v;
    return sum / static_cast<double>(values.size());
  }
  double error() const {
    constexpr std::size_t kBatches = 40;
    const std::size_t length = values.size() / kBatches;
    const double centre = mean();
    double sum = 0.0;
    for (std::size_t k = 0; k < kBatches; ++k) {
      double batch = 0.0;
      for (std::size_t i = 0; i < length; ++i) batch += values[k * length + i];
      sum += std::pow(batch / static_cast<double>(length) - centre, 2);
    }
    return std::sqrt(sum / (kBatches * (kBatches - 1.0)));
  }
};

// |z| of t with 39 degrees of freedom beyond 5.3 has a chance of 5e-6.
static void check_mean(const Series& series, double expected, double error,
                       const std::string& what) {
  const double z =
      (series.mean() - expected) / std::hypot(series.error(), error);
  CHECK(std::abs(z) < 5.3);
  if (!(std::abs(z) < 5.3)) {
    std::printf("  %s: %g, expected %g, z %.1f\n", what.c_str(), series.mean(),
                expected, z);
  }
}

struct LowRankModel {
  std::string name;
  Index n = 5, p = 3, rank = 2;
  LowRankPrior prior;
  LowRankSchedule schedule;
};

static LowRankModel small_model(const std::string& name, bool continuous) {
  LowRankModel out;
  out.name = name;
  LowRankPrior& prior = out.prior;
  prior.alpha = 1.4;
  prior.epsilon = 0.4;
  prior.gamma_shape = 2.0;
  prior.gamma_rate = 1.5;
  prior.mean_location = 0.3;
  prior.mean_scale = 0.7;
  prior.precision_shape = 4.0;
  prior.precision_rate = 3.0;
  prior.intercept_rate = 1.3;
  prior.max_kernels = 4;
  prior.continuous = continuous;
  out.schedule.common_fraction = 0.5;
  out.schedule.fresh_fraction = 0.1;
  return out;
}

// P(J), cut at the largest number.
static std::vector<double> kernel_law(const LowRankPrior& prior) {
  std::vector<double> out{1.0};
  double sum = 1.0;
  for (Index j = 0; j < prior.max_kernels; ++j) {
    out.push_back(out.back() * std::exp(prior.log_next(j)));
    sum += out.back();
  }
  for (double& each : out) each /= sum;
  return out;
}

// With `redraw` labels follow f, else no row has one.
static void check_prior_kept(const LowRankModel& model, bool redraw,
                             Index draws, std::uint64_t seed) {
  const LowRankData data(some_rows(model.n, model.p, 3));
  std::vector<double> signs(static_cast<std::size_t>(model.n), 0.0);
  LowRankChain chain(data, signs, model.prior, model.rank, seed, 1, 2000);
  chain.schedule = model.schedule;
  chain.start(MatrixXd::Identity(model.p, model.rank));
  std::mt19937_64 labels(seed);
  std::uniform_real_distribution<double> uniform;
  const auto step = [&] {
    if (redraw) {
      const double* f = chain.f();
      for (Index i = 0; i < model.n; ++i) {
        signs[i] = uniform(labels) < expit(f[i]) ? 1.0 : -1.0;
      }
      chain.set_signs(signs);
    }
    chain.sweep();
  };
  for (int k = 0; k < 2000; ++k) step();
  const Index r = model.rank, p = model.p;
  Series none, full, number, square, fourth, cross, direction, size, sign, mu,
      mu2, tau, scale, scale2, intercept, place, span;
  for (Index k = 0; k < draws; ++k) {
    for (int between = 0; between < 3; ++between) step();
    const Index kernels = chain.basis.kernels();
    none.values.push_back(kernels == 0);
    full.values.push_back(kernels == model.prior.max_kernels);
    number.values.push_back(static_cast<double>(kernels));
    const MatrixXd& u = chain.basis.frame();
    square.values.push_back(u(0, r - 1) * u(0, r - 1));
    fourth.values.push_back(std::pow(u(p - 1, 0), 4));
    cross.values.push_back(u(0, 0) * u(1, 0) * u(0, r - 1) * u(1, r - 1));
    direction.values.push_back(u(0, 0));
    span.values.push_back(std::pow(u.row(0).squaredNorm(), 2));
    mu.values.push_back(chain.mu());
    mu2.values.push_back(chain.mu() * chain.mu());
    tau.values.push_back(chain.tau());
    intercept.values.push_back(std::abs(chain.coefficient(0)));
    // Sums over kernels have the mean E J times that of one.
    double v = 0.0, positive = 0.0, lambda = 0.0, lambda2 = 0.0, first = 0.0;
    for (Index j = 1; j <= kernels; ++j) {
      const double b = chain.coefficient(j);
      v += model.prior.continuous
               ? std::min(std::abs(b) / model.prior.epsilon, 2.0)
               : std::abs(model.prior.uniform_scale(b));
      positive += b > 0.0;
      lambda += chain.basis.log_lambda(j, r - 1);
      lambda2 += std::pow(chain.basis.log_lambda(j, 0), 2);
      first += chain.basis.centre(j) == 0;
    }
    size.values.push_back(v);
    sign.values.push_back(positive);
    scale.values.push_back(lambda);
    scale2.values.push_back(lambda2);
    place.values.push_back(first);
  }
  const std::vector<double> law = kernel_law(model.prior);
  double expected = 0.0;
  for (std::size_t j = 0; j < law.size(); ++j) {
    expected += static_cast<double>(j) * law[j];
  }
  const LowRankPrior& prior = model.prior;
  const double d = static_cast<double>(p), k = static_cast<double>(r);
  const std::string& name = model.name;
  check_mean(none, law[0], 0.0, name + " P(J = 0)");
  check_mean(full, law.back(), 0.0, name + " P(J = most)");
  check_mean(number, expected, 0.0, name + " E J");
  check_mean(direction, 0.0, 0.0, name + " E u");
  check_mean(square, 1.0 / d, 0.0, name + " E u^2");
  check_mean(fourth, 3.0 / (d * (d + 2.0)), 0.0, name + " E u^4");
  // Moments of uniform frames: E u_11 u_21 u_12 u_22 = -1 / ((d - 1) d (d +
  // 2)); |row of U|^2 is Beta(r / 2, (p - r) / 2).
  check_mean(
      cross,
      r == 1 ? 1.0 / (d * (d + 2.0)) : -1.0 / ((d - 1.0) * d * (d + 2.0)), 0.0,
      name + " E uuuu");
  if (r < p) {
    check_mean(span, k * (k + 2.0) / (d * (d + 2.0)), 0.0, name + " E P_11^2");
  }
  check_mean(mu, prior.mean_location, 0.0, name + " E mu");
  check_mean(mu2,
             std::pow(prior.mean_location, 2) + std::pow(prior.mean_scale, 2),
             0.0, name + " E mu^2");
  check_mean(tau, prior.precision_shape / prior.precision_rate, 0.0,
             name + " E tau");
  check_mean(intercept, 1.0 / prior.intercept_rate, 0.0, name + " E |b_0|");
  check_mean(sign, 0.5 * expected, 0.0, name + " sign");
  check_mean(scale, expected * prior.mean_location, 0.0, name + " log lambda");
  const double spread = prior.precision_rate / (prior.precision_shape - 1.0) +
                        std::pow(prior.mean_scale, 2) +
                        std::pow(prior.mean_location, 2);
  check_mean(scale2, expected * spread, 0.0, name + " log lambda^2");
  check_mean(place, expected / static_cast<double>(model.n), 0.0,
             name + " centre");
  if (!prior.continuous) {
    check_mean(size, 0.5 * expected, 0.0, name + " |v|");
  } else {
    std::mt19937 engine(5);
    std::student_t_distribution<double> t(prior.alpha);
    Series cut;
    for (int i = 0; i < 400000; ++i) {
      cut.values.push_back(std::min(std::abs(t(engine)), 2.0));
    }
    check_mean(size, expected * cut.mean(), expected * cut.error(),
               name + " |b|");
  }
}

static std::vector<LowRankModel> small_models() {
  std::vector<LowRankModel> out;
  using Update = LowRankSchedule::Update;
  for (const auto& [name, update] : {std::make_pair("wrapped", Update::wrapped),
                                     std::make_pair("refuse", Update::refuse),
                                     std::make_pair("kill", Update::kill)}) {
    out.push_back(small_model(name, false));
    out.back().schedule.update = update;
  }
  out.push_back(small_model("known, r = 1", false));
  out.back().rank = 1;
  out.push_back(small_model("known, r = p", false));
  out.back().rank = 3;
  out.push_back(small_model("integrated", true));
  out.push_back(small_model("integrated, r = p = 2", true));
  out.back().p = out.back().rank = 2;
  return out;
}

TEST("without a likelihood the prior is kept, U uniform on its manifold") {
  std::uint64_t seed = 1;
  for (const LowRankModel& model : small_models()) {
    check_prior_kept(model, false, check::slow() ? 100000 : 20000, seed++);
  }
}

TEST("labels drawn given f between sweeps leave the joint prior") {
  std::uint64_t seed = 20;
  for (const LowRankModel& model : small_models()) {
    check_prior_kept(model, true, check::slow() ? 80000 : 20000, seed++);
  }
}

TEST("the posterior of few rows is that of weighted draws from the prior") {
  const Index n = 4, p = 2, r = 1;
  const MatrixXd x = some_rows(n, p, 8);
  const std::vector<double> signs{1.0, -1.0, 1.0, 1.0};
  const LowRankData data(x);
  for (const bool continuous : {false, true}) {
    LowRankModel model = small_model("tiny", continuous);
    LowRankChain prior_chain(data, {0, 0, 0, 0}, model.prior, r, 5, 0, 0);
    // f at the first row, J, u_1^2 and E f^2, weighted.
    const Index count = check::slow() ? 400000 : 150000;
    std::mt19937_64 engine(9);
    std::normal_distribution<double> normal;
    std::uniform_real_distribution<double> uniform;
    const std::vector<double> law = kernel_law(model.prior);
    std::discrete_distribution<int> number(law.begin(), law.end());
    std::vector<double> weight;
    MatrixXd values(count, 4);
    for (Index k = 0; k < count; ++k) {
      const LowRankPrior& prior = model.prior;
      const double angle = 2.0 * 3.14159265358979323846 * uniform(engine);
      const VectorXd z =
          std::cos(angle) * x.col(0) + std::sin(angle) * x.col(1);
      const double mu = prior.mean_location + prior.mean_scale * normal(engine);
      const double tau = std::gamma_distribution<double>(
          prior.precision_shape, 1.0 / prior.precision_rate)(engine);
      VectorXd f = VectorXd::Constant(
          n,
          std::exponential_distribution<double>(prior.intercept_rate)(engine) *
              (uniform(engine) < 0.5 ? -1.0 : 1.0));
      const int kernels = number(engine);
      for (int j = 0; j < kernels; ++j) {
        const double b =
            continuous
                ? prior.epsilon *
                      std::student_t_distribution<double>(prior.alpha)(engine)
                : prior.coefficient(2.0 * uniform(engine) - 1.0);
        const double lambda = std::exp(mu + normal(engine) / std::sqrt(tau));
        const Index c = static_cast<Index>(uniform(engine) * n);
        f.array() += b * (-0.5 * lambda * (z.array() - z[c]).square()).exp();
      }
      double log_weight = 0.0;
      for (Index i = 0; i < n; ++i) log_weight += log_expit(signs[i] * f[i]);
      weight.push_back(std::exp(log_weight));
      values.row(k) << expit(f[0]), kernels, std::pow(std::cos(angle), 2),
          expit(f[1]) * expit(f[2]);
    }
    LowRankChain chain(data, signs, model.prior, r, 6, 1, 1000);
    chain.start(MatrixXd::Identity(p, r));
    for (int k = 0; k < 1000; ++k) chain.sweep();
    std::vector<Series> series(4);
    for (Index k = 0; k < count / 4; ++k) {
      for (int between = 0; between < 2; ++between) chain.sweep();
      const double* f = chain.f();
      const double u = chain.basis.frame()(0, 0);
      const double found[] = {expit(f[0]),
                              static_cast<double>(chain.basis.kernels()), u * u,
                              expit(f[1]) * expit(f[2])};
      for (int v = 0; v < 4; ++v) series[v].values.push_back(found[v]);
    }
    const Eigen::Map<VectorXd> w(weight.data(), count);
    for (int v = 0; v < 4; ++v) {
      const double mean = w.dot(values.col(v)) / w.sum();
      const double error =
          (w.array() * (values.col(v).array() - mean)).matrix().norm() /
          w.sum();
      check_mean(series[v], mean, error,
                 "posterior " + std::to_string(continuous) + std::to_string(v));
    }
  }
}

TEST("the logistic sum is the sum of logarithms at every width") {
  for (const Index n : {1, 5, 8, 200, 700}) {
    const Index stride = padded_size(n);
    AlignedBuffer k(3 * stride), s(stride), f(stride);
    const MatrixXd values = some_rows(n, 3, 4);
    const double b[] = {0.4, -30.0, 2.0};
    double sum = 0.0;
    for (Index i = 0; i < n; ++i) {
      double at = 0.0;
      for (Index j = 0; j < 3; ++j) {
        k[j * stride + i] = values(i, j);
        at += b[j] * values(i, j);
      }
      s[i] = i % 5 == 0 ? 0.0 : i % 3 ? 1.0 : -1.0;
      sum += log_expit(s[i] * at);
    }
    for (const simd::Level level :
         {simd::Level::narrow, simd::Level::avx2, simd::Level::avx512}) {
      if (level > simd::level()) continue;
      CHECK_NEAR(
          logistic_sum(k.data(), stride, 3, b, s.data(), n, f.data(), level),
          sum, 1e-12);
      CHECK_NEAR(f[n - 1],
                 values.row(n - 1).dot(Eigen::Map<const VectorXd>(b, 3)),
                 1e-13);
    }
    // Coefficients of any size leave a number.
    const double huge[] = {1e100, -1e99, 3.0};
    CHECK(std::isfinite(
        logistic_sum(k.data(), stride, 3, huge, s.data(), n, nullptr)));
  }
}

// -1/2 log|A| + 1/2 h'A^-1 h, by dense algebra.
static double dense_integral(const MatrixXd& k, const VectorXd& omega,
                             const VectorXd& kappa, const VectorXd& variance) {
  const VectorXd root = variance.cwiseSqrt();
  MatrixXd a = root.asDiagonal() * k.transpose() * omega.asDiagonal() * k *
               root.asDiagonal();
  a.diagonal().array() += 1.0;
  const VectorXd h = root.asDiagonal() * k.transpose() * kappa;
  const Eigen::LLT<MatrixXd> factor(a);
  return -MatrixXd(factor.matrixL()).diagonal().array().log().sum() +
         0.5 * h.dot(factor.solve(h));
}

TEST("every change of the integrated likelihood is that of dense algebra") {
  const Index n = 9, p = 3, r = 2;
  const MatrixXd x = some_rows(n, p, 2);
  const LowRankData data(x);
  ProjectedBasis basis(data, r, 6);
  AlignedBuffer signs(data.stride());
  VectorXd omega(n), kappa(n);
  for (Index i = 0; i < n; ++i) {
    signs[i] = i % 2 ? 1.0 : -1.0;
    kappa[i] = 0.5 * signs[i];
    omega[i] = 0.02 * static_cast<double>(i + 1);
  }
  IntegratedCoefficients likelihood(basis, 6, signs.data());
  likelihood.restore_parameter(0, 1.7);
  for (Index i = 0; i < n; ++i) likelihood.set_omega(i, omega[i]);
  likelihood.rebuild();
  const auto dense = [&](const double* columns, Index m, const VectorXd& v) {
    MatrixXd k(n, m);
    for (Index j = 0; j < m; ++j) {
      k.col(j) = Eigen::Map<const VectorXd>(columns + j * data.stride(), n);
    }
    return dense_integral(k, omega, kappa, v);
  };
  const auto parameters = [&](Index m) {
    VectorXd v(m);
    for (Index j = 0; j < m; ++j) v[j] = likelihood.parameter(j);
    return v;
  };
  const auto now = [&] {
    return dense(basis.values(), basis.size(), parameters(basis.size()));
  };
  CHECK_NEAR(likelihood.log_integrated(), now(), 1e-12);
  for (const Index c : {3, 0, 7, 3}) {
    const double before = now();
    basis.tried_centre() = c;
    basis.tried_log_lambda() << 0.3 * static_cast<double>(c), -1.0;
    basis.try_column();
    const double change = likelihood.add(0.5 + static_cast<double>(c));
    likelihood.accept_add();
    CHECK_NEAR(change, now() - before, 1e-10);
    CHECK_NEAR(likelihood.log_integrated(), now(), 1e-10);
  }
  double before = now();
  double change = likelihood.set_parameter(2, 11.0);
  likelihood.accept_parameter(2);
  CHECK_NEAR(change, now() - before, 1e-10);
  before = now();
  basis.try_from(1);
  basis.tried_centre() = 5;
  basis.try_column();
  change = likelihood.replace(1);
  likelihood.accept_replace(1);
  CHECK_NEAR(change, now() - before, 1e-10);
  // With another variance, too.
  before = now();
  basis.try_from(3);
  basis.tried_log_lambda().array() += 0.4;
  basis.try_column();
  change = likelihood.replace(3, 0.07);
  likelihood.accept_replace(3);
  CHECK_NEAR(change, now() - before, 1e-10);
  CHECK_NEAR(likelihood.parameter(3), 0.07, 1e-15);
  CHECK_NEAR(likelihood.log_integrated(), now(), 1e-10);
  before = now();
  change = likelihood.remove(2);
  likelihood.accept_remove(2);
  CHECK_NEAR(change, now() - before, 1e-10);
  before = now();
  basis.start_frame();
  Stream stream(1, 1, Purpose::init, 0, 0);
  FrameWalk walk(p, r);
  walk.step_all(stream, 0.5, basis.proposed_frame());
  basis.propose_frame();
  change = likelihood.change_all();
  basis.accept_frame();
  likelihood.accept_all();
  CHECK_NEAR(change, now() - before, 1e-10);
  CHECK_NEAR(likelihood.log_integrated(), now(), 1e-10);
}

TEST("kept columns are those of the definition, and the frame stays one") {
  const Index n = 30, p = 5, r = 3;
  const MatrixXd x = some_rows(n, p, 6);
  const LowRankData data(x);
  std::vector<double> signs(n);
  for (Index i = 0; i < n; ++i) signs[i] = x(i, 0) * x(i, 1) > 0.0 ? 1.0 : -1.0;
  for (const bool continuous : {false, true}) {
    LowRankPrior prior;
    prior.continuous = continuous;
    LowRankChain chain(data, signs, prior, r, 4, 0, 500);
    chain.start(save_frame(x, Eigen::Map<VectorXd>(signs.data(), n), r));
    for (int k = 0; k < 1500; ++k) chain.sweep();
    const MatrixXd& u = chain.basis.frame();
    CHECK((u.transpose() * u - MatrixXd::Identity(r, r)).norm() < 1e-12);
    const MatrixXd z = x * u;
    double sum = 0.0;
    for (Index i = 0; i < n; ++i) {
      double f = chain.coefficient(0);
      for (Index j = 1; j <= chain.basis.kernels(); ++j) {
        double s = 0.0;
        for (Index l = 0; l < r; ++l) {
          s += 0.5 * std::exp(chain.basis.log_lambda(j, l)) *
               std::pow(z(i, l) - z(chain.basis.centre(j), l), 2);
        }
        f += chain.coefficient(j) * std::exp(-s);
      }
      CHECK_NEAR(chain.f()[i], f, 1e-9);
      sum += log_expit(signs[i] * f);
    }
    CHECK_NEAR(chain.log_likelihood(), sum, 1e-9);
    CHECK(chain.basis.kernels() > 0);
  }
}

TEST("a chain that goes on from a checkpoint does the same to the last bit") {
  const Index n = 21, p = 3, r = 2;
  const MatrixXd x = some_rows(n, p, 6);
  const LowRankData data(x);
  std::vector<double> signs(n);
  for (Index i = 0; i < n; ++i) signs[i] = x(i, 0) > 0.0 ? 1.0 : -1.0;
  for (const bool continuous : {false, true}) {
    LowRankPrior prior;
    prior.continuous = continuous;
    LowRankChain first(data, signs, prior, r, 4, 1, 100);
    LowRankChain second(data, signs, prior, r, 4, 1, 100);
    first.start(MatrixXd::Identity(p, r));
    for (int k = 0; k < 700; ++k) first.sweep();
    first.settle();
    second.restore(first.checkpoint());
    for (int k = 0; k < 900; ++k) {
      first.sweep();
      second.sweep();
    }
    const LowRankCheckpoint a = first.checkpoint(), b = second.checkpoint();
    CHECK(a.coefficient == b.coefficient && a.centre == b.centre &&
          a.frame == b.frame && a.log_lambda == b.log_lambda && a.mu == b.mu &&
          a.tau == b.tau && a.log_steps == b.log_steps);
    LowRankChain other(data, signs, prior, r, 4, 3, 100);
    other.start(MatrixXd::Identity(p, r));
    for (int k = 0; k < 700; ++k) other.sweep();
    CHECK(other.mu() != first.mu());
  }
}

TEST("no kernels allowed, one row, one predictor, no variation") {
  for (const bool continuous : {false, true}) {
    LowRankPrior prior;
    prior.continuous = continuous;
    prior.max_kernels = 0;
    const LowRankData one(MatrixXd::Constant(1, 1, 0.0));
    LowRankChain empty(one, {1.0}, prior, 1, 4, 0, 10);
    empty.start(save_frame(MatrixXd::Zero(1, 1), VectorXd::Ones(1), 1));
    for (int k = 0; k < 200; ++k) empty.sweep();
    CHECK(empty.basis.kernels() == 0 && std::isfinite(empty.log_likelihood()));
    prior.max_kernels = 3;
    const LowRankData same(MatrixXd::Zero(4, 2));
    LowRankChain chain(same, {1.0, -1.0, 1.0, 1.0}, prior, 2, 4, 0, 10);
    chain.start(save_frame(MatrixXd::Zero(4, 2), VectorXd::Ones(4), 2));
    for (int k = 0; k < 500; ++k) chain.sweep();
    CHECK(std::isfinite(chain.log_likelihood()));
    CHECK(chain.basis.frame().allFinite());
  }
}
