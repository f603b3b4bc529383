// One chain of bark() (bark.md section 10). A sweep is one reversible jump
// move, every third one a draw of all precisions through the coefficients, a
// step of the precision of the noise or, every third one, the latents; and,
// one time in five, two moves of the scales.
#ifndef BAYESKERNEL_BARK_CHAIN_HPP
#define BAYESKERNEL_BARK_CHAIN_HPP

#include <Eigen/Core>
#include <array>
#include <cmath>
#include <cstdint>
#include <memory>
#include <vector>

#include "../rng/distributions.hpp"
#include "kernel_moves.hpp"
#include "latent_sweep.hpp"
#include "scale_moves.hpp"
#include "state.hpp"
#include "structured_moves.hpp"

namespace bayeskernel {

enum class BarkMove {
  birth,
  death,
  relocate,
  shift,
  varphi,
  phi,
  factor,
  coordinate,
  flip,
  swap,
  typed_flip,
  block,
  stretch,
  cuts,
  markov,
  count
};

inline const char* name_of(BarkMove move) {
  static constexpr const char* kNames[] = {
      "birth",      "death",  "relocate", "shift", "varphi",
      "phi",        "factor", "scale",    "flip",  "swap",
      "typed flip", "block",  "stretch",  "cuts",  "markov"};
  return kNames[static_cast<int>(move)];
}

// Steps of random walks on log scales, tuned to accept 44 % during warmup.
class RandomWalkStep {
 public:
  explicit RandomWalkStep(double sd = 0.5) : log_sd_(std::log(sd)) {}

  double sd() const { return std::exp(log_sd_); }
  double log_sd() const { return log_sd_; }
  void set_log_sd(double log_sd) { log_sd_ = log_sd; }

  void adapt(double log_ratio) {
    constexpr double kTarget = 0.44;
    ++uses_;
    const double gain = std::min(1.0, 4.0 / std::pow(uses_, 0.6));
    const double accepted = std::exp(std::min(log_ratio, 0.0));
    log_sd_ += gain * ((std::isnan(accepted) ? 0.0 : accepted) - kTarget);
    log_sd_ = std::min(std::max(log_sd_, -10.0), 5.0);
  }

 private:
  double log_sd_;
  double uses_ = 0.0;
};

struct BarkSchedule {
  int refresh = 3;            // sweeps between draws of all precisions
  int latent = 5;             // sweeps between draws of the latents
  int labels = 40;            // between moves by the labels, a multiple of it
  int indicators = 1;         // moves of them at a time
  int label_moves = 2;        // pairs of moves of the scales, then
  int loose_moves = 5;        // of the indicators with the coefficients, then
  double scale_share = 0.2;   // of the sweeps move scales
  double shift_share = 0.25;  // of the sweeps move a column nearby
};

class BarkChain {
 public:
  using Index = Eigen::Index;
  static constexpr int kMoves = static_cast<int>(BarkMove::count);

  // `y`: the response, or class numbers 1..n_classes where n_classes > 0.
  BarkChain(const BarkData& data, const std::vector<double>& y, int n_classes,
            const BarkPrior& prior, const ScaleSetting& setting,
            const InclusionPrior& inclusion, std::uint64_t seed,
            std::uint64_t id, Index warmup)
      : state(data, prior, setting, inclusion),
        seed_(seed),
        id_(id),
        warmup_(warmup),
        kernels_(state),
        scales_(state),
        coefficients_(BarkState::capacity(data, prior)),
        steps_(static_cast<std::size_t>(kFirstScale + 2 * data.variables())) {
    // Along an axis a move reaches few of many variables.
    if (inclusion.kind() == InclusionPrior::Kind::markov) {
      schedule.indicators = 1 + static_cast<int>(data.variables() / 10);
      schedule.labels = 20;
      schedule.loose_moves = 2;
    }
    if (n_classes > 0) {
      std::vector<int> classes(y.begin(), y.end());
      latent =
          std::make_unique<LatentSweep>(state, std::move(classes), n_classes);
      gap_steps_.resize(static_cast<std::size_t>(latent->free_cuts()));
    } else {
      std::copy(y.begin(), y.end(), state.response());
    }
  }

