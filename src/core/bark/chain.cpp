#include "bark/chain.hpp"

#include "bark/label_moves.hpp"
#include "bark/population.hpp"
#include "bark/start.hpp"
#include "error.hpp"
#include "mcmc/learned_step.hpp"
#include "rng/distributions.hpp"

namespace bayeskernel {
BarkChain::BarkChain(const BarkData& data, const std::vector<double>& y,
                     int n_classes, const BarkPrior& prior,
                     const ScaleSetting& setting,
                     const InclusionPrior& inclusion, std::uint64_t seed,
                     std::uint64_t id, Index warmup)
    : state(data, prior, setting, inclusion),
      seed_(seed),
      id_(id),
      warmup_(warmup),
      tally_(data.scales()),
      kernels_(state),
      precisions_(state, tally_),
      scales_(state, tally_),
      joint_(state, tally_, n_classes == 0),
      search_(n_classes == 0 ? warmup / 4 * 3 : 0) {
  if (n_classes > 0 && data.weighted()) {
    throw ArgumentError("classes have no weights");
  }
  // Along an axis a move reaches few of many variables.
  if (inclusion.kind() == InclusionPrior::Kind::markov) {
    schedule.indicators = 1 + static_cast<int>(data.variables() / 10);
    schedule.labels = 20;
    schedule.loose_moves = 2;
  }
  // What it does need not be done as often by others.
  if (joint_.on()) {
    schedule.scale_share = data.vectors() > 1 ? 0.2 : 0.1;
    schedule.phi = 4;
  }
  if (n_classes > 0) {
    std::vector<int> classes(y.begin(), y.end());
    latent =
        std::make_unique<LatentSweep>(state, std::move(classes), n_classes);
    tally_.steps.cut.resize(static_cast<std::size_t>(latent->free_cuts()));
  } else {
    std::copy(y.begin(), y.end(), state.response());
    data.scale_rows(state.response());
  }
}

void BarkChain::start(const IndicatorVector& delta) {
  for (std::size_t l = 0; l < state.delta.size(); ++l) {
    state.delta[l] = delta[l % delta.size()];
  }
  begin();
}

void BarkChain::restore(const BarkCheckpoint& from) {
  search_.end();
  hold_noise();
  take(from);
  sweeps_ = from.sweeps;
}

BarkCheckpoint BarkChain::checkpoint() {
  BarkCheckpoint out;
  const Population& population = state.population;
  out.location = population.locations();
  out.count = population.counts();
  out.unit_column = population.unit_columns();
  out.varphi = population.varphis();
  out.lambda = state.lambda;
  out.phi = state.phi();
  out.epsilon = state.prior.epsilon;
  out.block_variance = state.block_variance;
  if (latent) {
    out.latent.assign(state.response(), state.response() + state.data.rows());
    for (Index k = 0; k < latent->free_cuts(); ++k) {
      out.cuts.push_back(latent->cut(k));
    }
  }
  out.probability = state.inclusion.probability();
  out.q0 = state.inclusion.q0();
  out.q1 = state.inclusion.q1();
  tally_.steps.for_each(
      [&](const auto& step) { out.log_steps.push_back(step.log_sd()); });
  if (joint_.on()) out.learned = joint_.directions().learned();
  out.sweeps = sweeps_;
  return out;
}

const double* BarkChain::draw_coefficients() {
  Stream stream(seed_, id_, Purpose::coefficients, sweeps_, 0);
  return precisions_.draw_coefficients(stream);
}

void BarkChain::sweep() {
  Stream stream(seed_, id_, Purpose::kernels, sweeps_, 0);
  tally_.set_warming(sweeps_ < warmup_);
  if (search_.run_begins()) begin_run();
  hold_noise();
  move_kernels(stream);
  if (stream.uniform() < schedule.shift_share) shift_kernel(stream);
  if (state.data.vectors() > 1 && stream.uniform() < schedule.shift_share) {
    change_vector(stream);
  }
  if (sweeps_ % schedule.blocks == 0) precisions_.move_blocks(stream);
  if (latent && sweeps_ % schedule.latent == 0) move_latents(stream);
  state.postpone_rebuilds();
  if (stream.uniform() < schedule.scale_share) {
    if (state.setting.select) {
      for (int k = 0; k < schedule.indicators; ++k) {
        scales_.move_indicators(stream);
      }
      if (state.inclusion.learns()) scales_.learn_inclusion(stream);
    }
    scales_.walk(stream);
  }
  if (joint_.on()) move_jointly(stream);
  // The draws of all precisions need no likelihood, but a rebuild.
  if (sweeps_ % schedule.refresh == 0) {
    if (state.prior.learns_scale()) precisions_.move_epsilon(stream);
    precisions_.refresh(stream);
  } else if (!latent && sweeps_ % schedule.phi == 0 &&
             state.prior.phi.kind != PrecisionPrior::Kind::fixed) {
    precisions_.move_phi(stream);
  }
  state.catch_up();
  ++sweeps_;
  if (search_.on() && search_.ends(score())) end_run();
}

void BarkChain::begin() {
  Stream stream(seed_, id_, Purpose::init, sweeps_, 0);
  const BarkPrior& prior = state.prior;
  state.population.clear();
  const double d = static_cast<double>(state.active());
  for (Index l = 0; l < state.scales(); ++l) {
    const double vector = static_cast<double>(l / state.data.variables());
    state.lambda[l] = state.delta[l]
                          ? prior.lambda_shape / (prior.lambda_rate * d) *
                                std::pow(0.1, vector)
                          : 0.0;
  }
  state.block_variance.assign(state.block_variance.size(),
                              BarkState::kFirstVariance);
  state.gaussian.set_precision(prior.phi.start());
  if (latent) latent->start(stream);
  if (latent || !start_by_fit(state, kernels_, stream)) {
    start_by_prior(state, stream);
  }
  hold_noise();
  if (!state.prior.phi.allows(state.phi())) {
    state.gaussian.set_precision(state.prior.phi.most);
    state.rebuild();
  }
}

void BarkChain::take(const BarkCheckpoint& from) {
  state.population.restore(from.location, from.count, from.varphi,
                           from.unit_column);
  state.lambda = from.lambda;
  for (Index l = 0; l < state.scales(); ++l) {
    state.delta[l] = state.lambda[l] > 0.0;
  }
  state.gaussian.set_precision(from.phi);
  state.prior.set_epsilon(from.epsilon);
  state.block_variance = from.block_variance;
  state.inclusion.set_probability(from.probability);
  state.inclusion.set_markov(from.q0, from.q1);
  if (latent) {
    std::copy(from.latent.begin(), from.latent.end(), state.response());
    for (std::size_t k = 0; k < from.cuts.size(); ++k) {
      latent->set_cut(static_cast<Index>(k), from.cuts[k]);
    }
  }
  auto next = from.log_steps.begin();
  tally_.steps.for_each([&](auto& step) { step.set_log_sd(*next++); });
  if (joint_.on()) joint_.directions().restore(from.learned);
  state.rebuild_all();
}

void BarkChain::begin_run() {
  if (!search_.first_stage()) {
    take(search_.place());
  } else if (sweeps_ == 0) {
    first_ = checkpoint();
  } else {
    // Steps and what was learned are as they were, too.
    take(first_);
    begin();
  }
}

void BarkChain::end_run() {
  search_.keep(checkpoint());
  if (!search_.on()) take(search_.place());
}

void BarkChain::hold_noise() {
  PrecisionPrior& phi = state.prior.phi;
  if (latent || phi.kind == PrecisionPrior::Kind::fixed) return;
  phi.most = std::numeric_limits<double>::infinity();
  if (!search_.first_stage()) return;
  const double done = 2.0 * search_.share_done();
  const double square =
      state.response_square() / static_cast<double>(state.data.rows());
  if (done < 1.0 && square > 0.0) {
    phi.most = std::exp(kLastHold * done) / square;
  }
}

void BarkChain::move_kernels(Stream& stream) {
  const auto probability =
      state.prior.move_probability(state.population.kernels());
  const double u = stream.uniform();
  const double log_u = -stream.exponential();
  if (u < probability[0]) {
    const Index location = uniform_index(stream, state.data.locations());
    const double varphi = draw_varphi(state.prior, stream);
    if (tally_.decide(BarkMove::birth, kernels_.birth(location, varphi, log_u),
                      log_u)) {
      kernels_.accept_birth();
    }
  } else if (u < probability[0] + probability[1]) {
    const Index unit = state.population.draw_unit(stream.uniform());
    if (tally_.decide(BarkMove::death, kernels_.death(unit), log_u)) {
      kernels_.accept_death();
    }
  } else if (state.population.kernels() == 0) {
    return;
  } else if (stream.uniform() < 0.5) {
    const Index unit = uniform_index(stream, state.population.units());
    RandomWalkStep& step = tally_.steps.varphi;
    const double value =
        state.population.varphi(unit) * std::exp(step.sd() * stream.normal());
    const double ratio = value > Population::kSmallest
                             ? kernels_.varphi(unit, value)
                             : kNeverAccepted;
    if (tally_.walk(BarkMove::varphi, step, ratio, log_u)) {
      kernels_.accept_varphi();
    }
  } else {
    const Index unit = state.population.draw_unit(stream.uniform());
    const Index location = uniform_index(stream, state.data.locations());
    const double varphi = draw_varphi(state.prior, stream);
    if (tally_.decide(BarkMove::relocate,
                      kernels_.relocate(unit, location, varphi, log_u),
                      log_u)) {
      kernels_.accept_relocate();
    }
  }
}

void BarkChain::shift_kernel(Stream& stream) {
  if (state.population.columns() == 0) return;
  const Index column = uniform_index(stream, state.population.columns());
  const int power = kNearest * static_cast<int>(uniform_index(stream, 3));
  const Index location = kernels_.draw_neighbour(column, power, stream);
  if (location < 0) return;
  const double log_u = -stream.exponential();
  if (tally_.decide(BarkMove::shift, kernels_.shift(column, location), log_u)) {
    kernels_.accept_shift();
  }
}

void BarkChain::move_jointly(Stream& stream) {
  if (sweeps_ < warmup_ && sweeps_ % schedule.learn == 0) joint_.learn();
  if (stream.uniform() < schedule.joint_share) joint_.walk(stream);
}

void BarkChain::change_vector(Stream& stream) {
  if (state.population.columns() == 0) return;
  const Index column = uniform_index(stream, state.population.columns());
  const Index location = kernels_.draw_vector(column, stream);
  if (location < 0) return;
  const double log_u = -stream.exponential();
  if (tally_.decide(BarkMove::vector, kernels_.change_vector(column, location),
                    log_u)) {
    kernels_.accept_shift();
  }
}

void BarkChain::move_latents(Stream& stream) {
  if (sweeps_ % schedule.labels == 0) {
    move_by_labels(state, *latent, scales_, tally_, schedule, stream);
  } else {
    latent->sweep(stream);
  }
  latent->scale(stream);
  latent->translate(stream);
}
}  // namespace bayeskernel
