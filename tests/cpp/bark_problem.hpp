// Draws from the joint prior of bark()'s model by other means than the
// sampler's, and the comparison of a chain with them: with the likelihood off
// (no rows) a chain must reproduce the prior, and so must one whose response is
// redrawn given the state between its sweeps (Geweke 2004).
#pragma once

#include "bark/chain.hpp"
#include <cmath>
#include <cstdio>
#include <random>
#include <string>
#include <vector>

#include "check.hpp"

using bayeskernel::BarkChain;
using bayeskernel::BarkData;
using bayeskernel::BarkPrior;
using bayeskernel::BarkState;
using bayeskernel::ColumnBlocks;
using bayeskernel::InclusionPrior;
using bayeskernel::IndicatorVector;
using bayeskernel::LatentSweep;
using bayeskernel::PrecisionPrior;
using bayeskernel::ScaleSetting;
using Eigen::Index;
using Eigen::MatrixXd;
using Eigen::VectorXd;

class BarkRandom {
 public:
  explicit BarkRandom(unsigned seed) : engine_(seed) {}
  double uniform() { return std::uniform_real_distribution<double>()(engine_); }
  double normal() { return std::normal_distribution<double>()(engine_); }
  double gamma(double shape, double rate) {
    return std::gamma_distribution<double>(shape, 1.0 / rate)(engine_);
  }
  double beta(double a, double b) {
    const double x = gamma(a, 1.0), y = gamma(b, 1.0);
    return x / (x + y);
  }
  Index below(Index n) {
    return std::uniform_int_distribution<Index>(0, n - 1)(engine_);
  }
  Index poisson(double mean) {
    return std::poisson_distribution<Index>(mean)(engine_);
  }
  MatrixXd matrix(Index rows, Index columns) {
    return MatrixXd::NullaryExpr(rows, columns, [&] { return normal(); });
  }

 private:
  std::mt19937 engine_;
};

struct BarkModel {
  std::string name;
  MatrixXd rows, centres;
  BarkPrior prior;
  ScaleSetting setting;
  InclusionPrior inclusion = InclusionPrior::beta(1.5, 1.2);
  int classes = 0;
  std::vector<double> weights;  // none for 1
  ColumnBlocks blocks;
  Index vectors = 1;  // of scales

  // The rows as a chain reads them.
  BarkData data() const { return {rows, centres, weights, blocks, vectors}; }
  double weight(Index i) const { return weights.empty() ? 1.0 : weights[i]; }
  Index variables() const { return centres.cols(); }
};

// The four settings: e, d, se, sd.
inline std::vector<std::pair<std::string, ScaleSetting>> bark_settings() {
  std::vector<std::pair<std::string, ScaleSetting>> out;
  for (const bool select : {false, true}) {
    for (const bool different : {false, true}) {
      ScaleSetting setting;
      setting.different = different;
      setting.select = select;
      out.emplace_back(std::string(select ? "s" : "") + (different ? "d" : "e"),
                       setting);
    }
  }
  return out;
}

// Few locations and kernels, so that every restriction is met often.
inline BarkModel small_bark(Index rows, Index centres, Index variables) {
  BarkRandom random(7);
  BarkModel out;
  out.centres = random.matrix(centres, variables);
  out.rows = out.centres.topRows(rows);
  out.prior.gamma = 1.2;
  out.prior.epsilon = 0.5;
  out.prior.lambda_shape = 1.3;
  out.prior.lambda_rate = 0.8;
  out.prior.max_kernels = 5;
  out.prior.phi.kind = PrecisionPrior::Kind::fixed;
  return out;
}

// A linear part and a random intercept, the rows in two groups.
inline ColumnBlocks small_blocks(const MatrixXd& rows) {
  bayeskernel::GroupCodes groups;
  groups.levels = {2};
  groups.level.resize(rows.rows(), 1);
  for (Index i = 0; i < rows.rows(); ++i) groups.level(i, 0) = 1 + i % 2;
  return bayeskernel::column_blocks(rows, true, groups);
}