  BarkState state;
  std::unique_ptr<LatentSweep> latent;  // probit models
  BarkSchedule schedule;

  Index sweeps() const { return sweeps_; }
  void set_sweeps(Index sweeps) { sweeps_ = sweeps; }
  const Eigen::ArrayXXd& acceptance() const { return acceptance_; }
  std::vector<double> log_steps() const {
    std::vector<double> out;
    for (const auto& step : steps_) out.push_back(step.log_sd());
    for (const auto& step : gap_steps_) out.push_back(step.log_sd());
    return out;
  }
  void set_log_steps(const std::vector<double>& from) {
    std::size_t k = 0;
    for (auto& step : steps_) step.set_log_sd(from[k++]);
    for (auto& step : gap_steps_) step.set_log_sd(from[k++]);
  }

  // All variables of `delta` in, at the prior's mean scale. Regression begins
  // with more kernels than are needed, each at the best of some places
  // (section 8): from few that fit badly the chain would first drop variables
  // that kernels cannot yet use, and find them again only after 10^5 sweeps.
  // Else nu kernels at random places.
  void start(const Indicators& delta) {
    Stream stream(seed_, id_, Purpose::init, 0, 0);
    const BarkPrior& prior = state.prior;
    state.population.clear();
    state.delta = delta;
    const double d = static_cast<double>(state.active());
    for (Index l = 0; l < state.variables(); ++l) {
      state.lambda[l] =
          delta[l] ? prior.lambda_shape / (prior.lambda_rate * d) : 0.0;
    }
    state.gaussian.set_precision(prior.phi.start());
    if (latent) latent->start(stream);
    if (latent || !start_by_fit(stream)) start_by_prior(stream);
  }

  void sweep() {
    Stream stream(seed_, id_, Purpose::kernels, sweeps_, 0);
    warming_ = sweeps_ < warmup_;
    move_kernels(stream);
    if (stream.uniform() < schedule.shift_share) shift_kernel(stream);
    const bool refresh = sweeps_ % schedule.refresh == 0;
    if (refresh) refresh_precisions(stream);
    if (latent) {
      if (sweeps_ % schedule.latent == 0) move_latents(stream);
    } else if (!refresh &&
               state.prior.phi.kind != PrecisionPrior::Kind::fixed) {
      move_phi(stream);
    }
    if (stream.uniform() < schedule.scale_share) {
      if (state.setting.select) {
        for (int k = 0; k < schedule.indicators; ++k) move_indicators(stream);
        if (state.inclusion.learns()) learn_inclusion(stream);
      }
      move_scales(stream);
    }
    ++sweeps_;
  }

 private:
  static constexpr int kNearest = 2;  // powers 1, 4 and 16 of K

  enum Step { kVarphi, kPhi, kFactor, kLabelFactor, kStretch, kFirstScale };

  bool decide(BarkMove move, double log_ratio, double log_u) {
    const bool yes = log_u < log_ratio;
    if (!warming_) {
      acceptance_(static_cast<int>(move), 0) += 1.0;
      acceptance_(static_cast<int>(move), 1) += yes;
    }
    return yes;
  }

  bool walk(BarkMove move, RandomWalkStep& step, double log_ratio,
            double log_u) {
    if (warming_) step.adapt(log_ratio);
    return decide(move, log_ratio, log_u);
  }

  double draw_varphi(Stream& stream) const {
    const BarkPrior& prior = state.prior;
    const double shape = prior.varphi_shape(), rate = prior.varphi_rate();
    const double draw =
        shape < 0.1
            ? std::exp(log_gamma_variate(stream, shape) - std::log(rate))
            : gamma(stream, shape, rate);
    return std::max(draw, Population::kSmallest);
  }

  // ---- The start

  void start_by_prior(Stream& stream) {
    const BarkPrior& prior = state.prior;
    const Index kernels =
        std::min(prior.max_kernels,
                 static_cast<Index>(std::lround(prior.expected_kernels())));
    for (Index k = 0; k < kernels; ++k) {
      const Index location = uniform_index(stream, state.data.locations());
      state.population.insert(location, draw_varphi(stream));
    }
    state.rebuild_all();
  }

