// Single moves of bark()'s sampler against densities written down afresh, and
// what the chain keeps about its state against the state itself.
#include <Eigen/Cholesky>
#include <boost/math/special_functions/gamma.hpp>
#include <functional>

#include "bark/chain.hpp"
#include "bark/kept.hpp"
#include "bark/structured_moves.hpp"
#include "bark_problem.hpp"
#include "math/normal.hpp"

using bayeskernel::BarkTally;
using bayeskernel::BlockMove;
using bayeskernel::flipped;
using bayeskernel::JointWalk;
using bayeskernel::KernelMoves;
using bayeskernel::LearnedStep;
using bayeskernel::Purpose;
using bayeskernel::ScaleMoves;
using bayeskernel::Stream;
using bayeskernel::TypedFlips;

// A chain of some sweeps, with what it refers to.
struct Walker {
  explicit Walker(const BarkModel& model, int sweeps = 0, unsigned seed = 1,
                  int warmup = 0)
      : model(model), data(model.data()) {
    BarkRandom random(seed);
    std::vector<double> y;
    for (Index i = 0; i < data.rows(); ++i) {
      y.push_back(model.classes > 0
                      ? 1.0 + static_cast<double>(random.below(model.classes))
                      : std::sin(2.0 * model.rows(i, 0)) +
                            0.3 * random.normal());
    }
    chain = std::make_unique<BarkChain>(data, y, model.classes,
                                        this->model.prior, model.setting,
                                        model.inclusion, seed, 0, warmup);
    const auto p = static_cast<std::size_t>(model.variables());
    chain->start(IndicatorVector(p, 1));
    sweep(sweeps);
  }
  void sweep(int sweeps) {
    for (int t = 0; t < sweeps; ++t) chain->sweep();
  }
  BarkState& state() { return chain->state; }

  BarkModel model;
  BarkData data;
  std::unique_ptr<BarkChain> chain;
};

static BarkModel rows_model(Index n, Index p) {
  BarkModel out = small_bark(n, n, p);
  out.prior.gamma = 3.0;
  out.prior.max_kernels = 12;
  out.prior.phi.kind = PrecisionPrior::Kind::gamma;
  out.prior.phi.shape = 2.0;
  out.prior.phi.rate = 1.0;
  return out;
}

// ---- Densities from the state alone
// ------------------------------------------

static MatrixXd fresh_columns(const Walker& walker) {
  const BarkState& state = walker.chain->state;
  const auto& population = state.population;
  const MatrixXd& x = walker.model.rows;
  MatrixXd out(x.rows(), population.columns());
  for (Index j = 0; j < population.columns(); ++j) {
    const Index at = population.location(j);
    for (Index i = 0; i < x.rows(); ++i) {
      double sum = 0.0;
      const Index centres = walker.model.centres.rows();
      for (Index l = 0; at > 0 && l < x.cols(); ++l) {
        const double step =
            x(i, l) - walker.model.centres((at - 1) % centres, l);
        const Index vector = (at - 1) / centres;
        sum += state.lambda[vector * x.cols() + l] * step * step;
      }
      out(i, j) = std::exp(-sum);
    }
  }
  return out;
}

// log p(y | kernels, scales, phi) by the n x n covariance; of y times the roots
// of the weights.
static double dense_marginal(const Walker& walker) {
  const BarkState& state = walker.chain->state;
  const Index n = walker.data.rows();
  const MatrixXd k = fresh_columns(walker);
  MatrixXd covariance = MatrixXd::Zero(n, n);
  double scaled = 0.0;
  for (Index i = 0; i < n; ++i) {
    covariance(i, i) = 1.0 / (state.phi() * walker.model.weight(i));
    scaled += 0.5 * std::log(walker.model.weight(i));
  }
  for (Index j = 0; j < k.cols(); ++j) {
    covariance +=
        state.population.variance(j) * k.col(j) * k.col(j).transpose();
  }
  Index column = 0;
  for (std::size_t b = 0; b < walker.model.blocks.sizes.size(); ++b) {
    for (Index j = 0; j < walker.model.blocks.sizes[b]; ++j) {
      const VectorXd own = walker.model.blocks.columns.col(column++);
      covariance += state.block_variance[b] * own * own.transpose();
    }
  }
  const MatrixXd root = Eigen::LLT<MatrixXd>(covariance).matrixL();
  VectorXd y = Eigen::Map<const VectorXd>(state.response(), n);
  state.data.unscale_rows(y.data());
  const VectorXd white = root.triangularView<Eigen::Lower>().solve(y);
  return -scaled - static_cast<double>(n) * bayeskernel::detail::kLogSqrtTwoPi -
         root.diagonal().array().log().sum() - 0.5 * white.squaredNorm();
}

static double log_gamma_density(double x, double shape, double rate) {
  return shape * std::log(rate) - std::lgamma(shape) +
         (shape - 1.0) * std::log(x) - rate * x;
}

static double log_varphi_density(const BarkPrior& prior, double varphi) {
  return log_gamma_density(varphi, 0.5 * prior.alpha,
                           0.5 * prior.alpha * prior.epsilon * prior.epsilon);
}

// Of the kernels as an unordered set, up to a constant.
static double log_kernel_prior(const Walker& walker) {
  const auto& population = walker.chain->state.population;
  const BarkPrior& prior = walker.model.prior;
  const double places = static_cast<double>(walker.data.locations());
  double out = static_cast<double>(population.kernels()) *
               std::log(prior.expected_kernels() / places);
  for (Index u = 0; u < population.units(); ++u) {
    out += log_varphi_density(prior, population.varphi(u));
    if (population.collapsed()) {
      out -= std::lgamma(static_cast<double>(population.count(u)) + 1.0);
    }
  }
  return out;
}

static double log_joint(const Walker& walker) {
  return dense_marginal(walker) + log_kernel_prior(walker);
}

// log of the probability that a death picks this unit.
static double log_kill(const Walker& walker, Index unit) {
  const auto& population = walker.chain->state.population;
  std::vector<double> weight;
  double total = 0.0;
  for (Index u = 0; u < population.units(); ++u) {
    double w = std::pow(population.varphi(u), walker.model.prior.kill_power);
    if (population.collapsed()) w *= static_cast<double>(population.count(u));
    weight.push_back(w);
    total += w;
  }
  return std::log(weight[unit] / total);
}

static double log_choice(const Walker& walker, int which, Index kernels) {
  return std::log(walker.model.prior.move_probability(kernels)[which]);
}

// Collapsed, atoms at one, at 1.5 and at 0.7; both powers.
static void for_forms(const std::function<void(const BarkModel&)>& body) {
  for (const double alpha : {1.0, -1.0, 1.5, 0.7}) {
    for (const int power : {0, 1}) {
      BarkModel model = rows_model(8, 2);
      model.prior.alpha = std::abs(alpha);
      model.prior.atoms = alpha < 0.0;
      model.prior.kill_power = power;
      body(model);
    }
  }
  BarkModel model = rows_model(8, 2);
  model.weights = {2.0, 0.3, 1.0, 5.0, 0.7, 0.1, 3.0, 1.5};
  body(model);
  model.blocks = small_blocks(model.rows);
  body(model);
  model.weights.clear();
  model.prior.atoms = true;
  body(model);
  for (const bool atoms : {false, true}) {
    BarkModel several = rows_model(8, 2);
    several.prior.atoms = atoms;
    several.vectors = atoms ? 3 : 2;
    if (atoms) several.blocks = small_blocks(several.rows);
    body(several);
  }
}

// ---- Kernels
// ------------------------------------------------------------------

TEST("births and deaths: the densities' ratio, there and back") {
  for_forms([](const BarkModel& model) {
    Walker walker(model, 30);
    BarkState& state = walker.state();
    BarkRandom random(3);
    for (int t = 0; t < 60; ++t) {
      walker.sweep(5);
      const Index J = state.population.kernels();
      if (J == model.prior.max_kernels) continue;
      const double before = log_joint(walker);
      KernelMoves moves(state);
      const Index location = random.below(walker.data.locations());
      const double varphi = random.gamma(1.0, 2.0);
      const bool opens = state.population.column_at(location) < 0;
      const double there = moves.birth(location, varphi);
      moves.accept_birth();
      // The new unit is the last, or the column that has grown.
      const bool drawn = opens || !state.population.collapsed();
      const Index unit = drawn ? state.population.units() - 1
                               : state.population.column_at(location);
      const double forward =
          log_choice(walker, 0, J) -
          std::log(static_cast<double>(walker.data.locations())) +
          (drawn ? log_varphi_density(model.prior, varphi) : 0.0);
      const double backward =
          log_choice(walker, 1, J + 1) + log_kill(walker, unit);
      CHECK_NEAR(there, log_joint(walker) - before + backward - forward, 1e-8);
      CHECK_NEAR(moves.death(unit), -there, 1e-8);
      moves.accept_death();
      CHECK_NEAR(state.gaussian.log_marginal(), dense_marginal(walker), 1e-8);
      CHECK_NEAR(log_joint(walker), before, 1e-10);
    }
  });
}

