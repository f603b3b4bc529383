// The sampler of the linear model by family: against integrals, against draws
// of the joint law of parameters and data, and in its identities.
#include <Eigen/LU>
#include "gibbs/missing_averages.hpp"
#include "gibbs/model_chain.hpp"
#include "math/special.hpp"
#include <functional>

#include "check.hpp"
#include "hinge_problem.hpp"

using bayeskernel::Completions;
using bayeskernel::ChainParts;
using bayeskernel::Executor;
using bayeskernel::Family;
using bayeskernel::GibbsChain;
using bayeskernel::GibbsState;
using bayeskernel::ModelChain;
using bayeskernel::RowModel;
using bayeskernel::NoisePrior;
using bayeskernel::SerialExecutor;

static const Family kFamilies[] = {Family::hinge, Family::probit, Family::logit,
                                   Family::gaussian};
static const char* const kNames[] = {"hinge", "probit", "logit", "gaussian"};

static const char* name_of(Family family) {
  return kNames[static_cast<int>(family)];
}

static RowModel model_of(Family family) {
  RowModel out;
  out.family = family;
  out.noise.shape = 3.0;
  out.noise.rate = 2.0;
  return out;
}

// log p(y | f).
static double log_density(Family family, double y, double f, double v) {
  switch (family) {
    case Family::hinge: return -2.0 * std::max(1.0 - y * f, 0.0);
    case Family::probit: return bayeskernel::log_normal_cdf(y * f);
    case Family::logit: return -std::log1p(std::exp(-y * f));
    default:
      return -0.5 * ((y - f) * (y - f) / v + std::log(v)) -
             bayeskernel::detail::kLogSqrtTwoPi;
  }
}

// The integral of p(y | eta + e)^w over e ~ N(0, r).
static double row_likelihood(Family family, double y, double w, double eta,
                             double r, double v) {
  if (r == 0.0 || w == 0.0) {
    return std::exp(w * log_density(family, y, eta, v));
  }
  if (family == Family::gaussian) {
    // N(y; f, v)^w is N(y; f, v / w) times v^((1 - w) / 2) and constants.
    const double wide = r + v / w;
    return std::exp(log_density(family, y, eta, wide) +
                    0.5 * (1.0 - w) * std::log(v));
  }
  constexpr int kSteps = 60;
  const double sd = std::sqrt(r);
  double sum = 0.0;
  for (int k = -kSteps; k <= kSteps; ++k) {
    const double e = 7.0 * k / kSteps;
    sum += std::exp(w * log_density(family, y, eta + sd * e, v)) *
           bayeskernel::normal_density(e);
  }
  return sum * 7.0 / kSteps;
}

// --- against integrals -------------------------------------------------------

// A coefficient of known prior and one of a block IG(shape, rate). Rows may be
// completions of units.
struct Tiny {
  PackedRows rows;
  Prior prior;
  Completions units;
};

struct TinyShape {
  bool weights, offset, residual;
};

static Tiny make_tiny(Family family, const TinyShape& shape) {
  const Index n = 4;
  Tiny out;
  PackedRows& rows = out.rows;
  rows.x.resize(2, n);
  rows.x << 1.0, 1.0, 1.0, 1.0, 0.7, -1.1, 1.9, 0.4;
  rows.z.resize(0, n);
  rows.y.resize(n);
  if (family == Family::gaussian) {
    rows.y << 0.3, -1.4, 1.1, 2.0;
  } else {
    rows.y << 1.0, -1.0, 1.0, 1.0;
  }
  rows.weight = VectorXd::Ones(n);
  rows.offset = VectorXd::Zero(n);
  if (shape.weights) {
    rows.weight << 2.0, 1.0, 0.0, 3.0;
    if (family != Family::probit) rows.weight << 0.4, 1.0, 0.0, 2.6;
  }
  if (shape.offset) rows.offset << 0.5, -0.3, 0.0, 1.0;
  if (shape.residual) {
    rows.residual.resize(n);
    rows.residual << 0.8, 2.5, 0.3, 0.0;
  }
  rows.finish({});
  out.prior.precision = (VectorXd(2) << 0.5, 0.0).finished();
  out.prior.mean = (VectorXd(2) << 0.4, 0.0).finished();
  Block block;
  block.first = 1;
  block.members = 1;
  block.shape = 2.5;
  block.rate = 2.0;
  out.prior.blocks.push_back(block);
  return out;
}

