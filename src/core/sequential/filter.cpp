#include "sequential/filter.hpp"

#include <string>

#include "error.hpp"
#include "math/normal.hpp"
#include "optim/progress.hpp"
#include "rng/categorical.hpp"

namespace bayeskernel {
ParticleFilter::ParticleFilter(Grid& grid, const SubsetPrior& prior,
                               const FilterSettings& settings,
                               Executor& executor)
    : grid_(grid),
      prior_(prior),
      settings_(settings),
      executor_(executor),
      particles_(static_cast<std::size_t>(settings.particles)),
      next_(particles_.size()),
      log_weight_(particles_.size(), 0.0),
      gain_(particles_.size(), 0.0),
      options_(particles_.size()) {
  prior_.reach(grid_.points());
  for_each(Purpose::init, 0, [&](Index i, Stream& stream, ParticleWork& work) {
    Particle& particle = particles_[i];
    draw_set(particle, stream, work);
    particle.noise = settings_.first_noise.draw(stream, 0.0, 0.0);
    particle.coefficient_variance =
        settings_.first_coefficient_variance.draw(stream, 0.0, 0.0);
  });
}

void ParticleFilter::restore(std::vector<Particle> particles,
                             std::vector<double> log_weight) {
  particles_ = std::move(particles);
  log_weight_ = std::move(log_weight);
}

FilterStep ParticleFilter::step(const double* x, double y) {
  const Index before = grid_.points();
  const bool fresh = grid_.offer(x);
  const double size = static_cast<double>(settings_.particles);
  prior_.reach(grid_.points());
  offered_response_ = y;
  FilterStep out;
  if (settings_.corrected) {
    propose_moves(before, y);
  } else {
    include(fresh, y);
  }
  const std::vector<double> joint = joined();
  out.ess = effective_size(joint);
  const bool tempered = settings_.temper && !settings_.corrected &&
                        out.ess < settings_.temper_below * size;
  bool divided = false;
  if (!tempered) {
    take(joint, out);
  } else {
    out.stages = 0.0;
    out.ess = size;
    if (fresh) admit(out);
    divided = !settings_.classes;
    if (divided) {
      temper(y, out);
    } else {
      include(false, y);
      const std::vector<double> rest = joined();
      out.ess = std::min(out.ess, effective_size(rest));
      ++out.stages;
      take(rest, out);
    }
  }
  grid_.absorb(y);
  if (divided || settings_.ess >= 1.0 || out.ess < settings_.ess * size) {
    if (!divided) divide(kAfter);
    out.resampled = 1.0;
  }
  if (!settings_.corrected) {
    for_each(Purpose::kernels, kAfter,
             [&](Index i, Stream& stream, ParticleWork& work) {
               move(particles_[i], stream, work, 0.0, 0.0);
             });
  }
  describe(out);
  return out;
}

void ParticleFilter::finish(Index rounds) {
  divide(kFinish);
  for (Index r = 0; r < rounds; ++r) {
    for_each(Purpose::kernels, kFinish + static_cast<std::uint64_t>(r),
             [&](Index i, Stream& stream, ParticleWork& work) {
               if (grid_.rows() == 0) return;
               move(particles_[i], stream, work, 0.0, 0.0);
               refresh(particles_[i], stream, work,
                       static_cast<double>(grid_.rows()));
             });
  }
}

double ParticleFilter::log_predictive(const NextRow& f, double noise, double y,
                                      double power) const {
  if (settings_.blind) return 0.0;
  if (settings_.classes) {
    return log_normal_cdf(y * f.mean / std::sqrt(1.0 + f.variance));
  }
  const double total = noise + power * f.variance, left = y - f.mean;
  return -power * (detail::kLogSqrtTwoPi + 0.5 * std::log(noise)) -
         0.5 * std::log(total / noise) - 0.5 * power * left * left / total;
}

void ParticleFilter::draw_set(Particle& particle, Stream& stream,
                              ParticleWork& work) const {
  const Index g = grid_.points();
  const Index k =
      categorical(stream.uniform(), prior_.most(g) + 1,
                  [&](Index m) { return std::exp(prior_.log_size(m, g)); });
  while (particle.size() < k) {
    particle.centres.push_back(
        work.vacant(particle, uniform_index(stream, g - particle.size())));
  }
}

auto ParticleFilter::weigh(const Particle& particle, bool fresh,
                           ParticleWork& work) const -> Options {
  const Index k = particle.size(), g = grid_.points();
  Options out;
  out.without = work.next(particle, grid_);
  if (!fresh) return out;
  out.log_without = prior_.log(k, g) - prior_.log(k, g - 1);
  const auto take = [&](Index gone) {
    const Entry each = entry(particle, gone, out.without, work);
    if (!(each.log > kNone)) return;
    out.with[out.entries++] = each;
    out.log_with = log_sum(out.log_with, each.log);
  };
  const auto& near = grid_.neighbors(g - 1);
  const auto end = near.begin() + replaceable();
  work.make_ready(particle, grid_, near, replaceable());
  if (k < prior_.most(g)) take(-1);
  for (Index at = 0; at < k; ++at) {
    if (std::find(near.begin(), end, particle.centres[at]) != end) take(at);
  }
  return out;
}

auto ParticleFilter::entry(const Particle& particle, Index gone,
                           const NextRow& without, ParticleWork& work,
                           double log_birth, double log_swap) const -> Entry {
  const Index g = grid_.points(), k = particle.size();
  const bool swapped = gone >= 0;
  const Index left = swapped ? k - 1 : k;
  const double past = prior_.log(k, g - 1);
  const double removed = swapped ? work.remove(gone) : 0.0;
  // Sets that it may have been before, over U'.
  std::vector<double>& before = work.terms;
  before.assign(1, log_birth + prior_.log(left, g - 1) - past + removed);
  if (left < prior_.most(g - 1)) {
    const double more = prior_.log(left + 1, g - 1) - past + removed;
    const auto& near = grid_.neighbors(g - 1);
    for (Index j = 0; j < replaceable(); ++j) {
      if (swapped && near[j] == particle.centres[gone]) {
        before.push_back(log_swap);
      } else if (!particle.has(near[j])) {
        before.push_back(
            number(log_swap + more +
                   work.propose_ready(particle, grid_, near, j, swapped)));
      }
    }
  }
  Entry out;
  out.gone = gone;
  const double change = work.propose(particle, grid_, g - 1, swapped);
  out.row = work.next_with(grid_, g - 1,
                           swapped ? work.next_without(without) : without);
  out.log = number(prior_.log(left + 1, g) - past + removed + change -
                   log_total_weight(before));
  return out;
}

double ParticleFilter::log_sum(double a, double b) {
  const double most = std::max(a, b);
  if (!std::isfinite(most)) return most;
  return most + std::log1p(std::exp(std::min(a, b) - most));
}

std::pair<double, double> ParticleFilter::log_options(const Options& o,
                                                      double noise, double y,
                                                      double power) const {
  double with = kNone;
  for (Index e = 0; e < o.entries; ++e) {
    with = log_sum(
        with, o.with[e].log + log_predictive(o.with[e].row, noise, y, power));
  }
  const double a = o.log_without + log_predictive(o.without, noise, y, power);
  return {log_sum(a, with), with};
}

auto ParticleFilter::choose(const Options& o, double u, double noise, double y,
                            double power) const -> const Entry& {
  const double all = log_options(o, noise, y, power).second;
  return o.with[categorical(u, o.entries, [&](Index e) {
    return std::exp(o.with[e].log +
                    log_predictive(o.with[e].row, noise, y, power) - all);
  })];
}

void ParticleFilter::include(bool fresh, double y) {
  for_each(Purpose::selection, 0,
           [&](Index i, Stream& stream, ParticleWork& work) {
             Particle& particle = next_[i] = particles_[i];
             load(particle, work);
             const Options options = weigh(particle, fresh, work);
             const auto log = log_options(options, particle.noise, y, 1.0);
             gain_[i] = number(log.first);
             NextRow row = options.without;
             if (std::log(stream.uniform()) < log.second - log.first) {
               const Entry& in =
                   choose(options, stream.uniform(), particle.noise, y, 1.0);
               row = in.row;
               if (in.gone >= 0) work.drop(particle, grid_, in.gone);
               work.propose(particle, grid_, grid_.points() - 1);
               work.accept(particle, grid_, grid_.points() - 1);
             }
             take_row(particle, row, y, stream, work);
           });
}

void ParticleFilter::take_row(Particle& particle, const NextRow& f, double y,
                              Stream& stream, ParticleWork& work) {
  double response = y;
  if (settings_.classes) {
    response = on_side(y, f.mean, std::sqrt(1.0 + f.variance), stream);
    particle.latent.push_back(response);
  }
  if (!settings_.blind) work.add_row(particle, grid_, response);
  refresh(particle, stream, work, static_cast<double>(grid_.rows() + 1));
}

void ParticleFilter::refresh(Particle& particle, Stream& stream,
                             ParticleWork& work, double rows) {
  const VectorXd& beta = work.beta;
  work.draw([&] { return stream.normal(); });
  double squares = 0.0;
  for (Index j = 0; j <= particle.size(); ++j) squares += beta[j] * beta[j];
  const double k = static_cast<double>(particle.size() + 1);
  if (settings_.classes) {
    redraw_latent(particle, stream, work);
  } else {
    const double left = std::max(work.residual_square(), 0.0);
    particle.noise =
        settings_.noise.draw(stream, settings_.blind ? 0.0 : rows, left);
  }
  particle.coefficient_variance =
      settings_.coefficient_variance.draw(stream, k, squares);
}

void ParticleFilter::redraw_latent(Particle& particle, Stream& stream,
                                   ParticleWork& work) {
  const Index n = count_of(particle.latent);
  const Index kept = std::min(n, grid_.rows());
  work.latent.setConstant(n, work.beta[0]);
  for (Index j = 1; j <= particle.size(); ++j) {
    const Index c = particle.centres[j - 1];
    work.latent.head(kept) += work.beta[j] * VectorMap(grid_.values(c), kept);
    if (n > kept) work.latent[kept] += work.beta[j] * grid_.offered(c + 1);
  }
  for (Index s = 0; s < n; ++s) {
    const double y = s < kept ? grid_.response()[s] : offered_response_;
    particle.latent[s] = on_side(y, work.latent[s], 1.0, stream);
  }
}

void ParticleFilter::propose_moves(Index before, double y) {
  const bool fresh = grid_.points() > before;
  for_each(
      Purpose::selection, 0, [&](Index i, Stream& stream, ParticleWork& work) {
        Particle& particle = next_[i] = particles_[i];
        load(particle, work);
        const double log = settings_.printed
                               ? propose_printed(particle, stream, work)
                               : propose_move(particle, fresh, stream, work);
        const NextRow f = work.next(particle, grid_);
        gain_[i] = number(log + log_predictive(f, particle.noise, y, 1.0));
        take_row(particle, f, y, stream, work);
      });
}

double ParticleFilter::propose_printed(Particle& particle, Stream& stream,
                                       ParticleWork& work) const {
  const Index g = grid_.points(), old = particle.size();
  // There k is at least 1, and 0 before the first row alone.
  const bool none = old == 0 && prior_.most(g) > 0;
  const double birth = none ? 1.0 : prior_.birth(old, g);
  const double death = old == 1 ? 0.0 : prior_.death(old);
  const double u = stream.uniform();
  double change = 0.0;
  if (u < birth) {
    const Index c = work.vacant(particle, uniform_index(stream, g - old));
    change = work.propose(particle, grid_, c);
    work.accept(particle, grid_, c);
  } else if (u < birth + death) {
    const Index at = uniform_index(stream, old);
    change = work.remove(at);
    work.drop(particle, grid_, at);
  }
  return change + prior_.printed_ratio(old, particle.size(), g);
}

double ParticleFilter::propose_move(Particle& particle, bool fresh,
                                    Stream& stream, ParticleWork& work) const {
  const Index g = grid_.points(), before = fresh ? g - 1 : g;
  const Index old = particle.size();
  const std::vector<Index> near =
      fresh ? near_centres(particle) : std::vector<Index>();
  const double birth = prior_.birth(old, g), death = prior_.death(old);
  const double swap = near.empty() ? 0.0 : exchange(old);
  const double u = stream.uniform();
  const auto prior = [&](Index k) {
    return prior_.log(k, g) - prior_.log(old, before);
  };
  if (u < birth) {
    const Index c = work.vacant(particle, uniform_index(stream, g - old));
    if (c == before) return bring_in(particle, -1, work);
    const double change = work.propose(particle, grid_, c);
    work.accept(particle, grid_, c);
    return prior(old + 1) + std::min(change, 0.0) +
           std::log(static_cast<double>(g - old) / birth *
                    prior_.death(old + 1) / static_cast<double>(old + 1));
  }
  if (u < birth + death) {
    const Index at = uniform_index(stream, old);
    const double change = work.remove(at);
    work.drop(particle, grid_, at);
    return prior(old - 1) + std::min(change, 0.0) +
           std::log(static_cast<double>(old) / death *
                    prior_.birth(old - 1, before) /
                    static_cast<double>(before - old + 1));
  }
  if (u < birth + death + swap) {
    return bring_in(particle, near[uniform_index(stream, count_of(near))],
                    work);
  }
  return prior(old) + std::log(stayed(particle, before, stream, work) /
                               (prior_.stay(old, g) - swap));
}

double ParticleFilter::stayed(const Particle& particle, Index before,
                              Stream& stream, ParticleWork& work) const {
  const Index k = particle.size();
  const auto refused = [](double change) {
    return std::isnan(change) ? 1.0 : 1.0 - std::exp(std::min(change, 0.0));
  };
  double out = prior_.stay(k, before);
  for (Index at = 0; at < k; ++at) {
    out += prior_.death(k) / static_cast<double>(k) * refused(work.remove(at));
  }
  const double birth = prior_.birth(k, before);
  if (birth > 0.0) {
    const Index c = work.vacant(particle, uniform_index(stream, before - k));
    out += birth * refused(work.propose(particle, grid_, c));
  }
  return out;
}

std::vector<Index> ParticleFilter::near_centres(
    const Particle& particle) const {
  const auto& near = grid_.neighbors(grid_.points() - 1);
  const auto end = near.begin() + replaceable();
  std::vector<Index> out;
  for (Index at = 0; at < particle.size(); ++at) {
    if (std::find(near.begin(), end, particle.centres[at]) != end) {
      out.push_back(at);
    }
  }
  return out;
}

double ParticleFilter::bring_in(Particle& particle, Index gone,
                                ParticleWork& work) const {
  const Index g = grid_.points(), point = g - 1;
  const Index left = particle.size() - (gone >= 0 ? 1 : 0);
  const Index others = count_of(near_centres(particle)) - (gone >= 0 ? 1 : 0);
  work.make_ready(particle, grid_, grid_.neighbors(point), replaceable());
  const double birth = prior_.birth(left, g) / static_cast<double>(g - left);
  const double swap = exchange(left + 1) / static_cast<double>(others + 1);
  const Entry in = entry(particle, gone, work.next(particle, grid_), work,
                         std::log(birth), std::log(swap));
  if (gone >= 0) work.drop(particle, grid_, gone);
  work.propose(particle, grid_, point);
  work.accept(particle, grid_, point);
  return in.log;
}

void ParticleFilter::admit(FilterStep& out) {
  const double least =
      settings_.temper_to * static_cast<double>(settings_.particles);
  const Index point = grid_.points() - 1;
  for_each(Purpose::selection, kAdmitted,
           [&](Index i, Stream&, ParticleWork& work) {
             load(particles_[i], work);
             options_[i] = weigh(particles_[i], true, work);
           });
  double factor = kNone;  // its log
  for (std::uint64_t stage = kAdmitted; factor < 0.0; ++stage) {
    const bool first = stage == kAdmitted;
    const auto weights = [&](double next) {
      std::vector<double> at(log_weight_);
      for (std::size_t i = 0; i < at.size(); ++i) {
        const Options& o = options_[i];
        at[i] += first ? log_sum(o.log_without, o.log_with + next)
                       : (particles_[i].has(point) ? next - factor : 0.0);
        at[i] = number(at[i]);
      }
      return at;
    };
    const double next =
        largest(first ? faintest() : factor, 0.0, least, weights);
    const std::vector<double> joint = weights(next);
    out.ess = std::min(out.ess, effective_size(joint));
    if (first) {
      for_each(Purpose::selection, stage + kTempered,
               [&](Index i, Stream& stream, ParticleWork&) {
                 const Options& o = options_[i];
                 const double with = o.log_with + next;
                 if (!(std::log(stream.uniform()) <
                       with - log_sum(o.log_without, with))) {
                   return;
                 }
                 auto& centres = particles_[i].centres;
                 const Entry& in = choose(o, stream.uniform(), 1.0, 0.0, 0.0);
                 if (in.gone >= 0) {
                   centres[in.gone] = centres.back();
                   centres.pop_back();
                 }
                 centres.push_back(point);
               });
    }
    collect(joint, stage, out);
    factor = next;
    for_each(Purpose::kernels, stage,
             [&](Index i, Stream& stream, ParticleWork& work) {
               move(particles_[i], stream, work, 0.0, 0.0, factor);
               refresh(particles_[i], stream, work,
                       static_cast<double>(grid_.rows()));
             });
  }
}

void ParticleFilter::temper(double y, FilterStep& out) {
  const double least =
      settings_.temper_to * static_cast<double>(settings_.particles);
  double power = 0.0;
  for (std::uint64_t stage = 1; power < 1.0; ++stage) {
    for_each(Purpose::selection, stage,
             [&](Index i, Stream&, ParticleWork& work) {
               load(particles_[i], work, power, y);
               options_[i] = weigh(particles_[i], false, work);
             });
    const auto weights = [&](double part) {
      std::vector<double> at(log_weight_);
      for (std::size_t i = 0; i < at.size(); ++i) {
        at[i] = number(at[i] + log_predictive(options_[i].without,
                                              particles_[i].noise, y, part));
      }
      return at;
    };
    const double left = 1.0 - power;
    const double part =
        std::max(largest(0.0, left, least, weights), 1e-3 * left);
    const double reached = part >= left ? 1.0 : power + part;
    const std::vector<double> joint = weights(reached - power);
    out.ess = std::min(out.ess, effective_size(joint));
    power = reached;
    collect(joint, stage, out);
    for_each(Purpose::kernels, stage,
             [&](Index i, Stream& stream, ParticleWork& work) {
               move(particles_[i], stream, work, power, y);
               refresh(particles_[i], stream, work,
                       static_cast<double>(grid_.rows()) + power);
             });
  }
}

void ParticleFilter::collect(const std::vector<double>& joint,
                             std::uint64_t stage, FilterStep& out) {
  FilterStep told;
  advance(joint, told);
  out.log_evidence += told.log_evidence;
  divide(stage);
  ++out.stages;
}

std::vector<double> ParticleFilter::joined() const {
  std::vector<double> out(log_weight_);
  for (std::size_t i = 0; i < out.size(); ++i) out[i] += gain_[i];
  return out;
}

void ParticleFilter::advance(const std::vector<double>& joint,
                             FilterStep& out) {
  out.log_evidence = log_mean_weight(joint);
  if (!std::isfinite(out.log_evidence)) {
    throw NumericError("no particle explains row " +
                       std::to_string(grid_.rows() + 1));
  }
  for (std::size_t i = 0; i < joint.size(); ++i) {
    log_weight_[i] = joint[i] - out.log_evidence;
  }
}

void ParticleFilter::take(const std::vector<double>& joint, FilterStep& out) {
  FilterStep told;
  advance(joint, told);
  out.log_evidence += told.log_evidence;
  particles_.swap(next_);
}

void ParticleFilter::divide(std::uint64_t stage) {
  Stream stream(settings_.seed, 0, Purpose::resample,
                static_cast<std::uint64_t>(grid_.rows()), stage);
  const std::vector<Index> parent =
      resample(log_weight_, settings_.resampling, stream);
  for (std::size_t i = 0; i < parent.size(); ++i) {
    next_[i] = particles_[static_cast<std::size_t>(parent[i])];
  }
  particles_.swap(next_);
  std::fill(log_weight_.begin(), log_weight_.end(), 0.0);
}

void ParticleFilter::describe(FilterStep& out) const {
  double total = 0.0;
  for (std::size_t i = 0; i < particles_.size(); ++i) {
    const double w = std::exp(log_weight_[i]);
    total += w;
    out.kernels += w * static_cast<double>(particles_[i].size());
    out.noise += w * particles_[i].noise;
  }
  out.kernels /= total;
  out.noise /= total;
}

void ParticleFilter::move(Particle& particle, Stream& stream,
                          ParticleWork& work, double power, double y,
                          double admission) {
  load(particle, work, power, y);
  for (Index s = 0; s < settings_.sweeps; ++s) {
    const double kind = 3.0 * stream.uniform();
    if (kind < 1.0) {
      try_birth(particle, stream, work, admission);
    } else if (kind < 2.0) {
      try_death(particle, stream, work, admission);
    } else {
      try_swap(particle, stream, work, admission);
    }
  }
}

void ParticleFilter::try_birth(Particle& particle, Stream& stream,
                               ParticleWork& work, double admission) {
  const Index k = particle.size(), g = grid_.points();
  if (k >= prior_.most(g)) return;
  const Index c = work.vacant(particle, uniform_index(stream, g - k));
  const double ratio = work.propose(particle, grid_, c) +
                       admitted(c, admission) +
                       std::log(prior_.lambda() / static_cast<double>(k + 1));
  if (std::log(stream.uniform()) < ratio) work.accept(particle, grid_, c);
}

void ParticleFilter::try_death(Particle& particle, Stream& stream,
                               ParticleWork& work, double admission) {
  const Index k = particle.size();
  if (k == 0) return;
  const Index at = uniform_index(stream, k);
  const double ratio = work.remove(at) -
                       admitted(particle.centres[at], admission) +
                       std::log(static_cast<double>(k) / prior_.lambda());
  if (std::log(stream.uniform()) < ratio) work.drop(particle, grid_, at);
}

void ParticleFilter::try_swap(Particle& particle, Stream& stream,
                              ParticleWork& work, double admission) {
  const Index k = particle.size(), g = grid_.points();
  if (k == 0 || k >= g) return;
  const Index at = uniform_index(stream, k);
  const bool near = stream.uniform() < 0.5;
  double ratio = 0.0;
  const Index c = near ? near_point(particle, at, stream, ratio)
                       : work.vacant(particle, uniform_index(stream, g - k));
  if (c < 0) return;
  ratio += admitted(c, admission) - admitted(particle.centres[at], admission);
  ratio += work.remove(at);
  ratio += work.propose(particle, grid_, c, true);
  if (!(std::log(stream.uniform()) < ratio)) return;
  work.drop(particle, grid_, at);
  work.propose(particle, grid_, c);
  work.accept(particle, grid_, c);
}

Index ParticleFilter::near_point(const Particle& particle, Index at,
                                 Stream& stream, double& ratio) const {
  const auto is_centre = [&](Index c) { return particle.has(c); };
  const Index old = particle.centres[at];
  const auto& there = grid_.neighbors(old);
  Index open = 0;
  for (const Index c : there) open += is_centre(c) ? 0 : 1;
  if (open == 0) return -1;
  Index r = uniform_index(stream, open), next = -1;
  for (const Index c : there) {
    if (!is_centre(c) && r-- == 0) {
      next = c;
      break;
    }
  }
  // After the swap `old` is open and `next` is not; it is no neighbor of
  // itself.
  Index back = 0;
  bool mutual = false;
  for (const Index c : grid_.neighbors(next)) {
    mutual = mutual || c == old;
    back += c == old || !is_centre(c) ? 1 : 0;
  }
  if (!mutual) return -1;
  ratio = std::log(static_cast<double>(open) / static_cast<double>(back));
  return next;
}

double ParticleFilter::faintest() const {
  constexpr double kLeast = 0.1;
  const auto chance = [&](double factor) {
    std::vector<double> with(log_weight_), all(log_weight_);
    for (std::size_t i = 0; i < all.size(); ++i) {
      const Options& o = options_[i];
      with[i] = number(with[i] + o.log_with + factor);
      all[i] = number(all[i] + log_sum(o.log_without, o.log_with + factor));
    }
    return std::exp(log_mean_weight(with) - log_mean_weight(all));
  };
  double low = -1000.0, high = 0.0;
  if (!(chance(high) > kLeast)) return high;
  for (int k = 0; k < 40; ++k) {
    const double middle = 0.5 * (low + high);
    (chance(middle) > kLeast ? high : low) = middle;
  }
  return high;
}
}  // namespace bayeskernel