TEST("relocations: the densities' ratio, there and back") {
  for_forms([](const BarkModel& model) {
    Walker walker(model, 30);
    BarkState& state = walker.state();
    BarkRandom random(4);
    int made = 0;
    for (int t = 0; t < 100; ++t) {
      walker.sweep(5);
      if (state.population.kernels() == 0) continue;
      const Index unit = random.below(state.population.units());
      const Index column = state.population.unit_column(unit);
      const Index from = state.population.location(column);
      const Index to = random.below(walker.data.locations());
      const double old = state.population.varphi(unit);
      const double varphi = random.gamma(1.0, 2.0);
      KernelMoves moves(state);
      if (from == to) {
        CHECK(moves.relocate(unit, to, varphi) == 0.0);
        moves.accept_relocate();
        continue;
      }
      const double before = log_joint(walker);
      const bool collapsed = state.population.collapsed();
      const bool drawn = !collapsed || state.population.column_at(to) < 0;
      const bool empties = !collapsed || state.population.count(column) == 1;
      const double forward =
          log_kill(walker, unit) +
          (drawn ? log_varphi_density(model.prior, varphi) : 0.0);
      const double there = moves.relocate(unit, to, varphi);
      moves.accept_relocate();
      const Index moved = collapsed ? state.population.column_at(to)
                                    : state.population.units() - 1;
      const double backward =
          log_kill(walker, moved) +
          (empties ? log_varphi_density(model.prior, old) : 0.0);
      CHECK_NEAR(there, log_joint(walker) - before + backward - forward, 1e-8);
      CHECK_NEAR(moves.relocate(moved, from, old), -there, 1e-8);
      moves.accept_relocate();
      CHECK_NEAR(state.gaussian.log_marginal(), dense_marginal(walker), 1e-8);
      CHECK_NEAR(log_joint(walker), before, 1e-10);
      ++made;
    }
    CHECK(made > 30);
  });
}

TEST("steps of log varphi: the densities' ratio with the Jacobian") {
  for_forms([](const BarkModel& model) {
    Walker walker(model, 30);
    BarkState& state = walker.state();
    BarkRandom random(5);
    for (int t = 0; t < 40; ++t) {
      walker.sweep(5);
      if (state.population.kernels() == 0) continue;
      const Index unit = random.below(state.population.units());
      const double old = state.population.varphi(unit);
      const double value = old * std::exp(random.normal());
      const double before = log_joint(walker);
      KernelMoves moves(state);
      const double there = moves.varphi(unit, value);
      moves.accept_varphi();
      CHECK_NEAR(there, log_joint(walker) - before + std::log(value / old),
                 1e-8);
      CHECK_NEAR(moves.varphi(unit, old), -there, 1e-8);
    }
  });
}

TEST("an arrival far more precise than what leaves keeps a finite ratio") {
  BarkModel model = rows_model(6, 2);
  model.prior.alpha = 0.5;
  Walker walker(model);
  BarkState& state = walker.state();
  state.population.clear();
  state.population.insert(1, 1e8);
  state.rebuild_all();
  KernelMoves moves(state);
  // One atom: it is picked for certain, before and after.
  const double ratio = moves.relocate(0, 3, 1e-12);
  CHECK_NEAR(ratio, moves.likelihood_change(), 1e-10);
}

TEST("a column handed to a neighbour: the densities' ratio, there and back") {
  for_forms([](const BarkModel& model) {
    Walker walker(model, 30);
    BarkState& state = walker.state();
    BarkRandom random(7);
    Stream stream(7, 0, Purpose::kernels, 0, 0);
    const MatrixXd& x = model.rows;
    // log of the share of row j among the neighbours of row i, both with a
    // vector of scales.
    const auto log_share = [&](Index from, Index to, int power) {
      const Index n = x.rows(), i = from % n, j = to % n;
      CHECK(from / n == to / n);
      const VectorXd scales = state.lambda.segment(from / n * 2, 2);
      double own = 0.0, total = 0.0;
      for (Index l = 0; l < x.rows(); ++l) {
        if (l == i) continue;
        const auto step = (x.row(l) - x.row(i)).array().square().matrix();
        const double weight = std::exp(-std::ldexp(step.dot(scales), power));
        total += weight;
        if (l == j) own = weight;
      }
      return std::log(own / total);
    };
    int made = 0;
    for (int t = 0; t < 200; ++t) {
      walker.sweep(3);
      if (state.population.kernels() == 0) continue;
      const Index column = random.below(state.population.columns());
      const Index from = state.population.location(column);
      const int power = static_cast<int>(random.below(4));
      KernelMoves moves(state);
      const Index to = moves.draw_neighbour(column, power, stream);
      if (to < 0) continue;
      CHECK(from > 0 && to > 0 && state.population.column_at(to) < 0);
      const double before = log_joint(walker);
      const Index count = state.population.count(column);
      const double there = moves.shift(column, to);
      moves.accept_shift();
      CHECK(state.population.column_at(from) < 0);
      CHECK(state.population.count(state.population.column_at(to)) == count);
      CHECK_NEAR(there,
                 log_joint(walker) - before +
                     log_share(to - 1, from - 1, power) -
                     log_share(from - 1, to - 1, power),
                 1e-8);
      CHECK_NEAR(state.gaussian.log_marginal(), dense_marginal(walker), 1e-8);
      ++made;
    }
    CHECK(made > 20);
  });
}

TEST("a column handed to another vector of scales: the densities' ratio") {
  int made = 0;
  for_forms([&](const BarkModel& model) {
    Walker walker(model, 30);
    BarkState& state = walker.state();
    BarkRandom random(8);
    Stream stream(8, 0, Purpose::kernels, 0, 0);
    for (int t = 0; t < 60; ++t) {
      walker.sweep(3);
      if (state.population.columns() == 0) continue;
      const Index column = random.below(state.population.columns());
      const Index from = state.population.location(column);
      KernelMoves moves(state);
      const Index to = moves.draw_vector(column, stream);
      if (model.vectors == 1 || from == 0) CHECK(to < 0);
      if (to < 0) continue;
      CHECK((to - 1) % 8 == (from - 1) % 8 && to != from);
      CHECK(state.population.column_at(to) < 0);
      const double before = log_joint(walker);
      const Index count = state.population.count(column);
      const double there = moves.change_vector(column, to);
      moves.accept_shift();
      CHECK(state.population.column_at(from) < 0);
      const Index now = state.population.column_at(to);
      CHECK(state.population.count(now) == count);
      CHECK_NEAR(there, log_joint(walker) - before, 1e-8);
      CHECK_NEAR(state.gaussian.log_marginal(), dense_marginal(walker), 1e-8);
      CHECK_NEAR(moves.change_vector(now, from), -there, 1e-8);
      ++made;
    }
  });
  CHECK(made > 30);
}

TEST("births that are given up early would have been rejected") {
  int early = 0, kept = 0;
  for_forms([&](const BarkModel& model) {
    Walker walker(model, 30);
    BarkState& state = walker.state();
    BarkRandom random(6);
    for (int t = 0; t < 400; ++t) {
      walker.sweep(1);
      if (state.population.kernels() == model.prior.max_kernels) continue;
      KernelMoves moves(state);
      const Index location = random.below(walker.data.locations());
      const double varphi = random.gamma(0.5, 0.125);
      const double log_u = std::log(random.uniform());
      const double whole = moves.birth(location, varphi);
      state.residual();
      const double quick = moves.birth(location, varphi, log_u);
      CHECK((log_u < whole) == (log_u < quick));
      ++(quick == whole ? kept : early);
    }
  });
  CHECK(early > 100 && kept > 100);
}

// ---- Scales
// --------------------------------------------------------------------