// What a draw of the joint law is, location by location.
struct BarkSnapshot {
  std::vector<Index> count;      // by location
  std::vector<double> variance;  // by location, 0 if empty
  std::vector<double> varphi;    // of columns or atoms
  VectorXd lambda;
  IndicatorVector delta;
  double phi = 1.0;
  double epsilon = 0.5;
  std::vector<double> block_variance;
  double probability = 0.5, q0 = 0.5, q1 = 0.5;
  std::vector<double> cuts;  // t_1 < t_2 < ..., of two classes 0
  VectorXd response;         // y or z

  Index kernels() const {
    Index sum = 0;
    for (const Index n : count) sum += n;
    return sum;
  }
};

namespace bark_detail {
inline void draw_indicators(const BarkModel& model, BarkRandom& random,
                            BarkSnapshot& out) {
  const InclusionPrior& inclusion = model.inclusion;
  const auto& shape = inclusion.shape();
  const std::size_t p = static_cast<std::size_t>(model.variables());
  out.delta.assign(p, 1);
  if (!model.setting.select) return;
  if (inclusion.kind() != InclusionPrior::Kind::markov) {
    out.probability = random.beta(shape[0], shape[1]);
    for (char& in : out.delta) in = random.uniform() < out.probability;
    return;
  }
  out.q0 = inclusion.q0();
  out.q1 = inclusion.q1();
  if (inclusion.learns()) {
    out.q0 = random.beta(shape[0], shape[1]);
    out.q1 = random.beta(shape[2], shape[3]);
  }
  double chance = (1.0 - out.q0) / (2.0 - out.q0 - out.q1);
  for (char& in : out.delta) {
    in = random.uniform() < chance;
    chance = in ? out.q1 : 1.0 - out.q0;
  }
}

inline void draw_scales(const BarkModel& model, BarkRandom& random,
                        BarkSnapshot& out) {
  const double a = model.prior.lambda_shape, b = model.prior.lambda_rate;
  double d = 0.0;
  for (const char in : out.delta) d += in;
  const double common = d > 0.0 ? random.gamma(a, d * b) : 0.0;
  const Index p = model.variables();
  out.lambda = VectorXd::Zero(model.vectors * p);
  for (Index l = 0; l < model.vectors * p; ++l) {
    if (!out.delta[l % p]) continue;
    out.lambda[l] = model.setting.different ? random.gamma(a / d, b) : common;
  }
}

// Whether scales stay that are thinned by exp(-(reach / rows)^2) of each
// vector.
inline bool reaches(const BarkModel& model, BarkRandom& random,
                    const BarkSnapshot& at) {
  if (model.prior.reach == 0.0) return true;
  const double n = static_cast<double>(model.centres.rows());
  double log_chance = 0.0;
  for (Index k = 0; k < model.vectors; ++k) {
    double kappa = 1.0;
    for (Index l = 0; l < model.variables(); ++l) {
      kappa /= std::sqrt(1.0 + 4.0 * at.lambda[k * model.variables() + l]);
    }
    log_chance -= std::pow(model.prior.reach / (n * kappa), 2.0);
  }
  return std::log(random.uniform()) < log_chance;
}

// Counts and varphi; a varphi for each column or each kernel.
inline void draw_kernels(const BarkModel& model, BarkRandom& random,
                         BarkSnapshot& out) {
  const BarkPrior& prior = model.prior;
  const double a = prior.alpha, e = prior.epsilon;
  const double nu = prior.gamma * std::pow(a, 1.0 - 0.5 * a) *
                    std::pow(2.0, a - 1.0) * std::pow(e, -a) *
                    std::tgamma(0.5 * a) / std::tgamma(1.0 - 0.5 * a);
  out.epsilon =
      prior.learns_scale()
          ? std::sqrt(random.gamma(prior.scale_shape, prior.scale_rate))
          : e;
  const double rate = 0.5 * a * out.epsilon * out.epsilon;
  const Index locations = model.vectors * model.centres.rows() + 1;
  Index kernels = random.poisson(nu);
  while (kernels > prior.max_kernels) kernels = random.poisson(nu);
  out.count.assign(static_cast<std::size_t>(locations), 0);
  out.variance.assign(static_cast<std::size_t>(locations), 0.0);
  const auto varphi = [&] {
    out.varphi.push_back(random.gamma(0.5 * a, rate));
    return out.varphi.back();
  };
  for (Index k = 0; k < kernels; ++k) {
    const Index at = random.below(locations);
    ++out.count[at];
    if (!prior.collapsed()) out.variance[at] += 1.0 / varphi();
  }
  for (Index i = 0; prior.collapsed() && i < locations; ++i) {
    const double n = static_cast<double>(out.count[i]);
    if (n > 0.0) out.variance[i] = n * n / varphi();
  }
}
}  // namespace bark_detail

