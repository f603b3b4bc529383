// Particles over a stream, against enumeration of all sets of centres, dense
// algebra and exact laws.
#include <Eigen/Cholesky>
#include <Eigen/LU>
#include "sequential/filter.hpp"
#include "sequential/posterior.hpp"
#include <map>
#include <string>
#include <thread>

#include "check.hpp"

using namespace bayeskernel;

// Threads of its own: blocks in turns.
struct TurnExecutor final : Executor {
  explicit TurnExecutor(int count) : count_(count) {}
  int threads() const override { return count_; }
  void run(Index n_blocks, const std::function<void(Index)>& body) override {
    std::vector<std::thread> pool;
    for (int k = 0; k < count_; ++k) {
      pool.emplace_back([&, k] {
        for (Index b = n_blocks - 1 - k; b >= 0; b -= count_) body(b);
      });
    }
    for (std::thread& each : pool) each.join();
  }
  int count_;
};

struct Problem {
  MatrixXd x;
  VectorXd y;
  double noise = 0.3, coefficient_variance = 1.0, lambda = 1.0;
  Index kmax = 50;
  Kernel kernel = Kernel::rbf(VectorXd::Constant(1, 1.6 / std::sqrt(2.0)), 1.0);

  Index rows() const { return y.size(); }
  FilterSettings settings() const {
    FilterSettings out;
    out.noise = out.first_noise = {1.0, 1.0, true, noise};
    out.coefficient_variance =
        out.first_coefficient_variance = {1.0, 1.0, true, coefficient_variance};
    out.sweeps = 1;
    return out;
  }
};

static Problem six_rows(bool reversed = false) {
  Problem out;
  out.x.resize(1, 6);
  out.y.resize(6);
  const double x[] = {-2.1, 0.4, 1.7, -0.9, 2.8, 0.1};
  const double y[] = {0.8, 0.9, -0.5, 1.6, -1.2, 0.2};
  for (Index i = 0; i < 6; ++i) {
    out.x(0, i) = x[reversed ? 5 - i : i];
    out.y[i] = y[reversed ? 5 - i : i];
  }
  return out;
}

// log N(y; 0, noise I + coefficient_variance H H').
static double dense_log_density(const Problem& p, Index rows,
                                const std::vector<Index>& set) {
  MatrixXd h(rows, 1 + set.size());
  h.col(0).setOnes();
  for (std::size_t j = 0; j < set.size(); ++j) {
    for (Index s = 0; s < rows; ++s) {
      const double d = p.x(0, s) - p.x(0, set[j]);
      h(s, j + 1) = std::exp(-d * d / (1.6 * 1.6));
    }
  }
  MatrixXd v = p.coefficient_variance * h * h.transpose();
  v.diagonal().array() += p.noise;
  const Eigen::LLT<MatrixXd> llt(v);
  const VectorXd z = llt.matrixL().solve(p.y.head(rows));
  return -0.5 * z.squaredNorm() -
         llt.matrixLLT().diagonal().array().log().sum() -
         static_cast<double>(rows) * detail::kLogSqrtTwoPi;
}

static std::string name_of(std::vector<Index> set) {
  std::sort(set.begin(), set.end());
  std::string out;
  for (const Index c : set) out += std::to_string(c) + "_";
  return out;
}

struct Exact {
  std::map<std::string, double> prob;
  double log_evidence = 0.0;
  double size = 0.0;  // E k
};

static Exact enumerate(const Problem& p, const SubsetPrior& prior,
                       bool blind = false) {
  const Index n = p.rows();
  Exact out;
  std::map<std::string, double> log;
  double most = -1e300;
  for (int mask = 0; mask < (1 << n); ++mask) {
    std::vector<Index> set;
    for (Index c = 0; c < n; ++c) {
      if (mask & (1 << c)) set.push_back(c);
    }
    const Index k = static_cast<Index>(set.size());
    if (k > prior.most(n)) continue;
    const double value =
        prior.log(k, n) + (blind ? 0.0 : dense_log_density(p, n, set));
    log[name_of(set)] = value;
    most = std::max(most, value);
  }
  double sum = 0.0;
  for (const auto& [name, value] : log) sum += std::exp(value - most);
  out.log_evidence = most + std::log(sum);
  for (const auto& [name, value] : log) {
    out.prob[name] = std::exp(value - out.log_evidence);
    out.size += out.prob[name] *
                static_cast<double>(std::count(name.begin(), name.end(), '_'));
  }
  return out;
}