static double log_scale_prior(const Walker& walker) {
  const BarkState& state = walker.chain->state;
  const double a = walker.model.prior.lambda_shape *
                   static_cast<double>(walker.model.vectors);
  const double b = walker.model.prior.lambda_rate;
  const double d = static_cast<double>(state.active());
  double out = walker.model.setting.select
                   ? state.inclusion.log_prior(state.delta)
                   : 0.0;
  if (d == 0.0) return out;
  for (Index l = 0; l < state.scales(); ++l) {
    if (!state.delta[l]) continue;
    if (!walker.model.setting.different) {
      return out + log_gamma_density(state.lambda[l], a, d * b);
    }
    out += log_gamma_density(state.lambda[l], a / d, b);
  }
  return out;
}

// The log ratio that makes a move reversible: the joint densities, and what
// proposal densities and Jacobians add.
static void check_scale_move(Walker& walker,
                             const std::function<double(ScaleMoves&)>& there,
                             const std::function<double(ScaleMoves&)>& back,
                             const std::function<double()>& rest) {
  BarkState& state = walker.state();
  ScaleMoves moves(state);
  const double before = dense_marginal(walker) + log_scale_prior(walker);
  const double ratio = there(moves);
  moves.accept();
  const double after = dense_marginal(walker) + log_scale_prior(walker);
  CHECK_NEAR(ratio, after - before + rest(), 1e-8);
  CHECK_NEAR(state.gaussian.log_marginal(), dense_marginal(walker), 1e-8);
  const MatrixXd fresh = fresh_columns(walker);
  double worst = 0.0;
  for (Index j = 0; j < fresh.cols(); ++j) {
    for (Index i = 0; i < fresh.rows(); ++i) {
      worst = std::max(worst, std::abs(state.basis.column(j)[i] - fresh(i, j)));
    }
  }
  CHECK(worst < 1e-11);
  CHECK_NEAR(back(moves), -ratio, 1e-8);
  moves.accept();
  CHECK_NEAR(dense_marginal(walker) + log_scale_prior(walker), before, 1e-10);
}

// Walkers of the settings with and without selection.
static void for_scales(bool select, bool different,
                       const std::function<void(Walker&, BarkRandom&)>& body) {
  for (const bool known : {false, true}) {
    if (known && !select) continue;
    BarkModel model = rows_model(9, 4);
    model.setting.select = select;
    model.setting.different = different;
    if (known) model.inclusion = InclusionPrior::known(1.5, 1.2, 0.37);
    Walker walker(model, 30);
    walker.chain->schedule.scale_share = 1.0;
    BarkRandom random(9);
    for (int t = 0; t < 150; ++t) {
      walker.sweep(7);
      body(walker, random);
    }
  }
}

// log of the labels' probability, of b, of varphi and of log tau, from the
// state alone.
static double log_labelled(const Walker& walker, const VectorXd& all) {
  const auto& population = walker.chain->state.population;
  const auto& blocks = walker.model.blocks;
  const Index first = walker.data.fixed();
  const VectorXd b = all.tail(all.size() - first);
  VectorXd f = fresh_columns(walker) * b;
  if (first > 0) f += blocks.columns * all.head(first);
  double out = 0.0;
  for (Index i = 0; i < f.size(); ++i) {
    const bool positive = walker.chain->state.response()[i] > 0.0;
    out += bayeskernel::log_normal_cdf(positive ? f[i] : -f[i]);
  }
  for (Index j = 0; j < b.size(); ++j) {
    const double v = population.variance(j);
    out -= 0.5 * (std::log(v) + b[j] * b[j] / v);
  }
  for (Index u = 0; u < population.units(); ++u) {
    out += log_varphi_density(walker.model.prior, population.varphi(u));
  }
  Index column = 0;
  for (std::size_t k = 0; k < blocks.sizes.size(); ++k) {
    const double v = walker.chain->state.block_variance[k];
    for (Index j = 0; j < blocks.sizes[k]; ++j, ++column) {
      out -= 0.5 * (std::log(v) + all[column] * all[column] / v);
    }
    // Half t of 4 degrees of freedom.
    out += 0.5 * std::log(v) - 2.5 * std::log1p(v / 4.0);
  }
  return out;
}

TEST("coefficients and their precisions stretched, the labels deciding") {
  for_forms([](BarkModel model) {
    if (!model.weights.empty()) return;
    model.classes = 2;
    model.prior.phi.kind = PrecisionPrior::Kind::fixed;
    Walker walker(model, 30);
    Stream stream(7, 0, Purpose::kernels, 0, 0);
    auto& latent = *walker.chain->latent;
    for (const double factor : {0.3, 0.9, 1.1, 4.0}) {
      walker.sweep(20);
      if (walker.state().basis.size() == 0) continue;
      latent.begin_labels(stream);
      const Index m = walker.state().basis.size();
      const VectorXd b = Eigen::Map<const VectorXd>(latent.coefficients(), m);
      const double units =
          static_cast<double>(walker.state().population.units());
      const double before = log_labelled(walker, b);
      const double there = latent.stretch(factor);
      latent.accept_stretch(factor);
      CHECK(Eigen::Map<const VectorXd>(latent.coefficients(), m)
                .isApprox(factor * b, 1e-14));
      const double jacobian =
          (static_cast<double>(m) - 2.0 * units) * std::log(factor);
      CHECK_NEAR(there, log_labelled(walker, factor * b) - before + jacobian,
                 1e-9 * (1.0 + std::abs(there)));
      CHECK_NEAR(latent.stretch(1.0 / factor), -there,
                 1e-9 * (1.0 + std::abs(there)));
      latent.end_labels(stream);
      CHECK_NEAR(walker.state().gaussian.log_marginal(), dense_marginal(walker),
                 1e-7);
    }
  });
}

TEST("all scales by a common factor, and one of them") {
  for (const bool select : {false, true}) {
    for (const bool different : {false, true}) {
      for_scales(select, different, [&](Walker& walker, BarkRandom& random) {
        const BarkState& state = walker.state();
        const double d = static_cast<double>(state.active());
        if (d == 0.0) return;
        const double c = std::exp(0.7 * random.normal());
        check_scale_move(
            walker, [&](ScaleMoves& m) { return m.common_factor(c); },
            [&](ScaleMoves& m) { return m.common_factor(1.0 / c); },
            [&] { return (different ? d : 1.0) * std::log(c); });
        if (!different) return;
        Index l = random.below(state.scales());
        while (!state.delta[l]) l = random.below(state.scales());
        const double old = state.lambda[l];
        check_scale_move(
            walker, [&](ScaleMoves& m) { return m.coordinate(l, c * old); },
            [&](ScaleMoves& m) { return m.coordinate(l, old); },
            [&] { return std::log(c); });
      });
    }
  }
}

// Of epsilon^2, phi and the kernels, given how many and where they are.
static double log_joint_prior(const Walker& walker) {
  const BarkPrior& prior = walker.chain->state.prior;
  double out = log_scale_prior(walker);
  if (prior.learns_scale()) {
    out += log_gamma_density(prior.epsilon * prior.epsilon, prior.scale_shape,
                             prior.scale_rate);
  }
  if (prior.phi.kind == PrecisionPrior::Kind::gamma) {
    out += log_gamma_density(walker.chain->state.phi(), prior.phi.shape,
                             prior.phi.rate);
  } else {
    out -= std::log(walker.chain->state.phi());
  }
  const auto& population = walker.chain->state.population;
  for (Index u = 0; u < population.units(); ++u) {
    out += log_varphi_density(prior, population.varphi(u));
  }
  return out;
}