  // Coefficients are wide next to the response, three quarters of which the
  // kernels are to explain. False without enough rows.
  bool start_by_fit(Stream& stream) {
    constexpr Index kKernels = 30, kPlaces = 64;
    constexpr double kWidth = 10.0, kExplained = 0.75;
    const Index rows = state.data.rows();
    const Index kernels =
        std::min({kKernels, rows / 4, state.prior.max_kernels});
    state.rebuild_all();
    const double square = state.response_square() / static_cast<double>(rows);
    if (kernels == 0 || !(square > 0.0)) return false;
    const PrecisionPrior& phi = state.prior.phi;
    const double start = 1.0 / ((1.0 - kExplained) * square);
    if (phi.kind == PrecisionPrior::Kind::log_uniform && phi.allows(start)) {
      state.gaussian.set_precision(start);
      state.rebuild();
    }
    const double varphi = 1.0 / (kWidth * kWidth * square);
    for (Index k = 0; k < kernels; ++k) {
      double best = KernelMoves::kNever;
      Index place = -1;
      for (Index trial = 0; trial < kPlaces; ++trial) {
        const Index location = uniform_index(stream, state.data.locations());
        if (state.population.column_at(location) >= 0) continue;
        const double change = kernels_.open(location, varphi);
        if (change > best) {
          best = change;
          place = location;
        }
      }
      if (place >= 0) kernels_.place(place, varphi);
    }
    return true;
  }

  // ---- Kernels

  void move_kernels(Stream& stream) {
    const auto probability =
        state.prior.move_probability(state.population.kernels());
    const double u = stream.uniform();
    const double log_u = -stream.exponential();
    if (u < probability[0]) {
      const Index location = uniform_index(stream, state.data.locations());
      const double varphi = draw_varphi(stream);
      if (decide(BarkMove::birth, kernels_.birth(location, varphi, log_u),
                 log_u)) {
        kernels_.accept_birth();
      }
    } else if (u < probability[0] + probability[1]) {
      const Index unit = state.population.draw_unit(stream.uniform());
      if (decide(BarkMove::death, kernels_.death(unit), log_u)) {
        kernels_.accept_death();
      }
    } else if (state.population.kernels() == 0) {
      return;
    } else if (stream.uniform() < 0.5) {
      const Index unit = uniform_index(stream, state.population.units());
      RandomWalkStep& step = steps_[kVarphi];
      const double value =
          state.population.varphi(unit) * std::exp(step.sd() * stream.normal());
      const double ratio = value > Population::kSmallest
                               ? kernels_.varphi(unit, value)
                               : KernelMoves::kNever;
      if (walk(BarkMove::varphi, step, ratio, log_u)) {
        kernels_.accept_varphi();
      }
    } else {
      const Index unit = state.population.draw_unit(stream.uniform());
      const Index location = uniform_index(stream, state.data.locations());
      const double varphi = draw_varphi(stream);
      if (decide(BarkMove::relocate,
                 kernels_.relocate(unit, location, varphi, log_u), log_u)) {
        kernels_.accept_relocate();
      }
    }
  }

  // A column anywhere to a neighbour, near or nearer.
  void shift_kernel(Stream& stream) {
    if (state.basis.size() == 0) return;
    const Index column = uniform_index(stream, state.basis.size());
    const int power = kNearest * static_cast<int>(uniform_index(stream, 3));
    const Index location = kernels_.draw_neighbour(column, power, stream);
    if (location < 0) return;
    const double log_u = -stream.exponential();
    if (decide(BarkMove::shift, kernels_.shift(column, location), log_u)) {
      kernels_.accept_shift();
    }
  }

  // b, then every varphi and, with it, phi; b is forgotten (section 3).
  void refresh_precisions(Stream& stream) {
    Population& population = state.population;
    const BarkPrior& prior = state.prior;
    double* b = coefficients_.data();
    state.gaussian.draw([&] { return stream.normal(); }, b);
    const double shape = prior.varphi_shape() + 0.5;
    const double rate = prior.varphi_rate();
    if (population.collapsed()) {
      for (Index i = 0; i < population.columns(); ++i) {
        const double n = static_cast<double>(population.count(i));
        const double scaled = b[i] / n;
        replace_varphi(
            i, draw_precision(stream, shape, rate + 0.5 * scaled * scaled));
      }
    } else {
      refresh_atoms(stream, shape, rate, b);
    }
    state.set_variances();
    if (!latent) refresh_phi(stream, b);
    state.rebuild();
  }