struct Ran {
  double log_evidence = 0.0;
  std::vector<FilterStep> steps;
  std::vector<Particle> particles;
  std::vector<double> log_weight;
  MatrixXd mean, variance;
};

static SubsetPrior prior_of(const Problem& p) {
  SubsetPrior out(p.lambda, p.kmax);
  out.reach(p.rows());
  return out;
}

static Ran run(const Problem& p, const FilterSettings& settings,
               Index finish = 0, CandidateSettings of_grid = {},
               Executor* executor = nullptr) {
  SerialExecutor serial;
  of_grid.keep_rows = settings.classes;
  Grid grid(p.kernel, p.x.rows(), of_grid);
  ParticleFilter filter(grid, prior_of(p), settings,
                        executor ? *executor : serial);
  Ran out;
  for (Index t = 0; t < p.rows(); ++t) {
    out.steps.push_back(filter.step(p.x.col(t).data(), p.y[t]));
    out.log_evidence += out.steps.back().log_evidence;
  }
  if (finish > 0) filter.finish(finish);
  out.particles = filter.particles();
  out.log_weight = filter.log_weights();
  const ParticlePosterior posterior =
      posterior_of(out.particles, grid, p.kmax, settings.blind);
  out.mean.resize(settings.particles, p.rows());
  out.variance = out.mean;
  particle_moments(posterior, p.kernel, p.x, serial, out.mean, out.variance);
  return out;
}

static std::map<std::string, double> shares(const Ran& ran) {
  std::map<std::string, double> out;
  double total = 0.0;
  for (const double w : ran.log_weight) total += std::exp(w);
  for (std::size_t i = 0; i < ran.particles.size(); ++i) {
    out[name_of(ran.particles[i].centres)] +=
        std::exp(ran.log_weight[i]) / total;
  }
  return out;
}

static double variation(std::map<std::string, double> a,
                        const std::map<std::string, double>& b) {
  double sum = 0.0;
  for (const auto& [name, prob] : b) sum += std::abs(prob - a[name]);
  return 0.5 * sum;
}

TEST("the filter finds the posterior over all sets, in both orders") {
  for (const bool reversed : {false, true}) {
    const Problem p = six_rows(reversed);
    const Exact exact = enumerate(p, prior_of(p));
    FilterSettings settings = p.settings();
    settings.particles = 8000;
    settings.seed = 5;
    const Ran ran = run(p, settings);
    CHECK(variation(shares(ran), exact.prob) < 0.04);
    CHECK(std::abs(ran.log_evidence - exact.log_evidence) < 0.05);
    settings.corrected = true;
    const Ran corrected = run(p, settings);
    CHECK(variation(shares(corrected), exact.prob) < 0.09);
    CHECK(std::abs(corrected.log_evidence - exact.log_evidence) < 0.1);
  }
}

static void check_unbiased(const Problem& p, const FilterSettings& base,
                           int runs, const CandidateSettings& of_grid = {},
                           double most = 0.05) {
  const double log_z = enumerate(p, prior_of(p)).log_evidence;
  double sum = 0.0, squares = 0.0;
  for (int r = 0; r < runs; ++r) {
    FilterSettings settings = base;
    settings.particles = 100;
    settings.seed = 1000 + static_cast<std::uint64_t>(r);
    const double ratio =
        std::exp(run(p, settings, 0, of_grid).log_evidence - log_z);
    sum += ratio;
    squares += ratio * ratio;
  }
  const double mean = sum / runs;
  const double error = std::sqrt((squares / runs - mean * mean) / runs);
  CHECK(std::abs(mean - 1.0) < 4.0 * error);
  CHECK(error < most);
}