// y or z given the rest: coefficients from their prior, noise 1 / (phi w).
inline void draw_response(const BarkModel& model, BarkRandom& random,
                          BarkSnapshot& out) {
  const Index n = model.rows.rows();
  out.response = VectorXd::Zero(n);
  for (std::size_t at = 0; at < out.count.size(); ++at) {
    if (out.count[at] == 0) continue;
    const double b = std::sqrt(out.variance[at]) * random.normal();
    for (Index i = 0; i < n; ++i) {
      double exponent = 0.0;
      if (at > 0) {
        const Index place = static_cast<Index>(at) - 1;
        const Index centres = model.centres.rows(), p = model.variables();
        const auto step =
            model.rows.row(i) - model.centres.row(place % centres);
        exponent = step.array().square().matrix().dot(
            out.lambda.segment(place / centres * p, p));
      }
      out.response[i] += b * std::exp(-exponent);
    }
  }
  Index column = 0;
  for (std::size_t k = 0; k < model.blocks.sizes.size(); ++k) {
    for (Index j = 0; j < model.blocks.sizes[k]; ++j) {
      out.response += std::sqrt(out.block_variance[k]) * random.normal() *
                      model.blocks.columns.col(column++);
    }
  }
  for (Index i = 0; i < n; ++i) {
    out.response[i] += random.normal() / std::sqrt(out.phi * model.weight(i));
  }
}

inline BarkSnapshot draw_joint(const BarkModel& model, BarkRandom& random) {
  BarkSnapshot out;
  do {
    bark_detail::draw_indicators(model, random, out);
    bark_detail::draw_scales(model, random, out);
  } while (!bark_detail::reaches(model, random, out));
  bark_detail::draw_kernels(model, random, out);
  const PrecisionPrior& phi = model.prior.phi;
  if (phi.kind == PrecisionPrior::Kind::gamma) {
    out.phi = random.gamma(phi.shape, phi.rate);
  } else if (phi.kind == PrecisionPrior::Kind::log_uniform) {
    out.phi = std::exp(std::log(1e-6) + random.uniform() * std::log(1e14));
  }
  // Half t: a normal variable over the root of a chi-square one.
  const double df = model.prior.block.df, scale = model.prior.block.scale;
  for (std::size_t k = 0; k < model.blocks.sizes.size(); ++k) {
    const double z = scale * random.normal();
    out.block_variance.push_back(z * z * df / random.gamma(0.5 * df, 0.5));
  }
  if (model.classes > 0) out.cuts.push_back(0.0);
  for (int c = 2; c < model.classes; ++c) {
    out.cuts.push_back(out.cuts.back() + random.gamma(1.0, 1.0));
  }
  if (model.classes > 2) {
    const double shift =
        LatentSweep::kMiddle * random.normal() - 0.5 * out.cuts.back();
    for (double& cut : out.cuts) cut += shift;
  }
  draw_response(model, random, out);
  return out;
}

inline std::vector<int> classes_of(const BarkSnapshot& at) {
  std::vector<int> out;
  for (Index i = 0; i < at.response.size(); ++i) {
    int c = 1;
    for (const double cut : at.cuts) c += at.response[i] > cut;
    out.push_back(c);
  }
  return out;
}

inline BarkSnapshot snapshot(const BarkModel& model, const BarkChain& chain) {
  const BarkState& state = chain.state;
  const auto& population = state.population;
  BarkSnapshot out;
  const auto locations = static_cast<std::size_t>(state.data.locations());
  out.count.assign(locations, 0);
  out.variance.assign(locations, 0.0);
  for (Index j = 0; j < population.units(); ++j) {
    const Index column = population.unit_column(j);
    const Index at = population.location(column);
    const double n = static_cast<double>(population.count(column));
    out.count[at] = population.count(column);
    out.varphi.push_back(population.varphi(j));
    out.variance[at] +=
        (population.collapsed() ? n * n : 1.0) / population.varphi(j);
  }
  out.lambda = state.lambda;
  out.delta = state.delta;
  out.phi = state.phi();
  out.epsilon = state.prior.epsilon;
  out.block_variance = state.block_variance;
  out.probability = state.inclusion.probability();
  out.q0 = state.inclusion.q0();
  out.q1 = state.inclusion.q1();
  if (model.classes == 2) out.cuts.push_back(0.0);
  for (Index k = 0; chain.latent && k < chain.latent->free_cuts(); ++k) {
    out.cuts.push_back(chain.latent->cut(k));
  }
  out.response =
      Eigen::Map<const VectorXd>(state.response(), model.rows.rows());
  state.data.unscale_rows(out.response.data());
  return out;
}