// Mean and second moment of theta_0, theta_1, log sigma^2 and log v.
static VectorXd tiny_statistics(double a, double b, double log_variance,
                                double log_noise) {
  VectorXd out(6);
  out << a, b, log_variance, log_noise, a * a, b * b;
  return out;
}

static VectorXd integrals(Family family, const Tiny& tiny,
                          const NoisePrior& noise) {
  const PackedRows& rows = tiny.rows;
  const Block& block = tiny.prior.blocks[0];
  const bool gaussian = family == Family::gaussian;
  const int steps = 60, noise_steps = gaussian && !noise.held ? 30 : 0;
  VectorXd sum = VectorXd::Zero(6);
  double total = 0.0;
  const double held = gaussian && noise.held ? -std::log(noise.precision) : 0.0;
  for (int l = -noise_steps; l <= noise_steps; ++l) {
    const double log_v = held + 4.5 * l / std::max(noise_steps, 1);
    const double v = std::exp(log_v);
    const double noise_mass =
        noise_steps > 0
            ? std::exp(-noise.shape * log_v - noise.rate / v)
            : 1.0;
    for (int i = -steps; i <= steps; ++i) {
      const double a = 0.4 + 9.0 * i / steps;
      for (int j = -steps; j <= steps; ++j) {
        // Student's tails: the grid is even in asinh(b).
        const double at = 5.5 * j / steps;
        const double b = std::sinh(at);
        // theta_1 with sigma^2 integrated out.
        double mass = noise_mass * std::cosh(at) *
                      std::exp(-0.5 * 0.5 * (a - 0.4) * (a - 0.4)) *
                      std::pow(block.rate + 0.5 * b * b, -block.shape - 0.5);
        const auto row = [&](Index k) {
          const double eta =
              rows.offset[k] + a * rows.x(0, k) + b * rows.x(1, k);
          return row_likelihood(
              family, rows.y[k], rows.weight[k], eta,
              rows.residual.size() > 0 ? rows.residual[k] : 0.0, v);
        };
        for (Index k = 0; k < rows.rows() && mass > 0.0;) {
          if (tiny.units.unit.empty()) {
            mass *= row(k++);
            continue;
          }
          double unit = 0.0;
          for (const Index end = tiny.units.end(k); k < end; ++k) {
            unit += std::exp(tiny.units.log_prior[k]) * row(k);
          }
          mass *= unit;
        }
        const double log_variance = std::log(block.rate + 0.5 * b * b) -
                                    bayeskernel::digamma(block.shape + 0.5);
        total += mass;
        sum += mass * tiny_statistics(a, b, log_variance, log_v);
      }
    }
  }
  return sum / total;
}

struct Estimate {
  VectorXd mean, error;
};

static Estimate batch_estimate(const MatrixXd& batches) {
  const double count = static_cast<double>(batches.rows());
  Estimate out;
  out.mean = batches.colwise().mean();
  const MatrixXd centred = batches.rowwise() - out.mean.transpose();
  out.error = (centred.array().square().colwise().sum() /
               (count * (count - 1.0))).sqrt();
  return out;
}

// `step` makes the next draw and returns its statistics.
static Estimate estimate(int sweeps, const std::function<VectorXd()>& step) {
  const int batches = 50;
  MatrixXd out;
  for (int b = 0; b < batches; ++b) {
    for (int t = 0; t < sweeps / batches; ++t) {
      const VectorXd values = step();
      if (out.size() == 0) out = MatrixXd::Zero(batches, values.size());
      out.row(b) += values.transpose() / (sweeps / batches);
    }
  }
  return batch_estimate(out);
}

static double largest_z(const VectorXd& difference, const VectorXd& error) {
  double out = 0.0;
  for (Index k = 0; k < error.size(); ++k) {
    if (error[k] > 0.0) {
      out = std::max(out, std::abs(difference[k]) / error[k]);
    }
  }
  return out;
}