TEST("the estimate of the evidence is unbiased") {
  const int runs = check::slow() ? 200 : 120;
  const Problem p = six_rows();
  for (const double ess : {0.5, 1.0}) {
    FilterSettings settings = p.settings();
    settings.ess = ess;
    check_unbiased(p, settings, runs);
    settings.corrected = true;
    check_unbiased(p, settings, runs);
  }
  // A small kmax binds.
  Problem few = p;
  few.kmax = 2;
  FilterSettings settings = few.settings();
  check_unbiased(few, settings, runs);
  settings.corrected = true;
  check_unbiased(few, settings, runs);
}

// Of the sets that explain four rows most have the last of them as a centre,
// and what is left of such a set has a probability of 1e-11 given three rows.
TEST("small noise: sets that need the new centre are found at once") {
  Problem p;
  p.x.resize(1, 5);
  p.y.resize(5);
  p.x.row(0) << 0.3251, -0.8137, 1.3367, 0.894, 2.4534;
  p.y << 0.5374, -1.1587, 1.1196, 1.3596, 1.1595;
  p.noise = 0.05;
  p.coefficient_variance = 4.0;
  p.lambda = 3.0;
  const double log_z = enumerate(p, prior_of(p)).log_evidence;
  FilterSettings settings = p.settings();
  settings.particles = 4000;
  for (settings.seed = 1; settings.seed < 9; ++settings.seed) {
    CHECK(std::abs(run(p, settings).log_evidence - log_z) < 0.05);
  }
  settings.particles = 100;
  check_unbiased(p, settings, 200);
  settings.corrected = true;
  settings.particles = 8000;
  CHECK(std::abs(run(p, settings).log_evidence - log_z) < 0.1);
}

TEST("the evidence is unbiased for every way of resampling") {
  const Problem p = six_rows();
  for (const Resampling scheme : {Resampling::stratified, Resampling::residual,
                                  Resampling::multinomial}) {
    FilterSettings settings = p.settings();
    settings.ess = 1.0;
    settings.resampling = scheme;
    check_unbiased(p, settings, 80);
  }
}

TEST("rows that are brought in by parts leave the target as it is") {
  const Problem p = six_rows();
  FilterSettings settings = p.settings();
  settings.particles = 2000;
  settings.temper_below = 0.95;
  settings.temper_to = 0.9;
  settings.sweeps = 2;
  const Ran ran = run(p, settings);
  double stages = 0.0;
  for (const FilterStep& step : ran.steps) {
    stages = std::max(stages, step.stages);
  }
  CHECK(stages > 1.0);
  CHECK(variation(shares(ran), enumerate(p, prior_of(p)).prob) < 0.08);
  check_unbiased(p, settings, check::slow() ? 80 : 40);
}

TEST("a given grid: weights are predictive densities") {
  const Problem p = six_rows();
  CandidateSettings of_grid;
  of_grid.fixed = p.x;
  for (const bool corrected : {false, true}) {
    FilterSettings settings = p.settings();
    settings.corrected = corrected;
    settings.particles = 8000;
    settings.sweeps = 3;
    const Ran ran = run(p, settings, 0, of_grid);
    const Exact exact = enumerate(p, prior_of(p));
    if (!corrected) {
      const Ran settled = run(p, settings, 20, of_grid);
      CHECK(variation(shares(settled), exact.prob) < 0.05);
    }
    CHECK(std::abs(ran.log_evidence - exact.log_evidence) < 0.1);
  }
}