// Another response given the state of the chain; the classes of the probit
// models follow it.
inline void redraw_response(const BarkModel& model, BarkRandom& random,
                            BarkChain& chain) {
  BarkSnapshot now = snapshot(model, chain);
  draw_response(model, random, now);
  std::copy_n(now.response.data(), now.response.size(), chain.state.response());
  chain.state.data.scale_rows(chain.state.response());
  chain.state.response_changed();
  if (!chain.latent) return;
  chain.latent = std::make_unique<LatentSweep>(chain.state, classes_of(now),
                                               model.classes);
  for (Index k = 0; k < chain.latent->free_cuts(); ++k) {
    chain.latent->set_cut(k, now.cuts[k]);
  }
}

// ---- Statistics of a draw, all with finite variance
// --------------------------

class BarkFeatures {
 public:
  std::vector<std::string> names;
  std::vector<double> values;

  BarkFeatures(const BarkModel& model, const BarkSnapshot& at) {
    kernels(model, at);
    scales(model, at);
    hyper(model, at);
    if (at.response.size() > 0) response(model, at);
  }

 private:
  void put(const char* name, double value) {
    names.push_back(name);
    values.push_back(value);
  }

  void kernels(const BarkModel& model, const BarkSnapshot& at) {
    const double J = static_cast<double>(at.kernels());
    double columns = 0.0, several = 0.0, wide = 0.0, tight = 0.0, tiny = 0.0;
    for (std::size_t i = 0; i < at.count.size(); ++i) {
      columns += at.count[i] > 0;
      several += at.count[i] > 1;
      wide += at.variance[i] / (1.0 + at.variance[i]);
    }
    double logs = 0.0;
    for (const double varphi : at.varphi) {
      tight += varphi / (1.0 + varphi);
      tiny += varphi < 0.05;
      // Tiny precisions come and go too seldom for their logs to be compared.
      logs += std::log(0.01 + varphi);
    }
    put("J", J);
    put("J^2", J * J);
    put("J = 0", J == 0.0);
    put("J = max", J == static_cast<double>(model.prior.max_kernels));
    put("m", columns);
    put("n_i > 1", several);
    put("n_0", static_cast<double>(at.count.front()));
    put("n_1", static_cast<double>(at.count[1]));
    put("n_N^2", static_cast<double>(at.count.back() * at.count.back()));
    put("v / (1 + v)", wide);
    put("varphi / (1 + varphi)", tight);
    put("varphi < .05", tiny);
    put("log(.01 + varphi)", logs);
    put("v_0 / (1 + v_0)", at.variance[0] / (1.0 + at.variance[0]));
  }

  void scales(const BarkModel& model, const BarkSnapshot& at) {
    const Index p = model.variables();
    const double T = at.lambda.sum();
    double d = 0.0, blocks = 0.0, small = 0.0;
    for (Index l = 0; l < p; ++l) {
      d += at.delta[l];
      blocks += at.delta[l] && (l == 0 || !at.delta[l - 1]);
      small += at.delta[l] && at.lambda[l] < 0.05;
    }
    put("T", T);
    put("T^2", T * T);
    put("exp(-T)", std::exp(-T));
    put("lambda_1", at.lambda[0]);
    put("lambda_p^2", at.lambda[p - 1] * at.lambda[p - 1]);
    put("lambda_1 lambda_2", at.lambda[0] * at.lambda[1]);
    put("small lambda", small);
    put("d", d);
    put("d = 0", d == 0.0);
    put("d = 1", d == 1.0);
    put("d = p", d == static_cast<double>(p));
    put("delta_1", at.delta[0]);
    put("delta_p", at.delta[p - 1]);
    put("delta_1 delta_2", at.delta[0] && at.delta[1]);
    put("d T", d * T);
    put("blocks", blocks);
    if (model.vectors == 1) return;
    // Kernels of the last vector, and its scales.
    double last = 0.0, several = 0.0;
    for (std::size_t i = 1; i < at.count.size(); ++i) {
      const bool own =
          static_cast<Index>(i) > (model.vectors - 1) * model.centres.rows();
      (own ? last : several) += static_cast<double>(at.count[i]);
    }
    const Index q = at.lambda.size();
    put("J of the last vector", last);
    put("J of both", last * several);
    put("lambda of the last vector", at.lambda[q - 1]);
    put("its J and lambda", last * at.lambda[q - 1]);
    put("lambdas of both", at.lambda[0] * at.lambda[q - p]);
    put("T of the last vector", at.lambda.tail(p).sum());
    put("exp(-T) of both", std::exp(-at.lambda.head(p).sum()) *
                               std::exp(-at.lambda.tail(p).sum()));
  }