TEST("all scales of a regression at once: the densities' ratio with Jacobian") {
  int forms = 0;
  for_forms([&](BarkModel model) {
    // Different scales, or one; epsilon learned, or not; either prior of phi.
    const int form = forms++;
    model.setting.different = form % 2 == 0 || model.vectors > 1;
    if (form % 3 != 0) {
      model.prior.scale_shape = 2.5;
      model.prior.scale_rate = 4.0;
    }
    if (form % 4 == 1) model.prior.phi.kind = PrecisionPrior::Kind::log_uniform;
    const bool learns = model.prior.learns_scale();
    Walker walker(model, 30);
    BarkState& state = walker.state();
    BarkTally tally(state.scales());
    BarkRandom random(11);
    JointWalk walk(state, tally, true);
    const Index scales = model.setting.different ? state.scales() : 1;
    const Index size = scales + (learns ? 2 : 1);
    CHECK(walk.directions().size() == size);
    for (int t = 0; t < 40; ++t) {
      walker.sweep(5);
      const double before = dense_marginal(walker) + log_joint_prior(walker);
      const VectorXd lambda = state.lambda;
      const double phi = state.phi(), epsilon = state.prior.epsilon;
      const double expected = state.prior.expected_kernels();
      const VectorXd step =
          VectorXd::NullaryExpr(size, [&] { return 0.5 * random.normal(); });
      const double there = walk.propose(step);
      // Nothing moves before it is accepted.
      CHECK(state.lambda == lambda && state.phi() == phi);
      CHECK_NEAR(dense_marginal(walker) + log_joint_prior(walker), before,
                 1e-12 * std::abs(before));
      walk.accept();
      for (Index l = 0; l < state.scales(); ++l) {
        CHECK_NEAR(std::log(state.lambda[l] / lambda[l]),
                   step[model.setting.different ? l : 0], 1e-12);
      }
      CHECK_NEAR(std::log(state.phi() / phi), step[size - 1], 1e-12);
      CHECK_NEAR(state.prior.expected_kernels(), expected, 1e-9);
      const double squared = 2.0 * std::log(state.prior.epsilon / epsilon);
      CHECK_NEAR(squared, learns ? step[size - 2] : 0.0, 1e-12);
      // Steps of logs, and varphi epsilon^2 that stay.
      const double units = static_cast<double>(state.population.units());
      const double jacobian =
          step.sum() - (learns ? units * step[size - 2] : 0.0);
      CHECK_NEAR(
          there,
          dense_marginal(walker) + log_joint_prior(walker) - before + jacobian,
          1e-7 * (1.0 + std::abs(there)));
      CHECK_NEAR(state.gaussian.log_marginal(), dense_marginal(walker), 1e-7);
      CHECK_NEAR(walk.propose(-step), -there, 1e-7 * (1.0 + std::abs(there)));
      walk.accept();
      CHECK_NEAR(dense_marginal(walker) + log_joint_prior(walker), before,
                 1e-8);
    }
  });
  CHECK(forms == 13);
}

TEST("all scales at once: in regressions without selection, few variables") {
  const auto on = [](const BarkModel& model) {
    return Walker(model).chain->checkpoint().learned.size() > 0;
  };
  BarkModel model = rows_model(8, 2);
  CHECK(on(model));
  CHECK(on(rows_model(8, 50)));
  CHECK(!on(rows_model(8, 51)));
  model.setting.select = true;
  CHECK(!on(model));
  model.setting.select = false;
  model.prior.phi.kind = PrecisionPrior::Kind::fixed;
  CHECK(on(model));
  model.classes = 2;
  CHECK(!on(model));
}

TEST("several vectors of scales: one of them, and all by a common factor") {
  BarkModel model = rows_model(9, 3);
  model.vectors = 2;
  Walker walker(model, 30);
  walker.chain->schedule.scale_share = 1.0;
  BarkRandom random(13);
  const BarkState& state = walker.state();
  CHECK(state.scales() == 6 && state.data.locations() == 19);
  for (int t = 0; t < 100; ++t) {
    walker.sweep(7);
    const double c = std::exp(0.7 * random.normal());
    check_scale_move(
        walker, [&](ScaleMoves& m) { return m.common_factor(c); },
        [&](ScaleMoves& m) { return m.common_factor(1.0 / c); },
        [&] { return 6.0 * std::log(c); });
    const Index vector = random.below(2);
    check_scale_move(
        walker, [&](ScaleMoves& m) { return m.vector_factor(vector, c); },
        [&](ScaleMoves& m) { return m.vector_factor(vector, 1.0 / c); },
        [&] { return 3.0 * std::log(c); });
    const Index l = random.below(6);
    const double old = state.lambda[l];
    check_scale_move(
        walker, [&](ScaleMoves& m) { return m.coordinate(l, c * old); },
        [&](ScaleMoves& m) { return m.coordinate(l, old); },
        [&] { return std::log(c); });
  }
  model.setting.different = false;
  CHECK_THROWS(Walker{model}, bayeskernel::ArgumentError);
  model.setting.different = model.setting.select = true;
  CHECK_THROWS(Walker{model}, bayeskernel::ArgumentError);
  model.vectors = 0;
  CHECK_THROWS(model.data(), bayeskernel::ArgumentError);
}

TEST("steps that learn: the covariance of what was seen") {
  BarkRandom random(12);
  MatrixXd root(3, 3);
  root << 1.0, 0.0, 0.0, 2.0, 0.5, 0.0, -1.0, 0.3, 0.1;
  const MatrixXd covariance = root * root.transpose();
  LearnedStep step(3);
  const auto normals = [&] {
    return VectorXd(VectorXd::NullaryExpr(3, [&] { return random.normal(); }));
  };
  for (int t = 0; t < 20000; ++t) {
    step.observe(root * normals() + VectorXd::Constant(3, 5.0));
  }
  MatrixXd found(3, 3);
  for (Index j = 0; j < 3; ++j) {
    found.col(j) = step.step(VectorXd::Unit(3, j), 0.7);
  }
  const double scale = 2.38 * 0.7 / std::sqrt(3.0);
  const MatrixXd product = found * found.transpose() / (scale * scale);
  // The last 2000 or so count.
  for (Index i = 0; i < 3; ++i) {
    for (Index j = 0; j < 3; ++j) {
      const double size = std::sqrt(covariance(i, i) * covariance(j, j));
      CHECK_NEAR(product(i, j), covariance(i, j), 0.12 * size);
    }
  }
  LearnedStep other(3);
  CHECK(static_cast<Index>(step.learned().size()) == other.numbers());
  other.restore(step.learned());
  CHECK(other.learned() == step.learned());
  step.observe(VectorXd::Ones(3));
  other.observe(VectorXd::Ones(3));
  const VectorXd normal = normals();
  CHECK(other.step(normal, 1.0) == step.step(normal, 1.0));
}

TEST("flips with equal scales: the scale stays, the sum stays, none is left") {
  int kept = 0, emptied = 0;
  for_scales(true, false, [&](Walker& walker, BarkRandom& random) {
    const BarkState& state = walker.state();
    const BarkPrior& prior = walker.model.prior;
    const Index l = random.below(state.scales());
    const Index d = state.active();
    const Index to = state.delta[l] ? d - 1 : d + 1;
    if (d > 0 && to > 0) {
      ++kept;
      const auto scale = [&](ScaleMoves& m) {
        return m.replace(flipped(state.delta, l), false, 0.0, 0.0);
      };
      check_scale_move(walker, scale, scale, [] { return 0.0; });
      const auto total = [&](ScaleMoves& m) {
        return m.replace(flipped(state.delta, l), true, 0.0, 0.0);
      };
      // lambda' = lambda d / d'.
      const double jacobian =
          std::log(static_cast<double>(d) / static_cast<double>(to));
      check_scale_move(walker, total, total, [&] { return jacobian; });
      return;
    }
    ++emptied;
    const double scale = d == 0 ? random.gamma(1.3, 0.8) : state.lambda[l];
    const double density =
        log_gamma_density(scale, prior.lambda_shape, prior.lambda_rate);
    const auto flip = [&](ScaleMoves& m) {
      return m.replace(flipped(state.delta, l), false, scale, 0.0);
    };
    check_scale_move(walker, flip, flip,
                     [&] { return d == 0 ? -density : density; });
  });
  CHECK(kept > 20 && emptied > 10);
}

TEST("flips with different scales, from and to no variable too") {
  int emptied = 0;
  for_scales(true, true, [&](Walker& walker, BarkRandom& random) {
    const BarkState& state = walker.state();
    const BarkPrior& prior = walker.model.prior;
    const Index l = random.below(state.scales());
    const bool leaves = state.delta[l];
    const double more =
        static_cast<double>(state.active()) + (leaves ? 0.0 : 1.0);
    emptied += more == 1.0;
    const double scale = leaves ? state.lambda[l] : random.gamma(0.7, 0.8);
    const double density =
        log_gamma_density(scale, prior.lambda_shape / more, prior.lambda_rate);
    const auto flip = [&](ScaleMoves& m) { return m.flip_different(l, scale); };
    check_scale_move(walker, flip, flip,
                     [&] { return leaves ? density : -density; });
  });
  CHECK(emptied > 5);
}

TEST("an active variable hands its scale to another") {
  for (const bool different : {false, true}) {
    int made = 0;
    for_scales(true, different, [&](Walker& walker, BarkRandom&) {
      const BarkState& state = walker.state();
      Index in = -1, out = -1;
      for (Index l = 0; l < state.scales(); ++l) {
        (state.delta[l] ? in : out) = l;
      }
      if (in < 0 || out < 0) return;
      ++made;
      check_scale_move(
          walker, [&](ScaleMoves& m) { return m.swap(in, out); },
          [&](ScaleMoves& m) { return m.swap(out, in); }, [] { return 0.0; });
    });
    CHECK(made > 20);
  }
}