TEST("the prior comes back where the likelihood is left out") {
  Problem p = six_rows();
  p.lambda = 2.0;
  const Exact exact = enumerate(p, prior_of(p), true);
  for (const bool corrected : {false, true}) {
    FilterSettings settings = p.settings();
    settings.blind = true;
    settings.corrected = corrected;
    settings.particles = 10000;
    settings.noise = settings.first_noise = {3.0, 2.0, false, 1.0};
    settings.coefficient_variance =
        settings.first_coefficient_variance = {2.0, 1.5, false, 1.0};
    const Ran ran = run(p, settings, corrected ? 0 : 3);
    CHECK(variation(shares(ran), exact.prob) < (corrected ? 0.12 : 0.05));
    CHECK(std::abs(ran.log_evidence) < 0.06);
    if (corrected) continue;
    double noise = 0.0, coefficient_variance = 0.0;
    for (const Particle& particle : ran.particles) {
      noise += 1.0 / particle.noise;
      coefficient_variance += 1.0 / particle.coefficient_variance;
    }
    // Precisions are Gamma variables: means 3 / 2 and 2 / 1.5.
    CHECK(std::abs(noise / 10000.0 - 1.5) < 0.035);
    CHECK(std::abs(coefficient_variance / 10000.0 - 2.0 / 1.5) < 0.04);
  }
}

// Of ten closest candidates few are each other's: without the share of ways
// back the many close ones would be centres too often.
TEST("swaps with neighbors leave every candidate its prior share") {
  Problem p = six_rows();
  p.lambda = 2.0;
  p.kmax = 2;
  CandidateSettings of_grid;
  of_grid.fixed.resize(1, 24);
  for (Index j = 0; j < 24; ++j) {
    of_grid.fixed(0, j) = std::pow(static_cast<double>(j + 1) / 24.0, 4.0);
  }
  FilterSettings settings = p.settings();
  settings.blind = true;
  settings.particles = 10000;
  settings.sweeps = 6;
  const Ran ran = run(p, settings, 20, of_grid);
  std::vector<double> count(24, 0.0);
  for (const Particle& particle : ran.particles) {
    for (const Index c : particle.centres) count[c] += 1.0;
  }
  // Sizes 0, 1, 2 have weights 1, 2, 2: 1.2 centres of 24.
  for (const double each : count) CHECK(std::abs(each - 500.0) < 110.0);
}

// The last row's input explains at once what took two centres before, one on
// either side.
TEST("a candidate that explains all comes in by steps, without bias") {
  Problem p;
  p.x.resize(1, 5);
  p.y.resize(5);
  const double x[] = {1.9, 18.1, -14.7, -1.3, 0.3};
  for (Index i = 0; i < 5; ++i) {
    p.x(0, i) = x[i];
    p.y[i] = 4.0 * std::exp(-(x[i] - 0.3) * (x[i] - 0.3) / 2.56);
  }
  p.noise = 0.1;
  p.coefficient_variance = 4.0;
  FilterSettings settings = p.settings();
  settings.particles = 1000;
  settings.sweeps = 2;
  double stages = 0.0, least = 1000.0;
  for (const FilterStep& step : run(p, settings).steps) {
    stages = std::max(stages, step.stages);
    least = std::min(least, step.ess);
  }
  CHECK(stages > 1.0);
  CHECK(least > 100.0);
  check_unbiased(p, settings, check::slow() ? 200 : 100, {}, 0.15);
}

TEST("unknown variances: exact by quadrature over them and enumeration") {
  Problem p = six_rows();
  const SubsetPrior prior = prior_of(p);
  const double a = 2.0, b = 0.4, c = 2.5, d = 2.0;
  double total = 0.0, kernels = 0.0, noise = 0.0;
  // Log variances on a grid: the integrand falls fast on both sides.
  const double step = 0.35;
  for (double u = -4.0; u <= 3.0; u += step) {
    for (double v = -3.5; v <= 5.0; v += step) {
      p.noise = std::exp(u);
      p.coefficient_variance = std::exp(v);
      const Exact exact = enumerate(p, prior);
      const double density =
          std::exp(exact.log_evidence + a * std::log(b) - std::lgamma(a) -
                   a * u - b / p.noise + c * std::log(d) - std::lgamma(c) -
                   c * v - d / p.coefficient_variance) *
          step * step;
      total += density;
      kernels += density * exact.size;
      noise += density * std::sqrt(p.noise);
    }
  }
  for (const bool corrected : {false, true}) {
    FilterSettings settings = p.settings();
    settings.noise = settings.first_noise = {a, b, false, 1.0};
    settings.coefficient_variance =
        settings.first_coefficient_variance = {c, d, false, 1.0};
    settings.particles = check::slow() ? 20000 : 10000;
    settings.corrected = corrected;
    const Ran ran = run(p, settings, corrected ? 0 : 3);
    double weight = 0.0, k = 0.0, sigma = 0.0;
    for (std::size_t i = 0; i < ran.particles.size(); ++i) {
      const double w = std::exp(ran.log_weight[i]);
      weight += w;
      k += w * static_cast<double>(ran.particles[i].size());
      sigma += w * std::sqrt(ran.particles[i].noise);
    }
    CHECK(std::abs(ran.log_evidence - std::log(total)) <
          (corrected ? 0.25 : 0.15));
    CHECK(std::abs(k / weight - kernels / total) < (corrected ? 0.3 : 0.08));
    CHECK(std::abs(sigma / weight - noise / total) < 0.02);
  }
}