  void hyper(const BarkModel& model, const BarkSnapshot& at) {
    const InclusionPrior& inclusion = model.inclusion;
    if (inclusion.kind() == InclusionPrior::Kind::known) {
      put("p_lambda", at.probability);
      put("p_lambda^2", at.probability * at.probability);
      put("p_lambda delta_1", at.probability * at.delta[0]);
    } else if (inclusion.learns()) {
      put("q0", at.q0);
      put("q0^2", at.q0 * at.q0);
      put("q1", at.q1);
      put("q1^2", at.q1 * at.q1);
      put("q1 delta_1", at.q1 * at.delta[0]);
      put("q0 q1", at.q0 * at.q1);
    }
    if (model.prior.learns_scale()) {
      const double logged = std::log(at.epsilon);
      double below = 0.0;
      for (const double varphi : at.varphi) {
        below += varphi * at.epsilon * at.epsilon < 1.0;
      }
      put("log epsilon", logged);
      put("log^2 epsilon", logged * logged);
      put("epsilon^2", at.epsilon * at.epsilon);
      put("log epsilon J", logged * static_cast<double>(at.kernels()));
      put("varphi epsilon^2 < 1", below);
    }
    if (model.prior.phi.kind != PrecisionPrior::Kind::fixed) {
      put("log phi", std::log(at.phi));
      put("log^2 phi", std::log(at.phi) * std::log(at.phi));
    }
    for (const double variance : at.block_variance) {
      const double logged = 0.5 * std::log(variance);
      put("log tau", logged);
      put("log^2 tau", logged * logged);
      put("tau", std::sqrt(variance));
      put("tau < .2", variance < 0.04);
      put("log tau J", logged * static_cast<double>(at.kernels()));
      if (at.response.size() == 0) continue;
      const double size = std::log1p(at.response.squaredNorm());
      const double first = std::tanh(at.response[0]);
      const double last = std::tanh(at.response[at.response.size() - 1]);
      put("log tau size", logged * size);
      put("log tau y_1 y_n", logged * first * last);
      put("log tau y_1 y_3",
          logged * first *
              std::tanh(
                  at.response[std::min<Index>(2, at.response.size() - 1)]));
    }
    for (std::size_t k = 0; at.cuts.size() > 1 && k < at.cuts.size(); ++k) {
      put("cut", at.cuts[k]);
      put("cut^2", at.cuts[k] * at.cuts[k]);
    }
  }

  void response(const BarkModel& model, const BarkSnapshot& at) {
    const double first = std::tanh(at.response[0]);
    const double second = std::tanh(at.response[1]);
    const double last = std::tanh(at.response[at.response.size() - 1]);
    const double size = std::log1p(at.response.squaredNorm());
    const double T = at.lambda.sum();
    put("y_1", first);
    put("y_1^2", first * first);
    put("y_n^2", last * last);
    put("y_1 y_2", first * second);
    put("y_2 y_n", second * last);
    put("size", size);
    put("size^2", size * size);
    put("size J", size * static_cast<double>(at.kernels()));
    put("size exp(-T)", size * std::exp(-T));
    put("y_1 y_2 exp(-T)", first * second * std::exp(-T));
    put("y_1 y_n lambda_1", first * last * at.lambda[0]);
    put("y_1 y_2 delta_1", first * second * at.delta[0]);
    put("y_1^2 n_1", first * first * static_cast<double>(at.count[1]));
    put("size log phi", size * std::log(at.phi));
    if (model.classes == 0) return;
    for (const double cut : at.cuts) put("cut y_1", cut * first);
    double top = 0.0;
    for (const int c : classes_of(at)) top += c == model.classes;
    put("last class", top);
    put("last class J", top * static_cast<double>(at.kernels()));
  }
};