TEST("any other indicators along an axis") {
  BarkModel model = rows_model(9, 6);
  model.setting.select = true;
  model.setting.different = false;
  model.inclusion = InclusionPrior::markov(0.7, 0.6);
  Walker walker(model, 30);
  walker.chain->schedule.scale_share = 1.0;
  BarkRandom random(10);
  const BarkState& state = walker.state();
  for (int t = 0; t < 200; ++t) {
    walker.sweep(7);
    IndicatorVector from = state.delta, to = from;
    const double d = static_cast<double>(state.active());
    for (char& in : to) in = random.uniform() < 0.5;
    double more = 0.0;
    for (const char in : to) more += in;
    const bool keep_total = random.uniform() < 0.5;
    double rest = 0.0, fresh = random.gamma(1.3, 0.8);
    if (d > 0.0 && more > 0.0) {
      rest = keep_total ? std::log(d / more) : 0.0;
    } else if (d != more) {
      // Only single variables come and go to and from none.
      to.assign(6, 0);
      from = state.delta;
      if (d == 0.0) {
        to[random.below(6)] = 1;
      } else if (d > 1.0) {
        continue;
      }
      if (d == 1.0) fresh = state.lambda.sum();
      const double density = log_gamma_density(fresh, model.prior.lambda_shape,
                                               model.prior.lambda_rate);
      rest = d == 0.0 ? -density : density;
    }
    check_scale_move(
        walker,
        [&](ScaleMoves& m) { return m.replace(to, keep_total, fresh, 0.4); },
        [&](ScaleMoves& m) { return m.replace(from, keep_total, fresh, -0.4); },
        [&] { return 0.4 + rest; });
  }
}

// ---- Moves along an axis, over all states of six variables
// ------------------------

static const int kSites = 6, kStates = 64;

static IndicatorVector indicators_of(int state) {
  IndicatorVector out;
  for (int l = 0; l < kSites; ++l) out.push_back(state >> l & 1);
  return out;
}

static int number_of(const IndicatorVector& delta) {
  int out = 0;
  for (int l = 0; l < kSites; ++l) out |= delta[l] << l;
  return out;
}

static VectorXd stationary(const InclusionPrior& prior) {
  VectorXd out(kStates);
  for (int s = 0; s < kStates; ++s) {
    out[s] = std::exp(prior.log_prior(indicators_of(s)));
  }
  return out;
}

struct Proposal {
  int to;
  double log_forward, log_ratio;
};

static std::vector<Proposal> typed_proposals(int from) {
  const IndicatorVector delta = indicators_of(from);
  const TypedFlips flips(delta);
  std::vector<Proposal> out;
  for (Index i = 0; i < kSites; ++i) {
    if (bayeskernel::site_type(delta, i) == bayeskernel::SiteType::none) {
      continue;
    }
    out.push_back({number_of(bayeskernel::flipped(delta, i)),
                   flips.log_probability(i),
                   bayeskernel::typed_flip_log_ratio(delta, i)});
  }
  return out;
}

static std::vector<Proposal> block_proposals(int from) {
  const IndicatorVector delta = indicators_of(from);
  const auto menu = bayeskernel::block_menu(delta);
  std::vector<Proposal> out;
  for (const BlockMove& move : menu) {
    for (Index k = 1; k <= move.longest; ++k) {
      IndicatorVector to = delta;
      move.apply(to, k);
      out.push_back(
          {number_of(to),
           move.log_step(k) - std::log(static_cast<double>(menu.size())),
           bayeskernel::block_move_log_ratio(delta, menu, move, k)});
    }
  }
  return out;
}

using Proposals = std::function<std::vector<Proposal>(int)>;

static MatrixXd transition(const VectorXd& target, const Proposals& propose) {
  MatrixXd out = MatrixXd::Zero(kStates, kStates);
  for (int s = 0; s < kStates; ++s) {
    double left = 1.0;
    for (const Proposal& move : propose(s)) {
      const double accepted =
          std::min(1.0, target[move.to] / target[s] * std::exp(move.log_ratio));
      const double probability = std::exp(move.log_forward) * accepted;
      out(s, move.to) += probability;
      left -= probability;
    }
    out(s, s) += left;
  }
  return out;
}

TEST("the prior along an axis is the product of its transitions") {
  const double q0 = 0.8, q1 = 0.6, start = (1.0 - q0) / (2.0 - q0 - q1);
  const VectorXd found = stationary(InclusionPrior::markov(q0, q1));
  CHECK_NEAR(found.sum(), 1.0, 1e-14);
  for (int s = 0; s < kStates; ++s) {
    const IndicatorVector delta = indicators_of(s);
    double expected = delta[0] ? start : 1.0 - start;
    for (int l = 1; l < kSites; ++l) {
      const double stay = delta[l - 1] ? q1 : q0;
      expected *= delta[l] == delta[l - 1] ? stay : 1.0 - stay;
    }
    CHECK_NEAR(found[s] / expected, 1.0, 1e-13);
  }
}

TEST("typed flips and blocks keep the prior along an axis") {
  for (const auto& [q0, q1] : {std::pair{0.8, 0.6}, std::pair{0.3, 0.9}}) {
    const VectorXd target = stationary(InclusionPrior::markov(q0, q1));
    for (const Proposals& propose :
         {Proposals(typed_proposals), Proposals(block_proposals)}) {
      const MatrixXd p = transition(target, propose);
      CHECK((p.rowwise().sum().array() - 1.0).abs().maxCoeff() < 1e-14);
      CHECK(p.minCoeff() > -1e-14);
      CHECK((p.transpose() * target - target).cwiseAbs().maxCoeff() < 1e-15);
    }
  }
}

TEST("proposals along an axis add up to one and lead back as they say") {
  for (int s = 0; s < kStates; ++s) {
    for (const Proposals& propose :
         {Proposals(typed_proposals), Proposals(block_proposals)}) {
      const auto proposals = propose(s);
      double total = 0.0;
      for (const Proposal& move : proposals) {
        total += std::exp(move.log_forward);
        double back = 0.0;
        int arrivals = 0;
        for (const Proposal& other : propose(move.to)) {
          if (other.to == s) back += std::exp(other.log_forward);
        }
        for (const Proposal& other : proposals) arrivals += other.to == move.to;
        CHECK(arrivals == 1);
        CHECK(std::isfinite(move.log_ratio));
        CHECK_NEAR(move.log_ratio, std::log(back) - move.log_forward, 1e-13);
      }
      if (!proposals.empty()) CHECK_NEAR(total, 1.0, 1e-13);
    }
  }
}

static int reached(int from, const std::vector<Proposals>& moves) {
  std::vector<int> queue{from};
  std::vector<char> seen(kStates, 0);
  seen[from] = 1;
  for (std::size_t k = 0; k < queue.size(); ++k) {
    for (const Proposals& propose : moves) {
      for (const Proposal& move : propose(queue[k])) {
        if (seen[move.to]) continue;
        seen[move.to] = 1;
        queue.push_back(move.to);
      }
    }
  }
  return static_cast<int>(queue.size());
}

TEST("only both kinds of moves together reach every state") {
  CHECK(reached(0, {typed_proposals}) == 35);
  CHECK(reached(0, {block_proposals}) == 1);
  CHECK(reached(0, {typed_proposals, block_proposals}) == kStates);
}

TEST("moves along an axis are drawn with the probabilities they say") {
  Stream stream(1, 1, Purpose::selection, 0, 0);
  const int draws = 4000;
  double worst = 0.0;
  for (int s = 0; s < kStates; ++s) {
    const IndicatorVector delta = indicators_of(s);
    const TypedFlips flips(delta);
    VectorXd count = VectorXd::Zero(kSites);
    for (int t = 0; t < draws; ++t) {
      const Index site = flips.draw(stream);
      if (site >= 0) count[site] += 1.0;
    }
    const auto compare = [&](double found, double p) {
      if (p > 1.0 - 1e-12) {
        CHECK(found == draws);
        return;
      }
      const double sd = std::sqrt(draws * p * (1.0 - p));
      worst = std::max(worst, std::abs(found - draws * p) / sd);
    };
    for (Index i = 0; i < kSites; ++i) {
      if (bayeskernel::site_type(delta, i) == bayeskernel::SiteType::none) {
        CHECK(count[i] == 0.0);
      } else {
        compare(count[i], std::exp(flips.log_probability(i)));
      }
    }
    for (const BlockMove& move : bayeskernel::block_menu(delta)) {
      VectorXd steps = VectorXd::Zero(move.longest + 1);
      for (int t = 0; t < draws; ++t) steps[move.draw_step(stream)] += 1.0;
      for (Index k = 1; k <= move.longest; ++k) {
        compare(steps[k], std::exp(move.log_step(k)));
      }
    }
  }
  CHECK(worst < 4.5);
}