TEST("moments are those of the integrals, whatever the rows have") {
  const int sweeps = check::slow() ? 250000 : 20000;
  const TinyShape shapes[] = {{false, false, false}, {true, true, false},
                              {false, false, true},  {true, true, true}};
  std::uint64_t seed = 0;
  for (const Family family : kFamilies) {
    for (const TinyShape& shape : shapes) {
      const Tiny tiny = make_tiny(family, shape);
      const RowModel model = model_of(family);
      const VectorXd expected = integrals(family, tiny, model.noise);
      SerialExecutor serial;
      ChainParts parts;
      parts.model = model;
      GibbsChain chain(tiny.rows, tiny.prior, serial, ++seed, 1, parts);
      for (int t = 0; t < 500; ++t) chain.sweep();
      const Estimate found = estimate(sweeps, [&] {
        chain.sweep();
        const GibbsState& state = chain.state;
        return tiny_statistics(state.point.x[0], state.point.x[1],
                               -std::log(state.precision[0](0, 0)),
                               -std::log(state.noise));
      });
      const double z = largest_z(found.mean - expected, found.error);
      std::printf("%s %d%d%d: largest |z| %.2f\n", name_of(family),
                  shape.weights, shape.offset, shape.residual, z);
      CHECK(z < 4.5);
    }
  }
}

// Two units of two and of three completions, one row complete.
static Tiny make_completions(Family family, bool residual) {
  Tiny out = make_tiny(family, {false, true, false});
  const Index from[] = {0, 0, 1, 1, 1, 2};
  const Tiny plain = out;
  PackedRows& rows = out.rows;
  rows.x.resize(2, 6);
  for (VectorXd* v : {&rows.y, &rows.weight, &rows.offset}) v->resize(6);
  if (residual) rows.residual = VectorXd::LinSpaced(6, 0.0, 2.0);
  rows.z.resize(0, 6);
  for (Index i = 0; i < 6; ++i) {
    rows.x.col(i) = plain.rows.x.col(from[i]);
    rows.x(1, i) += 0.6 * static_cast<double>(i % 3);
    rows.y[i] = plain.rows.y[from[i]];
    rows.weight[i] = from[i] == 1 && family != Family::probit ? 1.7 : 1.0;
    rows.offset[i] = plain.rows.offset[from[i]];
    out.units.unit.push_back(from[i]);
  }
  const VectorXd share =
      (VectorXd(6) << 0.4, 0.6, 0.2, 0.5, 0.3, 1.0).finished();
  out.units.log_prior = share.array().log();
  rows.finish({}, out.units.unit);
  return out;
}

TEST("rows that are completions have the moments of the integrals") {
  const int sweeps = check::slow() ? 250000 : 20000;
  const bayeskernel::Selection no_selection;
  const bayeskernel::MissingPattern none_missing;
  for (const Family family : kFamilies) {
    for (const bool residual : {false, true}) {
      const Tiny tiny = make_completions(family, residual);
      RowModel model = model_of(family);
      model.completions = &tiny.units;
      SerialExecutor serial;
      const auto make = [&] {
        return ModelChain(tiny.rows, tiny.prior, no_selection, none_missing,
                          serial, 8, 1, model);
      };
      if (residual && (family == Family::hinge || family == Family::logit)) {
        CHECK_THROWS(make(), bayeskernel::ArgumentError);
        continue;
      }
      const VectorXd expected = integrals(family, tiny, model.noise);
      ModelChain chain = make();
      bayeskernel::ModelAverages averages(none_missing, model,
                                          tiny.rows.rows());
      const Estimate found = estimate(sweeps, [&] {
        chain.sweep();
        averages.add(chain);
        const GibbsState& state = chain.base();
        return tiny_statistics(state.point.x[0], state.point.x[1],
                               -std::log(state.precision[0](0, 0)),
                               -std::log(state.noise));
      });
      const double z = largest_z(found.mean - expected, found.error);
      std::printf("completions, %s %d: largest |z| %.2f\n", name_of(family),
                  residual, z);
      CHECK(z < 4.5);
      CHECK(averages.missing.value.count == 0.0);
      CHECK(averages.responsibility.count == sweeps);
      const VectorXd share = averages.responsibility.mean.matrix();
      CHECK_NEAR(share.head(2).sum(), 1.0, 1e-9);
      CHECK_NEAR(share.segment(2, 3).sum(), 1.0, 1e-9);
      CHECK((share.array().log() - tiny.units.log_prior.array()).abs()
                .maxCoeff() > 0.02);
    }
  }
}