  // Given b the precisions are independent: each stays where its draw is out
  // of bounds.
  void replace_varphi(Index unit, double value) {
    if (state.holds(state.population.variance_changed(unit, value))) {
      state.population.set_varphi(unit, value);
    }
  }

  // A column's coefficient is split over its atoms, given the sum.
  void refresh_atoms(Stream& stream, double shape, double rate,
                     const double* b) {
    Population& population = state.population;
    for (Index i = 0; i < population.columns(); ++i) {
      double total = 0.0, sum = 0.0;
      parts_.clear();
      for (Index j = 0; j < population.units(); ++j) {
        if (population.unit_column(j) != i) continue;
        const double variance = 1.0 / population.varphi(j);
        parts_.push_back(std::sqrt(variance) * stream.normal());
        sum += parts_.back();
        total += variance;
      }
      std::size_t part = 0;
      for (Index j = 0; j < population.units(); ++j) {
        if (population.unit_column(j) != i) continue;
        const double share = 1.0 / (population.varphi(j) * total);
        const double own = parts_[part++] + share * (b[i] - sum);
        replace_varphi(j,
                       draw_precision(stream, shape, rate + 0.5 * own * own));
      }
    }
  }

  // Shape (alpha + 1) / 2, which is 1 for Cauchy coefficients.
  static double draw_precision(Stream& stream, double shape, double rate) {
    if (shape == 1.0) return stream.exponential() / rate;
    return gamma(stream, shape, rate);
  }

  void refresh_phi(Stream& stream, const double* b) {
    const PrecisionPrior& prior = state.prior.phi;
    const double n = static_cast<double>(state.data.rows());
    if (prior.kind == PrecisionPrior::Kind::fixed || n == 0.0) return;
    const double rest = std::max(state.gaussian.residual_square(b), 0.0);
    const double phi =
        gamma(stream, prior.shape + 0.5 * n, prior.rate + 0.5 * rest);
    if (phi > 0.0 && prior.allows(phi) &&
        state.holds(state.largest_variance(), phi)) {
      state.gaussian.set_precision(phi);
    }
  }

  void move_phi(Stream& stream) {
    RandomWalkStep& step = steps_[kPhi];
    const double old = state.phi();
    const double phi = old * std::exp(step.sd() * stream.normal());
    const double log_u = -stream.exponential();
    const PrecisionPrior& prior = state.prior.phi;
    const bool allowed =
        prior.allows(phi) && state.holds(state.largest_variance(), phi);
    const double ratio = allowed ? state.gaussian.log_marginal_at(phi) -
                                       state.gaussian.log_marginal() +
                                       prior.log_step(old, phi)
                                 : KernelMoves::kNever;
    if (walk(BarkMove::phi, step, ratio, log_u)) {
      state.gaussian.set_precision(phi);
      state.rebuild();
    }
  }

  void move_latents(Stream& stream) {
    if (sweeps_ % schedule.labels == 0) {
      move_by_labels(stream);
    } else {
      latent->sweep(stream);
    }
    latent->scale(stream);
  }

  // Scales and cut points given the coefficients, not the latents.
  void move_by_labels(Stream& stream) {
    latent->begin_labels(stream);
    latent->move_cuts(
        [&](Index k) { return gap_steps_[k].sd() * stream.normal(); },
        [&](Index k, double ratio) {
          return walk(BarkMove::cuts, gap_steps_[k], ratio,
                      -stream.exponential());
        });
    scales_.look_at(latent.get());
    by_labels_ = true;
    for (int k = 0; k < schedule.label_moves; ++k) {
      if (state.setting.select) move_indicators(stream);
      move_scales(stream);
      stretch(stream);
    }
    by_labels_ = false;
    scales_.look_at(nullptr);
    for (int k = 0; state.setting.select && k < schedule.loose_moves; ++k) {
      latent->loosen(
          stream,
          std::exp2(1.0 + static_cast<double>(uniform_index(stream, 4))));
      loose_ = &stream;
      move_indicators(stream);
      loose_ = nullptr;
    }
    latent->end_labels(stream);
  }