// Rows hardly see some directions of their coefficients; what rounding leaves
// of these must not keep a large variance of coefficients large.
TEST("centres close together on a long stream: variances stay in bounds") {
  CandidateSettings settings;
  settings.fixed.resize(1, 7);
  settings.fixed << -1.0, 0.0, 0.001, 0.002, 0.003, 0.004, 1.5;
  Grid grid(Kernel::rbf(VectorXd::Constant(1, 0.7), 1.0), 1, settings);
  Stream stream(3, 1, Purpose::init, 0, 0);
  for (Index i = 0; i < 50000; ++i) {
    const double x = 6.0 * stream.uniform() - 3.0;
    grid.offer(&x);
    grid.absorb(std::exp(-x * x / 0.98) + 0.07 * stream.normal());
  }
  const StepVariancePrior prior{1.0, 1.0};
  Particle particle;
  particle.centres = {0, 1, 2, 3, 4, 5, 6};
  particle.noise = 0.005;
  ParticleWork work(10);
  // 1e12 is where one draw with rounding errors has led to.
  for (const double coefficient_variance : {1.0, 1e12}) {
    particle.coefficient_variance = coefficient_variance;
    for (int k = 0; k < 2000; ++k) {
      work.load(particle, grid, 0.0, 0.0);
      const Index m = particle.size() + 1;
      work.draw([&] { return stream.normal(); });
      particle.coefficient_variance = prior.draw(
          stream, static_cast<double>(m), work.beta.head(m).squaredNorm());
    }
    CHECK(std::isfinite(work.log_marginal()));
    CHECK(particle.coefficient_variance < 100.0);
  }
}

TEST("classes: the posterior over sets by orthant probabilities") {
  Problem p = six_rows();
  const VectorXd labels = (VectorXd(3) << 1.0, -1.0, -1.0).finished();
  p.x = MatrixXd(p.x.leftCols(3));
  p.y = labels;
  p.coefficient_variance = 4.0;
  p.lambda = 2.0;
  const SubsetPrior prior = prior_of(p);
  std::map<std::string, double> prob;
  double total = 0.0;
  for (int mask = 0; mask < 8; ++mask) {
    std::vector<Index> set;
    MatrixXd h = MatrixXd::Ones(3, 1);
    for (Index c = 0; c < 3; ++c) {
      if (!(mask & (1 << c))) continue;
      set.push_back(c);
      h.conservativeResize(3, h.cols() + 1);
      for (Index s = 0; s < 3; ++s) {
        const double gap = p.x(0, s) - p.x(0, c);
        h(s, h.cols() - 1) = std::exp(-gap * gap / (1.6 * 1.6));
      }
    }
    MatrixXd v = p.coefficient_variance * h * h.transpose();
    v.diagonal().array() += 1.0;
    double angle = 0.0;
    for (Index i = 0; i < 3; ++i) {
      for (Index j = 0; j < i; ++j) {
        angle += std::asin(labels[i] * labels[j] * v(i, j) /
                           std::sqrt(v(i, i) * v(j, j)));
      }
    }
    const double orthant = 0.125 + angle / (4.0 * 3.14159265358979323846);
    const Index k = static_cast<Index>(set.size());
    prob[name_of(set)] = std::exp(prior.log(k, 3)) * orthant;
    total += prob[name_of(set)];
  }
  for (auto& [name, each] : prob) each /= total;
  FilterSettings settings = p.settings();
  settings.classes = true;
  settings.noise = settings.first_noise = {1.0, 1.0, true, 1.0};
  settings.particles = check::slow() ? 40000 : 10000;
  for (const bool corrected : {false, true}) {
    settings.corrected = corrected;
    const Ran ran = run(p, settings);
    CHECK(variation(shares(ran), prob) < (corrected ? 0.06 : 0.03));
    CHECK(std::abs(ran.log_evidence - std::log(total)) < 0.05);
  }
}