TEST("a noise that is held stays where it is held") {
  const Tiny tiny = make_tiny(Family::gaussian, {true, true, true});
  RowModel model = model_of(Family::gaussian);
  model.noise.held = true;
  model.noise.precision = 2.5;
  const VectorXd expected =
      integrals(Family::gaussian, tiny, model.noise);
  SerialExecutor serial;
  ChainParts parts;
  parts.model = model;
  GibbsChain chain(tiny.rows, tiny.prior, serial, 3, 1, parts);
  const Estimate found = estimate(20000, [&] {
    chain.sweep();
    return tiny_statistics(chain.state.point.x[0], chain.state.point.x[1],
                           -std::log(chain.state.precision[0](0, 0)), 0.0);
  });
  CHECK(chain.state.noise == 2.5);
  VectorXd difference = found.mean - expected;
  difference[3] = 0.0;
  CHECK(largest_z(difference, found.error) < 4.5);
}

// --- the joint law of parameters and data ------------------------------------

// Parameters and data from their joint law, either afresh or by steps that
// leave it alone: new data given the parameters, then a sweep.
class Joint {
 public:
  // Of width 2 with half t standard deviations of the effects.
  Joint(Family family, unsigned seed, Index width = 1)
      : family_(family), draw_(seed) {
    const Index n = 18, groups = 6;
    rows.x = draw_.matrix(2, n);
    rows.x.row(0).setOnes();
    rows.z = MatrixXd::Ones(width, n);
    rows.y = rows.offset = 0.5 * draw_.matrix(n, 1);
    if (width > 1) rows.z.row(1) = draw_.matrix(1, n);
    rows.weight = VectorXd::Ones(n);
    std::vector<Index> begin;
    for (Index g = 0; g <= groups; ++g) begin.push_back(3 * g);
    rows.finish(begin);
    prior.precision = VectorXd::Constant(2, 1.0);
    prior.mean = (VectorXd(2) << 0.2, -0.3).finished();
    Block block;
    block.eliminated = true;
    block.first = 2;
    block.members = groups;
    block.shape = 3.0;
    block.rate = 2.0;
    if (width > 1) {
      block.kind = Block::Kind::unstructured;
      block.width = width;
      block.half_t = {4.0, 1.0};
      block.scale = MatrixXd::Zero(width, width);
    }
    prior.blocks.push_back(block);
  }

  PackedRows rows;
  Prior prior;

  void fresh(GibbsState& state) {
    if (rows.z_columns() == 1) {
      state.precision = {MatrixXd::Constant(1, 1, gamma_of(3) / 2.0)};
    } else {
      // W(nu + 1, diag(a) / (2 nu)), 1 / a_k ~ gamma(1/2, 1).
      MatrixXd root = draw_.matrix(2, 5);
      for (Index k = 0; k < 2; ++k) root.row(k) /= 2.0 * draw_.normal();
      state.precision = {root * root.transpose()};
    }
    state.noise = gamma_of(3) / 2.0;
    state.point.x = prior.mean + draw_.matrix(2, 1);
    state.point.group = Eigen::LLT<MatrixXd>(state.precision[0])
                            .matrixU()
                            .solve(draw_.matrix(rows.z_columns(), 6));
  }

  void data(const GibbsState& state) {
    for (Index i = 0; i < rows.rows(); ++i) {
      const double f = rows.offset[i] + state.point.x.dot(rows.x.col(i)) +
                       state.point.group.col(i / 3).dot(rows.z.col(i));
      if (family_ == Family::gaussian) {
        rows.y[i] = f + draw_.normal() / std::sqrt(state.noise);
        continue;
      }
      const double p = family_ == Family::probit
                           ? bayeskernel::normal_cdf(f)
                           : 1.0 / (1.0 + std::exp(-f));
      rows.y[i] = draw_.uniform() < p ? 1.0 : -1.0;
    }
  }