// Means of statistics of dependent draws; standard errors by batch means.
class BatchMeans {
 public:
  BatchMeans(Index draws, Index batches) : size_(draws / batches) {}

  void add(const std::vector<double>& values) {
    if (sums_.empty() || in_batch_ == size_) {
      sums_.push_back(VectorXd::Zero(static_cast<Index>(values.size())));
      in_batch_ = 0;
    }
    sums_.back() += Eigen::Map<const VectorXd>(
        values.data(), static_cast<Index>(values.size()));
    ++in_batch_;
  }
  VectorXd mean() const {
    VectorXd sum = VectorXd::Zero(sums_[0].size());
    for (const VectorXd& batch : sums_) sum += batch;
    return sum /
           (static_cast<double>(sums_.size()) * static_cast<double>(size_));
  }
  VectorXd standard_error() const {
    const VectorXd centre = mean();
    VectorXd sum = VectorXd::Zero(centre.size());
    for (const VectorXd& batch : sums_) {
      sum += (batch / static_cast<double>(size_) - centre).cwiseAbs2();
    }
    const double count = static_cast<double>(sums_.size());
    return (sum / (count * (count - 1.0))).cwiseSqrt();
  }

 private:
  Index size_, in_batch_ = 0;
  std::vector<VectorXd> sums_;
};

struct BarkRun {
  Index draws = 20000;
  Index between = 2;    // sweeps between draws
  bool redraw = false;  // the response, before the sweeps of a draw
  double scale_share = 0.5;
};

// Every statistic of the chain agrees with the prior's within four standard
// errors; they depend on each other, so their mean square may be some way
// off 1.
inline void check_joint(const BarkModel& model, const BarkRun& run,
                        unsigned seed) {
  constexpr Index kBatches = 100;
  const Index draws = run.draws / kBatches * kBatches;
  BarkRandom random(seed);
  BatchMeans prior(draws, kBatches), found(draws, kBatches);
  std::vector<std::string> names;
  for (Index k = 0; k < draws; ++k) {
    const BarkFeatures features(model, draw_joint(model, random));
    names = features.names;
    prior.add(features.values);
  }
  const BarkData data = model.data();
  const Index warmup = draws / 10 * run.between;
  const std::vector<double> y(static_cast<std::size_t>(data.rows()),
                              model.classes > 0 ? 1.0 : 0.5);
  BarkChain chain(data, y, model.classes, model.prior, model.setting,
                  model.inclusion, seed, 0, warmup);
  chain.schedule.scale_share = run.scale_share;
  chain.start(IndicatorVector(static_cast<std::size_t>(model.variables()), 1));
  for (Index k = -draws / 10; k < draws; ++k) {
    if (run.redraw) redraw_response(model, random, chain);
    for (Index t = 0; t < run.between; ++t) chain.sweep();
    if (k >= 0) found.add(BarkFeatures(model, snapshot(model, chain)).values);
  }
  const VectorXd error =
      (prior.standard_error().cwiseAbs2() + found.standard_error().cwiseAbs2())
          .cwiseSqrt();
  const VectorXd from = prior.mean(), to = found.mean();
  double square = 0.0, counted = 0.0;
  for (Index k = 0; k < to.size(); ++k) {
    const double gap = to[k] - from[k];
    const double z = gap == 0.0 ? 0.0 : gap / error[k];
    CHECK(std::abs(z) < 4.0);
    if (!(std::abs(z) < 4.0)) {
      std::printf("  %s, %s: %.5f, prior %.5f, z = %.2f\n", model.name.c_str(),
                  names[k].c_str(), to[k], from[k], z);
    }
    if (error[k] > 0.0) {
      square += z * z;
      counted += 1.0;
    }
  }
  if (square / counted >= 5.0) {
    std::printf("  %s: mean z^2 %.2f\n", model.name.c_str(), square / counted);
  }
  CHECK(square / counted < 5.0);
}