  void stretch(Stream& stream) {
    RandomWalkStep& step = steps_[kStretch];
    const double factor = std::exp(step.sd() * stream.normal());
    const double log_u = -stream.exponential();
    const bool allowed =
        state.holds(state.largest_variance() * factor * factor);
    const double ratio =
        allowed ? latent->stretch(factor) : KernelMoves::kNever;
    if (walk(BarkMove::stretch, step, ratio, log_u)) {
      latent->accept_stretch(factor);
      state.set_variances();
    }
  }

  void accept_scale(BarkMove move, double ratio, double log_u) {
    if (loose_ == nullptr) {
      if (decide(move, ratio, log_u)) scales_.accept();
      return;
    }
    // The new b is drawn at the new scales; accept() again goes back.
    if (!(log_u < ratio + latent->most_gained())) {
      decide(move, KernelMoves::kNever, log_u);
      return;
    }
    scales_.accept();
    if (decide(move, ratio + latent->redraw(*loose_), log_u)) {
      latent->accept_redraw();
    } else {
      scales_.accept();
    }
  }

  void move_scales(Stream& stream) {
    const Index d = state.active();
    if (d == 0) return;
    if (!state.setting.different) {
      move_factor(stream);
      return;
    }
    if (!state.setting.select) move_coordinate(stream, d);
    if (stream.uniform() < 0.5) {
      move_factor(stream);
    } else {
      move_coordinate(stream, d);
    }
  }

  void move_factor(Stream& stream) {
    RandomWalkStep& step = steps_[by_labels_ ? kLabelFactor : kFactor];
    const double factor = std::exp(step.sd() * stream.normal());
    const double log_u = -stream.exponential();
    const bool allowed = smallest_scale() * factor > ScaleMoves::kSmallest;
    const double ratio =
        allowed ? scales_.common_factor(factor) : KernelMoves::kNever;
    if (walk(BarkMove::factor, step, ratio, log_u)) scales_.accept();
  }

  double smallest_scale() const {
    double smallest = std::numeric_limits<double>::infinity();
    for (Index l = 0; l < state.variables(); ++l) {
      if (state.delta[l]) smallest = std::min(smallest, state.lambda[l]);
    }
    return smallest;
  }

  void move_coordinate(Stream& stream, Index d) {
    const Index l = draw_variable(stream, 1, d);
    RandomWalkStep& step =
        steps_[kFirstScale + l + (by_labels_ ? state.variables() : 0)];
    const double value =
        state.lambda[l] * std::exp(step.sd() * stream.normal());
    const double log_u = -stream.exponential();
    const double ratio = value > ScaleMoves::kSmallest
                             ? scales_.coordinate(l, value)
                             : KernelMoves::kNever;
    if (walk(BarkMove::coordinate, step, ratio, log_u)) scales_.accept();
  }

  // One of the `count` variables with the given indicator.
  Index draw_variable(Stream& stream, char indicator, Index count) const {
    Index skip = uniform_index(stream, count);
    for (Index l = 0; l < state.variables(); ++l) {
      if (state.delta[l] == indicator && skip-- == 0) return l;
    }
    return 0;
  }

  // ---- Indicators

  void move_indicators(Stream& stream) {
    if (state.inclusion.kind() == InclusionPrior::Kind::markov) {
      move_structure(stream);
      return;
    }
    const Index d = state.active(), p = state.variables();
    if (stream.uniform() < 0.5) {
      flip(stream);
    } else if (d > 0 && d < p) {
      const Index in = draw_variable(stream, 1, d);
      const Index out = draw_variable(stream, 0, p - d);
      const double log_u = -stream.exponential();
      accept_scale(BarkMove::swap, scales_.swap(in, out), log_u);
    }
  }