  VectorXd statistics(const GibbsState& state) const {
    const MatrixXd psi = state.precision[0].inverse();
    const double log_variance = std::log(psi(0, 0));
    const Index last = psi.rows() - 1;
    const double correlation =
        last == 0 ? 0.0 : psi(0, last) / std::sqrt(psi(0, 0) * psi(last, last));
    const double log_noise = -std::log(state.noise);
    const VectorXd& x = state.point.x;
    const double first = state.point.group(0, 0);
    const double spread = std::log(state.point.group.squaredNorm());
    VectorXd out(17);
    out << x, x.array().square().matrix(), x[0] * x[1], first,
        std::log1p(first * first), log_variance, log_variance * log_variance,
        log_noise, log_noise * log_noise, spread,
        std::tanh(rows.y.head(3).sum() * x[0]),
        std::tanh(rows.y.head(3).sum() * first), correlation,
        correlation * correlation, correlation * log_variance;
    return out;
  }

 private:
  double gamma_of(int shape) {
    double sum = 0.0;
    for (int k = 0; k < shape; ++k) sum -= std::log(draw_.uniform());
    return sum;
  }

  Family family_;
  Draw draw_;
};

TEST("sweeps between new data leave the joint law alone") {
  const int draws = check::slow() ? 250000 : 40000;
  const std::pair<Family, Index> cases[] = {{Family::probit, 1},
                                            {Family::logit, 1},
                                            {Family::gaussian, 1},
                                            {Family::gaussian, 2},
                                            {Family::probit, 2}};
  for (const auto& [family, width] : cases) {
    Joint joint(family, 5, width);
    GibbsState state;
    state.point = bayeskernel::ArrowVector(2, width, 6);
    const Estimate expected = estimate(draws, [&] {
      joint.fresh(state);
      joint.data(state);
      return joint.statistics(state);
    });
    SerialExecutor serial;
    ChainParts parts;
    parts.model = model_of(family);
    parts.rows_change = true;
    GibbsChain chain(joint.rows, joint.prior, serial, 9, 1, parts);
    joint.fresh(chain.state);
    const Estimate found = estimate(draws, [&] {
      joint.data(chain.state);
      const VectorXd out = joint.statistics(chain.state);
      chain.sweep();
      return out;
    });
    const VectorXd error = (found.error.array().square() +
                            expected.error.array().square()).sqrt();
    VectorXd difference = found.mean - expected.mean;
    // Without noise its part of the state keeps the value it has.
    if (family != Family::gaussian) difference.segment(9, 2).setZero();
    const double z = largest_z(difference, error);
    std::printf("joint law, %s, width %d: largest |z| %.2f\n",
                name_of(family), static_cast<int>(width), z);
    CHECK(z < 4.5);
  }
}

// --- identities --------------------------------------------------------------

static bool same_bits(const GibbsState& a, const GibbsState& b) {
  return a.point.x == b.point.x && a.point.group == b.point.group &&
         a.precision == b.precision && a.latent == b.latent &&
         a.noise == b.noise && a.sweep == b.sweep;
}

static Problem make_family_problem(Family family, Index n, bool residual,
                                   unsigned seed) {
  Shape shape;
  shape.n = n;
  shape.fixed = 3;
  shape.penalised = 2;
  shape.groups = n / 8;
  shape.offset = true;
  Problem out = make_problem(shape, seed);
  Draw draw(seed + 1);
  for (Index i = 0; i < n; ++i) {
    out.rows.weight[i] = static_cast<double>(draw.below(3));
    if (family == Family::gaussian) out.rows.y[i] = draw.normal();
    if (family != Family::probit) out.rows.weight[i] += draw.uniform();
  }
  if (residual) {
    out.rows.residual = draw.matrix(n, 1).cwiseAbs();
    out.rows.residual[0] = 0.0;
  }
  return out;
}