// ---- What a chain keeps
// ------------------------------------------------------------

// Everything that was updated in place against a rebuild.
static void check_kept(Walker& walker, double tolerance) {
  BarkState& state = walker.state();
  const auto& gaussian = state.gaussian;
  const double found = gaussian.log_marginal();
  const Index first = walker.data.fixed(), n = walker.data.rows();
  const Index m = gaussian.size() - first;
  CHECK(m == state.population.columns() && m + first == state.basis.size());
  const VectorXd mean = Eigen::Map<const VectorXd>(gaussian.mean(), first + m);
  const VectorXd residual = Eigen::Map<const VectorXd>(state.residual(), n);
  MatrixXd fresh(n, first + m);
  fresh.rightCols(m) = fresh_columns(walker);
  if (first > 0) fresh.leftCols(first) = walker.model.blocks.columns;
  double gap = 0.0;
  Index kernels = 0;
  for (Index j = 0; j < first; ++j) {
    for (Index i = 0; i < n; ++i) {
      gap = std::max(gap, std::abs(state.basis.column(j)[i] - fresh(i, j)));
    }
  }
  for (Index j = 0; j < m; ++j) {
    CHECK(state.basis.location(first + j) == state.population.location(j));
    CHECK(state.population.column_at(state.population.location(j)) == j);
    CHECK_NEAR(gaussian.variance(first + j) / state.population.variance(j), 1.0,
               1e-12);
    kernels += state.population.count(j);
    for (Index i = 0; i < n; ++i) {
      gap = std::max(gap, std::abs(state.basis.column(first + j)[i] -
                                   fresh(i, first + j)));
    }
  }
  CHECK(kernels == state.population.kernels());
  CHECK(kernels <= walker.model.prior.max_kernels);
  CHECK(gap < 1e-9);
  state.rebuild_all();
  CHECK_NEAR(found, gaussian.log_marginal(), tolerance);
  if (n == 0) return;
  const VectorXd y = Eigen::Map<const VectorXd>(state.response(), n);
  const VectorXd again = Eigen::Map<const VectorXd>(gaussian.mean(), first + m);
  CHECK((fresh * (mean - again)).norm() < tolerance * (1.0 + y.norm()));
  CHECK((residual - (y - fresh * mean)).norm() < tolerance * (1.0 + y.norm()));
  CHECK(std::isfinite(found));
}

static void check_long_run(const BarkModel& model, int sweeps) {
  Walker walker(model, 0, 11);
  for (int t = 0; t < 8; ++t) {
    walker.sweep(sweeps / 8);
    check_kept(walker, 1e-6);
  }
}

TEST("after long runs what was updated equals a rebuild") {
  const int sweeps = check::slow() ? 150000 : 8000;
  for (const auto& [name, setting] : bark_settings()) {
    for (const bool atoms : {false, true}) {
      for (const int classes : {0, 2, 3}) {
        BarkModel model = rows_model(25, 3);
        model.setting = setting;
        model.prior.atoms = atoms;
        model.classes = classes;
        if (classes > 0) {
          model.prior.phi.kind = PrecisionPrior::Kind::fixed;
        } else if (atoms) {
          model.prior.phi.kind = PrecisionPrior::Kind::log_uniform;
        }
        check_long_run(model, sweeps);
      }
    }
  }
}

TEST("with blocks, too, what was updated equals a rebuild") {
  const int sweeps = check::slow() ? 50000 : 8000;
  for (const int classes : {0, 2, 3}) {
    BarkModel model = rows_model(25, 3);
    model.classes = classes;
    model.setting.select = classes == 0;
    model.blocks = small_blocks(model.rows);
    if (classes > 0) model.prior.phi.kind = PrecisionPrior::Kind::fixed;
    check_long_run(model, sweeps);
  }
}

TEST("few rows, copies of rows, few and many kernels do not stop a chain") {
  for (const int classes : {0, 2}) {
    for (const bool select : {false, true}) {
      BarkModel model = rows_model(6, 2);
      model.classes = classes;
      model.setting.select = select;
      if (classes > 0) model.prior.phi.kind = PrecisionPrior::Kind::fixed;
      BarkModel copies = model, single = model, one = model, crowd = model;
      copies.rows.setConstant(0.3);
      copies.centres = copies.rows;
      single.rows = model.rows.topRows(1);
      single.centres = single.rows;
      one.prior.max_kernels = 1;
      // All locations in use most of the time.
      crowd.prior.gamma = 40.0;
      crowd.prior.max_kernels = 200;
      BarkModel crowd_atoms = crowd, constant = model;
      crowd_atoms.prior.atoms = true;
      constant.rows.col(1).setConstant(1.0);
      constant.centres = constant.rows;
      for (const BarkModel& each :
           {copies, single, one, crowd, crowd_atoms, constant}) {
        check_long_run(each, 4000);
      }
    }
  }
}

// The precision of the noise goes to its bounds, coefficients grow, and the
// scales shrink until kernels are nearly alike.
TEST("without noise, what was updated stays close to a rebuild") {
  const int sweeps = check::slow() ? 40000 : 6000;
  for (const auto& [name, setting] : bark_settings()) {
    for (const bool atoms : {false, true}) {
      BarkModel model = rows_model(40, 2);
      model.setting = setting;
      model.prior.atoms = atoms;
      model.rows = model.rows.array().sin();
      model.centres = model.rows;
      model.prior.gamma = 5.0;
      model.prior.max_kernels = 39;
      model.prior.phi.kind = PrecisionPrior::Kind::log_uniform;
      Walker walker(model, 0, 1, sweeps);
      BarkState& state = walker.state();
      for (Index i = 0; i < 40; ++i) {
        state.response()[i] = model.rows(i, 0);
      }
      walker.chain->start(IndicatorVector(2, 1));
      double worst = 0.0, largest = 0.0;
      for (int t = 0; t < sweeps; t += 10) {
        walker.sweep(10);
        const double kept = state.gaussian.log_marginal();
        worst = std::max(
            worst,
            std::abs(kept - state.gaussian.log_marginal_at(state.phi())));
        largest = std::max(largest, state.phi());
      }
      CHECK(worst < 0.05);
      CHECK(largest > 1e3);
    }
  }
}

TEST("weights: the dense likelihood, and that of rows that are repeated") {
  BarkModel model = rows_model(30, 2);
  for (Index i = 0; i < 30; ++i) {
    model.weights.push_back(1.0 + static_cast<double>(i % 4));
  }
  Walker walker(model, 2000);
  BarkState& state = walker.state();
  state.refill();
  CHECK_NEAR(state.gaussian.log_marginal(), dense_marginal(walker), 1e-8);
  // The same rows as often as their weights say, at the same centres.
  const Index many = static_cast<Index>(walker.data.total_weight());
  MatrixXd rows(many, 2);
  VectorXd own = Eigen::Map<const VectorXd>(state.response(), 30);
  walker.data.unscale_rows(own.data());
  std::vector<double> y;
  for (Index i = 0; i < 30; ++i) {
    for (int k = 0; k < static_cast<int>(model.weights[i]); ++k) {
      rows.row(static_cast<Index>(y.size())) = model.rows.row(i);
      y.push_back(own[i]);
    }
  }
  CHECK(static_cast<Index>(y.size()) == many);
  const BarkData repeated(rows, model.centres);
  BarkChain other(repeated, y, 0, model.prior, model.setting, model.inclusion,
                  1, 0, 0);
  other.restore(walker.chain->checkpoint());
  const auto &a = state.gaussian, &b = other.state.gaussian;
  CHECK(a.size() == b.size() && a.size() > 0);
  for (Index j = 0; j < a.size(); ++j) {
    CHECK_NEAR(a.mean()[j], b.mean()[j], 1e-8);
    for (Index i = 0; i < a.size(); ++i) {
      CHECK_NEAR(a.covariance(j)[i], b.covariance(j)[i], 1e-8);
    }
  }
  // But for the copies' own share of the noise.
  const double copies =
      0.5 * static_cast<double>(many - 30) *
      (std::log(state.phi()) - 2.0 * bayeskernel::detail::kLogSqrtTwoPi);
  CHECK_NEAR(a.log_marginal() + copies, b.log_marginal(), 1e-8);
}