  void flip(Stream& stream) {
    const Index l = uniform_index(stream, state.variables());
    const double log_u = -stream.exponential();
    const Index d = state.active();
    double ratio;
    if (state.setting.different) {
      const double fresh =
          state.delta[l] ? 0.0
                         : scales_.draw_scale(stream, scales_.shape(d + 1));
      ratio = scales_.flip_different(l, fresh);
    } else if (d == 0 || (d == 1 && state.delta[l])) {
      ratio = scales_.flip_empty(
          l, scales_.draw_scale(stream, state.prior.lambda_shape));
    } else if (stream.uniform() < 0.5) {
      ratio = scales_.flip_keeping_scale(l);
    } else {
      ratio = scales_.flip_keeping_total(l);
    }
    accept_scale(BarkMove::flip, ratio, log_u);
  }

  // A third each: any flip, a flip of a typed site, a block.
  void move_structure(Stream& stream) {
    const double which = 3.0 * stream.uniform();
    if (which < 1.0) {
      flip(stream);
      return;
    }
    Indicators to = state.delta;
    double log_proposal = 0.0;
    BarkMove move = BarkMove::typed_flip;
    if (which < 2.0) {
      const Index site = TypedFlips(state.delta).draw(stream);
      if (site < 0) return;
      to[site] = !to[site];
      log_proposal = typed_flip_log_ratio(state.delta, site);
    } else {
      const std::vector<BlockMove> menu = block_menu(state.delta);
      if (menu.empty()) return;
      const BlockMove& block =
          menu[uniform_index(stream, static_cast<Index>(menu.size()))];
      const Index k = block.draw_step(stream);
      block.apply(to, k);
      log_proposal = block_move_log_ratio(state.delta, menu, block, k);
      move = BarkMove::block;
    }
    const bool keep_total = stream.uniform() < 0.5;
    const double fresh = scales_.draw_scale(stream, state.prior.lambda_shape);
    const double log_u = -stream.exponential();
    accept_scale(move, scales_.replace(to, keep_total, fresh, log_proposal),
                 log_u);
  }

  // The probability of inclusion, or those of the Markov chain.
  void learn_inclusion(Stream& stream) {
    InclusionPrior& prior = state.inclusion;
    const auto& shape = prior.shape();
    if (prior.kind() == InclusionPrior::Kind::known) {
      const double d = static_cast<double>(state.active());
      const double rest = static_cast<double>(state.variables()) - d;
      const double p = beta_draw(stream, shape[0] + d, shape[1] + rest);
      if (p > 0.0 && p < 1.0) prior.set_probability(p);
      return;
    }
    // Proposals from the Betas that would be right without the first term,
    // that of the stationary start, which decides (section 6).
    std::array<double, 4> counts{};  // 00, 01, 10, 11
    for (Index l = 1; l < state.variables(); ++l) {
      counts[2 * state.delta[l - 1] + state.delta[l]] += 1.0;
    }
    const double q0 =
        beta_draw(stream, shape[0] + counts[0], shape[1] + counts[1]);
    const double q1 =
        beta_draw(stream, shape[2] + counts[3], shape[3] + counts[2]);
    const double log_u = -stream.exponential();
    if (!(q0 > 0.0 && q0 < 1.0 && q1 > 0.0 && q1 < 1.0)) return;
    const char first = state.delta.empty() ? 0 : state.delta[0];
    const auto log_start = [first](double a, double b) {
      return std::log((first ? 1.0 - a : 1.0 - b) / (2.0 - a - b));
    };
    const double ratio = log_start(q0, q1) - log_start(prior.q0(), prior.q1());
    if (decide(BarkMove::markov, ratio, log_u)) prior.set_markov(q0, q1);
  }

  static double beta_draw(Stream& stream, double a, double b) {
    const double x = gamma(stream, a, 1.0), y = gamma(stream, b, 1.0);
    return x / (x + y);
  }

  std::uint64_t seed_, id_;
  Index warmup_;
  Index sweeps_ = 0;
  bool warming_ = true;
  bool by_labels_ = false;
  Stream* loose_ = nullptr;  // where moves of the scales draw a new b, too
  KernelMoves kernels_;
  ScaleMoves scales_;
  AlignedBuffer coefficients_;
  std::vector<double> parts_;
  std::vector<RandomWalkStep> steps_, gap_steps_;
  Eigen::ArrayXXd acceptance_ = Eigen::ArrayXXd::Zero(kMoves, 2);
};

}  // namespace bayeskernel

#endif