// f at the rows, dense, given a set and variances.
TEST("coefficients of particles are those of dense algebra") {
  const Problem p = six_rows();
  FilterSettings settings = p.settings();
  settings.particles = 50;
  settings.noise = settings.first_noise = {2.0, 0.5, false, 1.0};
  settings.coefficient_variance =
      settings.first_coefficient_variance = {2.0, 2.0, false, 1.0};
  const Ran ran = run(p, settings, 2);
  double worst = 0.0;
  for (std::size_t i = 0; i < ran.particles.size(); ++i) {
    const Particle& particle = ran.particles[i];
    MatrixXd h(6, particle.size() + 1);
    h.col(0).setOnes();
    for (Index j = 0; j < particle.size(); ++j) {
      for (Index s = 0; s < 6; ++s) {
        const double d = p.x(0, s) - p.x(0, particle.centres[j]);
        h(s, j + 1) = std::exp(-d * d / (1.6 * 1.6));
      }
    }
    MatrixXd a = h.transpose() * h / particle.noise;
    a.diagonal().array() += 1.0 / particle.coefficient_variance;
    const MatrixXd b = a.inverse();
    const VectorXd mean = h * (b * (h.transpose() * p.y)) / particle.noise;
    const VectorXd variance = (h * b * h.transpose()).diagonal();
    const Index r = static_cast<Index>(i);
    worst = std::max(
        {worst, (mean - ran.mean.row(r).transpose()).cwiseAbs().maxCoeff(),
         (variance - ran.variance.row(r).transpose()).cwiseAbs().maxCoeff()});
  }
  CHECK(worst < 1e-9);
}

TEST("products of a growing grid are those of all rows") {
  Problem p = six_rows();
  p.x(0, 4) = p.x(0, 1);
  for (const bool unique : {false, true}) {
    for (const Index most : {3, 100}) {
      CandidateSettings settings;
      settings.unique = unique;
      settings.most = most;
      Grid grid(p.kernel, 1, settings);
      for (Index t = 0; t < 6; ++t) {
        grid.offer(p.x.col(t).data());
        grid.absorb(p.y[t]);
      }
      CHECK(grid.points() == (most == 3 ? 3 : unique ? 5 : 6));
      const Index m = grid.points() + 1;
      MatrixXd h(6, m);
      h.col(0).setOnes();
      for (Index j = 1; j < m; ++j) {
        for (Index s = 0; s < 6; ++s) {
          const double d = p.x(0, s) - *grid.point(j - 1);
          h(s, j) = std::exp(-d * d / (1.6 * 1.6));
        }
      }
      for (Index a = 0; a < m; ++a) {
        CHECK_NEAR(grid.dot(a), h.col(a).dot(p.y), 1e-13);
        for (Index b = 0; b < m; ++b) {
          CHECK_NEAR(grid.product(a, b), h.col(a).dot(h.col(b)), 1e-13);
        }
      }
    }
  }
}

static Problem waves(Index n, std::uint64_t seed, double noise = 0.15) {
  Problem out;
  Stream stream(seed, 0, Purpose::predict, 0, 0);
  out.x.resize(1, n);
  out.y.resize(n);
  for (Index i = 0; i < n; ++i) {
    out.x(0, i) = -3.0 + 6.0 * stream.uniform();
    out.y[i] = std::sin(1.5 * out.x(0, i)) + noise * stream.normal();
  }
  return out;
}