static GibbsChain family_chain(const Problem& problem, Family family,
                               Executor& executor, bool rows_change = false) {
  ChainParts parts;
  parts.model = model_of(family);
  parts.rows_change = rows_change;
  return GibbsChain(problem.rows, problem.prior, executor, 2, 1, parts);
}

static GibbsState after(GibbsChain chain, int sweeps) {
  for (int t = 0; t < sweeps; ++t) chain.sweep();
  return chain.state;
}

TEST("any executor gives the same states in every family") {
  for (const Family family : kFamilies) {
    for (const bool residual : {false, true}) {
      const Problem problem = make_family_problem(family, 5000, residual, 1);
      SerialExecutor serial;
      ReverseExecutor reverse;
      ThreadExecutor three(3);
      const GibbsState expected = after(
          family_chain(problem, family, serial), 4);
      CHECK(same_bits(after(family_chain(problem, family, reverse), 4),
                      expected));
      CHECK(same_bits(after(family_chain(problem, family, three), 4),
                      expected));
    }
  }
}

TEST("a chain of any family goes on as if it had not stopped") {
  for (const Family family : kFamilies) {
    for (const bool residual : {false, true}) {
      const Problem problem = make_family_problem(family, 60, residual, 2);
      SerialExecutor serial;
      GibbsChain resumed = family_chain(problem, family, serial);
      resumed.sweep();
      resumed.state = after(family_chain(problem, family, serial), 7);
      for (int t = 0; t < 6; ++t) resumed.sweep();
      CHECK(same_bits(resumed.state,
                      after(family_chain(problem, family, serial), 13)));
    }
  }
}

TEST("sums that are kept are those of a chain that takes them every sweep") {
  for (const Family family : kFamilies) {
    for (const bool residual : {false, true}) {
      const Problem problem = make_family_problem(family, 60, residual, 3);
      SerialExecutor serial;
      const GibbsState kept = after(family_chain(problem, family, serial), 5);
      const GibbsState every =
          after(family_chain(problem, family, serial, true), 5);
      CHECK((kept.point.x - every.point.x).norm() < 1e-8);
      CHECK((kept.point.group - every.point.group).norm() < 1e-8);
      CHECK_NEAR(kept.noise, every.noise, 1e-9);
    }
  }
}

TEST("a probit likelihood takes whole powers only") {
  Problem problem = make_family_problem(Family::probit, 60, false, 4);
  SerialExecutor serial;
  problem.rows.weight[37] = 1.5;
  CHECK_THROWS(family_chain(problem, Family::probit, serial),
               bayeskernel::ArgumentError);
  family_chain(problem, Family::logit, serial).sweep();
}

TEST("the move along a scale takes the likelihood that rows have") {
  // Powers of 1 have a path of their own, which far margins do not leave.
  for (const Family family : {Family::probit, Family::logit}) {
    Problem problem = make_family_problem(family, 700, false, 6);
    problem.rows.offset *= 12.0;
    problem.rows.weight.setOnes();
    Problem nearly = problem;
    nearly.rows.weight[3] = 1.0 + 1e-13;
    SerialExecutor serial;
    bayeskernel::ArrowVector points[2];
    std::vector<MatrixXd> precisions[2];
    for (int k = 0; k < 2; ++k) {
      const Problem& own = k == 0 ? problem : nearly;
      bayeskernel::ScaleMove move(own.rows, own.prior, serial, family);
      bayeskernel::Stream stream(3, 1, bayeskernel::Purpose::scale, 0, 0);
      Draw draw(7);
      points[k] = bayeskernel::ArrowVector(5, 1, own.rows.groups());
      points[k].x = draw.matrix(5, 1);
      points[k].group = draw.matrix(1, own.rows.groups());
      precisions[k] = own.prior.start();
      for (std::uint64_t turn = 0; turn < move.moves(); ++turn) {
        move.run(turn, stream, points[k], precisions[k]);
      }
    }
    CHECK(precisions[0][0](0, 0) != 1.0);
    CHECK((points[0].x - points[1].x).norm() < 1e-8);
    CHECK_NEAR(precisions[0][0](0, 0), precisions[1][0](0, 0), 1e-8);
    CHECK_NEAR(precisions[0][1](0, 0), precisions[1][1](0, 0), 1e-8);
  }
}