TEST("weights of one change nothing; others that are none are refused") {
  BarkModel model = rows_model(20, 2);
  Walker plain(model, 500);
  model.weights.assign(20, 1.0);
  Walker ones(model, 500);
  CHECK(plain.state().gaussian.log_marginal() ==
        ones.state().gaussian.log_marginal());
  for (const double wrong : {0.0, -1.0, std::nan("")}) {
    model.weights[3] = wrong;
    CHECK_THROWS(BarkData(model.rows, model.centres, model.weights),
                 bayeskernel::ArgumentError);
  }
  model = small_bark(4, 4, 2);
  model.classes = 2;
  model.weights = {1.0, 2.0, 1.0, 1.0};
  CHECK_THROWS(Walker{model}, bayeskernel::ArgumentError);
}

// tau of a block without kernels, the rest known: its law on a grid.
TEST("the standard deviation of a block follows its density") {
  for (const bool slices : {false, true}) {
    BarkModel model = rows_model(12, 1);
    model.prior.max_kernels = 0;
    model.prior.phi.kind = PrecisionPrior::Kind::fixed;
    model.prior.phi.value = 3.0;
    bayeskernel::GroupCodes groups;
    groups.levels = {4};
    groups.level.resize(12, 1);
    for (Index i = 0; i < 12; ++i) {
      groups.level(i, 0) = 1 + static_cast<int>(i) % 4;
    }
    model.blocks = bayeskernel::column_blocks(model.rows, false, groups);
    Walker walker(model);
    BarkState& state = walker.state();
    bayeskernel::BarkTally tally(1);
    bayeskernel::PrecisionDraws draws(state, tally);
    // log density of log tau, by the half t density and the dense likelihood.
    const int points = 4000;
    const double low = -14.0, high = 6.0, step = (high - low) / points;
    VectorXd below(points + 1);
    below[0] = 0.0;
    double most = -1e300;
    VectorXd density(points);
    for (int k = 0; k < points; ++k) {
      const double tau = std::exp(low + (k + 0.5) * step);
      state.block_variance[0] = tau * tau;
      density[k] = dense_marginal(walker) + std::log(tau) -
                   2.5 * std::log1p(tau * tau / 4.0);
      most = std::max(most, density[k]);
    }
    for (int k = 0; k < points; ++k) {
      below[k + 1] = below[k] + std::exp(density[k] - most);
    }
    below /= below[points];
    state.block_variance[0] = 1.0;
    state.rebuild_all();
    Stream stream(5, slices, Purpose::kernels, 0, 0);
    std::vector<double> sample;
    for (int t = 0; t < check::draws() / 4; ++t) {
      for (int k = 0; k < 10; ++k) {
        if (slices) {
          draws.move_blocks(stream);
        } else {
          draws.refresh(stream);
        }
      }
      CHECK_NEAR(state.gaussian.variance(2), state.block_variance[0], 1e-14);
      sample.push_back(0.5 * std::log(state.block_variance[0]));
    }
    CHECK_LAW(sample, [&](double x) {
      const double at = std::min(std::max((x - low) / step, 0.0),
                                 static_cast<double>(points) - 1e-9);
      const int k = static_cast<int>(at);
      return below[k] + (at - k) * (below[k + 1] - below[k]);
    });
  }
}

TEST("a draw with blocks predicts as dense algebra does") {
  BarkModel model = rows_model(20, 2);
  for (Index i = 0; i < 20; ++i) model.weights.push_back(0.5 + 0.1 * i);
  model.blocks = small_blocks(model.rows);
  Walker walker(model, 400);
  BarkState& state = walker.state();
  state.refill();
  // The second new row is of a level that is new, the third has none.
  BarkRandom random(3);
  const MatrixXd rows = random.matrix(3, 2);
  bayeskernel::GroupCodes groups;
  groups.levels = {2};
  groups.level.resize(3, 1);
  groups.level << 2, 0, -1;
  const ColumnBlocks blocks = bayeskernel::column_blocks(rows, true, groups);
  CHECK(blocks.columns(0, 3) == 1.0 &&
        blocks.columns.rightCols(2).sum() == 1.0);
  const BarkData there(rows, model.centres, {}, blocks);
  bayeskernel::KeptKernels kept;
  kept.keep(state);
  bayeskernel::DrawPredictor predictor(
      walker.data, there, BarkState::capacity(walker.data, model.prior));
  predictor.predict({kept.size[0], kept.location.data(), kept.variance.data(),
                     kept.mean.data(), state.phi(), kept.block_mean.data(),
                     kept.block_variance.data()},
                    state.lambda);
  // Columns and prior variances, those of the blocks first.
  const Index k = state.population.columns(), m = 4 + k;
  MatrixXd own(20, m), at(3, m);
  VectorXd variance(m);
  own.leftCols(4) = model.blocks.columns;
  own.rightCols(k) = fresh_columns(walker);
  at.leftCols(4) = blocks.columns;
  variance << state.block_variance[0], state.block_variance[0],
      state.block_variance[1], state.block_variance[1], VectorXd::Zero(k);
  for (Index j = 0; j < k; ++j) {
    variance[4 + j] = state.population.variance(j);
    const Index place = state.population.location(j);
    for (Index i = 0; i < 3; ++i) {
      double sum = 0.0;
      for (Index l = 0; place > 0 && l < 2; ++l) {
        const double step = rows(i, l) - model.centres(place - 1, l);
        sum += state.lambda[l] * step * step;
      }
      at(i, 4 + j) = std::exp(-sum);
    }
  }
  const VectorXd weights =
      Eigen::Map<const VectorXd>(model.weights.data(), 20) * state.phi();
  VectorXd y = Eigen::Map<const VectorXd>(state.response(), 20);
  walker.data.unscale_rows(y.data());
  const MatrixXd precision = own.transpose() * weights.asDiagonal() * own +
                             MatrixXd(variance.cwiseInverse().asDiagonal());
  const Eigen::LLT<MatrixXd> root(precision);
  const VectorXd mean =
      at * root.solve(own.transpose() * weights.cwiseProduct(y));
  const MatrixXd spread = at * root.solve(at.transpose());
  for (Index i = 0; i < 3; ++i) {
    CHECK_NEAR(predictor.mean(i), mean[i], 1e-7);
    const double unseen = i == 1 ? state.block_variance[1] : 0.0;
    CHECK_NEAR(predictor.variance(i), spread(i, i) + unseen, 1e-7);
  }
  // Other blocks, other levels.
  const BarkData plain(rows, model.centres);
  CHECK_THROWS(bayeskernel::DrawPredictor(walker.data, plain, 5),
               bayeskernel::ArgumentError);
  groups.level(0, 0) = 3;
  CHECK_THROWS(bayeskernel::column_blocks(rows, true, groups),
               bayeskernel::ArgumentError);
  CHECK_THROWS(BarkData(model.rows, model.centres, {}, blocks),
               bayeskernel::ArgumentError);
}

TEST("regression starts from kernels that fit, at places of its own") {
  BarkModel model = rows_model(160, 3);
  model.prior.max_kernels = 159;
  Walker one(model, 0, 1), other(model, 0, 2);
  for (Walker* walker : {&one, &other}) {
    const BarkState& state = walker->state();
    CHECK(state.population.kernels() == 30);
    double square = 0.0, rest = 0.0;
    for (Index i = 0; i < 160; ++i) {
      square += std::pow(state.response()[i], 2);
      rest += std::pow(walker->state().residual()[i], 2);
    }
    CHECK(rest < 0.5 * square);
    CHECK_NEAR(state.gaussian.log_marginal(), dense_marginal(*walker), 1e-7);
  }
  CHECK(one.state().population.locations() !=
        other.state().population.locations());
  // Too few rows, or nothing to fit: as many as the prior expects.
  BarkModel few = rows_model(3, 2);
  CHECK(Walker(few).state().population.kernels() ==
        std::lround(few.prior.expected_kernels()));
}