static FilterSettings free_settings(Index particles) {
  FilterSettings out;
  out.particles = particles;
  out.seed = 11;
  return out;
}

static bool same(const Ran& a, const Ran& b) {
  if (a.log_evidence != b.log_evidence || a.log_weight != b.log_weight) {
    return false;
  }
  for (std::size_t i = 0; i < a.particles.size(); ++i) {
    const Particle &one = a.particles[i], &two = b.particles[i];
    if (one.centres != two.centres || one.noise != two.noise ||
        one.coefficient_variance != two.coefficient_variance ||
        one.latent != two.latent) {
      return false;
    }
  }
  return true;
}

TEST("threads change nothing") {
  Problem p = waves(25, 3);
  for (const bool classes : {false, true}) {
    FilterSettings settings = free_settings(100);
    settings.classes = classes;
    if (classes) {
      settings.noise = settings.first_noise = {1.0, 1.0, true, 1.0};
      p.y = (p.y.array() > 0.0).select(VectorXd::Ones(25), -VectorXd::Ones(25));
    }
    const Ran one = run(p, settings, 2);
    for (const int threads : {2, 5}) {
      TurnExecutor executor(threads);
      CHECK(same(one, run(p, settings, 2, {}, &executor)));
    }
  }
}

TEST("a stream that rests goes on as if it had not") {
  Problem p = waves(24, 4);
  SerialExecutor serial;
  for (const int kind : {0, 1, 2, 3}) {
    CandidateSettings of_grid;
    FilterSettings settings = free_settings(40);
    if (kind == 1) of_grid.most = 7;
    if (kind == 2) of_grid.fixed = p.x.leftCols(9);
    if (kind == 3) {
      settings.classes = of_grid.keep_rows = true;
      of_grid.most = 12;
      settings.noise = settings.first_noise = {1.0, 1.0, true, 1.0};
      p.y = p.y.array().sign();
    }
    Grid whole(p.kernel, 1, of_grid), first(p.kernel, 1, of_grid),
        second(p.kernel, 1, of_grid);
    ParticleFilter at_once(whole, prior_of(p), settings, serial),
        before(first, prior_of(p), settings, serial);
    for (Index t = 0; t < 24; ++t) at_once.step(p.x.col(t).data(), p.y[t]);
    for (Index t = 0; t < 10; ++t) before.step(p.x.col(t).data(), p.y[t]);
    second.restore(first.state());
    ParticleFilter after(second, prior_of(p), settings, serial);
    after.restore(before.particles(), before.log_weights());
    for (Index t = 10; t < 24; ++t) after.step(p.x.col(t).data(), p.y[t]);
    Ran a, b;
    a.particles = at_once.particles();
    a.log_weight = at_once.log_weights();
    b.particles = after.particles();
    b.log_weight = after.log_weights();
    CHECK(same(a, b));
    CHECK(whole.state().gram == second.state().gram);
  }
}

TEST("offspring: expected counts are those of the weights") {
  const std::vector<double> log_weight = {std::log(0.5), std::log(2.2),
                                          std::log(0.05), std::log(1.25)};
  for (const Resampling scheme :
       {Resampling::systematic, Resampling::stratified, Resampling::residual,
        Resampling::multinomial}) {
    const int runs = check::slow() ? 40000 : 10000;
    Eigen::ArrayXd count = Eigen::ArrayXd::Zero(4);
    for (int r = 0; r < runs; ++r) {
      Stream stream(9, 0, Purpose::resample, static_cast<std::uint64_t>(r), 0);
      for (const Index i : resample(log_weight, scheme, stream)) count[i] += 1;
    }
    for (Index i = 0; i < 4; ++i) {
      const double p = std::exp(log_weight[i]) / 4.0;
      const double error = 4.0 * std::sqrt(p * (1.0 - p) / (4.0 * runs));
      CHECK(std::abs(count[i] / (4.0 * runs) - p) < 4.0 * error);
    }
  }
  CHECK_NEAR(effective_size({0.0, 0.0, 0.0}), 3.0, 1e-14);
}