TEST("the noise is held where a regression begins, and there alone") {
  BarkModel model = rows_model(60, 2);
  model.prior.phi.kind = PrecisionPrior::Kind::log_uniform;
  // Too short for more than one run, three quarters of the warmup.
  constexpr int kWarmup = 400;
  Walker walker(model, 0, 1, kWarmup);
  const double square = walker.state().response_square() / 60.0;
  for (int t = 0; t < kWarmup * 3 / 8; ++t) {
    const double most = std::exp(80.0 * t / (3 * kWarmup)) / square;
    CHECK(walker.state().phi() <= most * (1.0 + 1e-12));
    walker.sweep(1);
    CHECK_NEAR(walker.state().prior.phi.most, most, 1e-9 * most);
  }
  walker.sweep(1);
  CHECK(std::isinf(walker.state().prior.phi.most));
  // Without a warmup it starts from the kernels' fit.
  CHECK(Walker(model).state().phi() > 2.0 / square);
  BarkModel labels = rows_model(60, 2);
  labels.classes = 2;
  labels.prior.phi = PrecisionPrior();
  labels.prior.phi.kind = PrecisionPrior::Kind::fixed;
  Walker probit(labels, 5, 1, kWarmup);
  CHECK(probit.state().phi() == 1.0);
}

TEST("a chain begins at the best of some short runs") {
  using Search = bayeskernel::StartSearch<int>;
  for (const Index sweeps : {0, 1, 399, 400, 25000, 100000}) {
    Search search(sweeps);
    CHECK(search.on() == (sweeps > 0));
    // Run r scores r * 7 mod 16: the best one is in the middle.
    std::vector<std::size_t> runs;
    const auto score = [](int r) { return static_cast<double>(r * 7 % 16); };
    int begun = 0, at = -1;
    Index done = 0;
    while (search.on()) {
      CHECK(search.run_begins());
      if (search.first_stage()) {
        at = begun++;
      } else {
        at = search.place();
      }
      if (runs.empty() || runs.back() != search.runs()) {
        runs.push_back(search.runs());
      }
      // The first half of a run does not count.
      for (bool ends = false; !ends; ++done) {
        ends = search.ends(search.share_done() < 0.5 ? 100.0 * at : score(at));
        CHECK(ends || !search.run_begins());
      }
      search.keep(at);
    }
    CHECK(done <= sweeps && done >= sweeps - sweeps / 10);
    if (sweeps == 0) continue;
    double best = 0.0;
    for (int r = 0; r < begun; ++r) best = std::max(best, score(r));
    CHECK(score(search.place()) == best);
    CHECK(runs.front() == (sweeps < 400      ? 1u
                           : sweeps == 400   ? 2u
                           : sweeps == 25000 ? 16u
                                             : 64u));
    CHECK(static_cast<std::size_t>(begun) == runs.front());
    for (std::size_t k = 1; k < runs.size(); ++k) {
      CHECK(2 * runs[k] == runs[k - 1]);
    }
  }
}

TEST("the search of a start is the chain's own, and over where one goes on") {
  BarkModel model = rows_model(60, 2);
  model.prior.phi.kind = PrecisionPrior::Kind::log_uniform;
  constexpr int kWarmup = 2136;  // 4 runs of 200 sweeps, 2 of 400
  Walker a(model, 0, 1, kWarmup), b(model, 0, 1, kWarmup);
  a.sweep(kWarmup);
  b.sweep(kWarmup);
  CHECK(a.state().lambda == b.state().lambda);
  CHECK(a.chain->sweeps() == kWarmup);
  // A new run begins at the start's scales, not where the last one was.
  Walker runs(model, 0, 1, kWarmup);
  const VectorXd first = runs.state().lambda;
  runs.sweep(200);
  const auto before = runs.chain->checkpoint();
  CHECK(before.lambda != first);
  runs.sweep(1);
  CHECK(runs.chain->checkpoint().location != before.location);
  CHECK(runs.state().phi() < before.phi);
  // A chain that goes on from elsewhere stays there.
  Walker other(model, 0, 2, kWarmup);
  other.chain->restore(before);
  CHECK(std::isinf(other.state().prior.phi.most));
  CHECK(other.chain->sweeps() == 200);
  CHECK(other.state().lambda == before.lambda);
}

TEST("a chain visits no kernel, no variable and all locations") {
  BarkModel model = rows_model(4, 2);
  model.setting.select = true;
  model.prior.gamma = 1.5;
  Walker walker(model);
  bool empty = false, none = false, full = false;
  for (int t = 0; t < 20000; ++t) {
    walker.sweep(1);
    empty |= walker.state().population.kernels() == 0;
    none |= walker.state().active() == 0;
    full |= walker.state().basis.size() == walker.data.locations();
    if (empty && none && full) break;
  }
  CHECK(empty && none && full);
}

TEST("without kernels the precision follows its gamma law") {
  for (const auto kind :
       {PrecisionPrior::Kind::gamma, PrecisionPrior::Kind::log_uniform}) {
    BarkModel model = rows_model(7, 2);
    model.prior.max_kernels = 0;
    model.prior.phi.kind = kind;
    if (kind == PrecisionPrior::Kind::log_uniform) {
      model.prior.phi.shape = model.prior.phi.rate = 0.0;
    }
    Walker walker(model, 10);
    const double shape = model.prior.phi.shape + 3.5;
    const double rate =
        model.prior.phi.rate +
        0.5 * Eigen::Map<const VectorXd>(walker.state().response(), 7)
                  .squaredNorm();
    std::vector<double> sample;
    for (int t = 0; t < check::draws() / 4; ++t) {
      // A multiple of the sweeps between draws through the coefficients.
      walker.sweep(3);
      sample.push_back(walker.state().phi());
    }
    CHECK_LAW(sample,
              [&](double x) { return boost::math::gamma_p(shape, rate * x); });
  }
}

TEST("seeds and chains decide the path, and nothing else") {
  BarkModel model = rows_model(10, 2);
  const auto path = [&](unsigned seed) {
    Walker walker(model, 200, seed);
    return std::make_pair(walker.state().gaussian.log_marginal(),
                          walker.state().lambda);
  };
  CHECK(path(1) == path(1));
  CHECK(path(1) != path(2));
}

TEST("latents are drawn where rounding takes a leverage beyond 1") {
  BarkModel model = rows_model(8, 1);
  model.prior.phi.kind = PrecisionPrior::Kind::fixed;
  model.classes = 2;
  Walker walker(model);
  BarkState& state = walker.state();
  double least = 1.0;
  for (const double lambda : {1e-6, 1e-4, 1e-2, 1.0}) {
    state.lambda.setConstant(lambda);
    state.population.clear();
    for (Index i = 0; i <= 8; ++i) state.population.insert(i, 1e-12);
    state.rebuild_all();
    walker.chain->latent->prepare();
    for (Index i = 0; i < 8; ++i) {
      const double variance = walker.chain->latent->conditional(i).variance;
      CHECK(variance >= 1.0 && std::isfinite(variance));
      least = std::max(least, variance);
    }
    Stream stream(1, 0, Purpose::kernels, 0, 0);
    walker.chain->latent->sweep(stream);
    for (Index i = 0; i < 8; ++i) CHECK(std::isfinite(state.response()[i]));
  }
  CHECK(least > 1e12);
}

TEST("a chain that goes on from a checkpoint does the same to the last bit") {
  for (const int classes : {0, 2, 3}) {
    for (const bool atoms : {false, true}) {
      BarkModel model = rows_model(10, 3);
      model.prior.atoms = atoms;
      // All scales move at once in the regression with atoms.
      model.setting.select = !(classes == 0 && atoms);
      model.classes = classes;
      if (atoms) model.blocks = small_blocks(model.rows);
      if (classes > 0) model.prior.phi.kind = PrecisionPrior::Kind::fixed;
      Walker whole(model, 0, 5, 40), other(model, 0, 5, 40);
      for (int draw = 0; draw < 30; ++draw) {
        whole.sweep(17);
        whole.chain->settle();
        if (draw == 10) other.chain->restore(whole.chain->checkpoint());
        if (draw <= 10) continue;
        other.sweep(17);
        other.chain->settle();
      }
      const auto a = whole.chain->checkpoint(), b = other.chain->checkpoint();
      CHECK(a.sweeps == b.sweeps && a.location == b.location);
      CHECK(a.varphi == b.varphi && a.lambda == b.lambda && a.phi == b.phi);
      CHECK(a.latent == b.latent && a.cuts == b.cuts);
      CHECK(a.block_variance == b.block_variance);
      CHECK(a.block_variance.size() == (atoms ? 2u : 0u));
      CHECK(a.log_steps == b.log_steps && a.unit_column == b.unit_column);
      CHECK(a.learned == b.learned);
      CHECK((a.learned.size() > 0) == !model.setting.select);
      CHECK(whole.state().gaussian.log_marginal() ==
            other.state().gaussian.log_marginal());
    }
  }
}
