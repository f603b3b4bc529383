#include "linear/stochastic.hpp"

#include "error.hpp"
#include "likelihood/rules.hpp"
#include "linear/moments.hpp"
#include "math/cholesky.hpp"
#include "math/spd.hpp"

namespace bayeskernel {
StochasticFit::StochasticFit(const RowSource& rows, const Prior& prior,
                             Executor& executor,
                             const StochasticSettings& settings,
                             const RowMap& map, const RowModel& model,
                             const RemoteMinibatches* remote)
    : rows_(rows),
      prior_(prior),
      settings_(settings),
      model_(model),
      rules_(model),
      p_(prior.columns()),
      r_(rows.z_columns()),
      remote_(remote),
      batches_(rows, settings,
               remote != nullptr ? remote->chunk_rows : std::vector<Index>()),
      derived_(map && remote == nullptr ? map(batches_.rows()) : nullptr),
      pass_(
          derived_ ? static_cast<const RowSource&>(*derived_) : batches_.rows(),
          executor),
      estimate_(p_),
      current_(p_),
      average_(p_),
      system_(p_, 0, 0),
      q_(p_, 0, 0),
      group_shift_(MatrixXd::Zero(r_, rows.groups())),
      precision_(prior.start()),
      noise_(start_noise(model.noise)) {
  whole_.cross.setZero(p_, r_ * rows.groups());
  whole_.group_gram.setZero(r_, r_ * rows.groups());
  if (model.completions != nullptr) {
    throw ArgumentError("minibatches split the completions of a row");
  }
  if (remote != nullptr && rows.groups() > 0) {
    throw ArgumentError("minibatches of groups are where their rows are");
  }
}

bool StochasticFit::run(const KeepGoing& keep_going, const Visit& visit) {
  const Index per_epoch = batches_.steps_of_epoch();
  const Index total = per_epoch * settings_.epochs;
  watch_.length = std::max<Index>(50, per_epoch);
  adaptive_.first = std::clamp<Index>(total / 4, 1, adaptive_.first);
  for (int e = 0; e < settings_.epochs && !settled_; ++e) {
    const bool finished = batches_.epoch(e, [&] {
      const Index before = steps_;
      const bool in_average = 2 * (steps_ + 1) > total;
      take_step(in_average);
      if (visit && remote_ == nullptr && !in_average && steps_ > before) {
        visit(batches_.rows(), q_, scale_);
      }
      return !settled_ && keep_going({static_cast<double>(steps_),
                                      static_cast<double>(total), "epochs"});
    });
    if (!finished && !settled_) {
      if (averaged_ == 0) average_ = current_;
      return false;
    }
    const bool last = settled_ || e + 1 == settings_.epochs;
    // Large groups make fewer steps than were planned.
    if (last && averaged_ == 0) average_ = current_;
    update_precisions(last ? average_ : current_);
  }
  return true;
}

MeanFieldStart StochasticFit::state() {
  MeanFieldStart out;
  ArrowSystem system(p_, r_, rows_.groups());
  out.mean = whole_point(average_, system);
  out.curvature = whole_;
  out.precision = precision_;
  out.noise = noise_;
  return out;
}

StochasticFit::Statistics::Statistics(Index p) : h(VectorXd::Zero(p)) {
  a().setZero(p, p);
}

void StochasticFit::Statistics::approach(const Statistics& other, double rho) {
  a() += rho * (other.a() - a());
  h += rho * (other.h - h);
}

void StochasticFit::take_step(bool in_average) {
  if (rows_.groups() > 0) {
    group_estimate();
  } else {
    make_estimate(steps_ > 0 ? &q_ : nullptr);
  }
  const double least = std::pow(static_cast<double>(steps_) + 1.0, -0.7);
  double rho = least;
  if (settings_.rate == StochasticSettings::Rate::adaptive) {
    rho = adaptive_rate(least);
    if (rho <= 0.0) return;
  }
  const bool watched = settings_.tolerance > 0.0 && steps_ > 0;
  current_.approach(estimate_, rho);
  update_noise(rho);
  ++steps_;
  if (in_average || watched) {
    if (watched && watch_.steps == 0) averaged_ = 0;
    ++averaged_;
    average_.approach(current_, 1.0 / static_cast<double>(averaged_));
  }
  if (watched) watch();
  move_to(current_);
}

void StochasticFit::pass(const GaussianPosterior* q) {
  if (remote_ != nullptr) {
    sums_.clear(p_, false);
    remote_->pass(batches_.place(), settings_, q, noise_.precision, sums_);
    return;
  }
  Moments at;
  at.q = q;
  rules_.set_noise(noise_.noise());
  pass_.run(at, q != nullptr ? rules_.later() : rules_.start(), Second::none,
            sums_);
}

void StochasticFit::update_noise(double rho) {
  if (!model_.learns_noise()) return;
  const NoisePosterior seen = noise_;
  bayeskernel::update_noise(model_.noise, seen.precision, scale_ * sums_.power,
                            scale_ * sums_.squares, noise_);
  if (steps_ == 0) return;
  noise_.shape = seen.shape + rho * (noise_.shape - seen.shape);
  noise_.rate = seen.rate + rho * (noise_.rate - seen.rate);
  noise_.precision = noise_.shape / noise_.rate;
}

void StochasticFit::make_estimate(const GaussianPosterior* q) {
  if (derived_) derived_->refresh();
  // The sums become the estimate, whose place they take.
  sums_.curvature.gram.swap(estimate_.a());
  pass(q);
  sums_.curvature.gram.swap(estimate_.a());
  estimate_.h = sums_.linear.x;
  // The gradient is h - A theta; at c = 1 it is taken at theta = 0.
  if (q != nullptr) {
    estimate_.h.noalias() +=
        estimate_.a().selfadjointView<Eigen::Lower>() * q->mean.x;
  }
  batch_bound_ = sums_.bound;
  rescale();
}

void StochasticFit::rescale() {
  scale_ =
      static_cast<double>(rows_.rows()) / static_cast<double>(batches_.size());
  estimate_.a() *= scale_;
  estimate_.h *= scale_;
}

double StochasticFit::adaptive_rate(double least) {
  Adaptive& to = adaptive_;
  MatrixXd a = -0.5 * (estimate_.a() - current_.a());
  a = a.selfadjointView<Eigen::Lower>();
  const VectorXd h = estimate_.h - current_.h;
  const double squared = a.squaredNorm() + h.squaredNorm();
  if (to.seen == 0) {
    to.a.setZero(p_, p_);
    to.h.setZero(p_);
  }
  ++to.seen;
  const double step =
      to.seen <= to.first ? 1.0 / static_cast<double>(to.seen) : 1.0 / to.tau;
  to.a += step * (a - to.a);
  to.h += step * (h - to.h);
  to.squared += step * (squared - to.squared);
  if (to.seen < to.first) return 0.0;
  const double rho =
      std::min(1.0, (to.a.squaredNorm() + to.h.squaredNorm()) / to.squared);
  to.tau = (1.0 - rho) * to.tau + 1.0;
  return std::max(rho, least);
}

void StochasticFit::watch() {
  const double bound = scale_ * batch_bound_ + 0.5 * q_.log_det() +
                       0.5 * static_cast<double>(p_) +
                       prior_.fixed_bound(q_.mean.x, q_.theta_variance());
  Watch& block = watch_;
  ++block.steps;
  const double gap = bound - block.sum;
  block.sum += gap / static_cast<double>(block.steps);
  block.squares += gap * (bound - block.sum);
  if (block.steps < block.length) return;
  const double n = static_cast<double>(block.steps);
  const double error = std::sqrt(block.squares / (n * (n - 1.0)));
  if (!block.mean.empty()) {
    const double change = std::abs(block.sum - block.mean.back());
    const double most =
        std::max(settings_.tolerance * std::abs(block.sum), error);
    block.calm = change < most ? block.calm + 1 : 0;
  }
  block.mean.push_back(block.sum);
  settled_ = block.calm >= 2;
  block.steps = 0;
  block.sum = block.squares = 0.0;
}

void StochasticFit::move_to(const Statistics& at) {
  system_.factor(at.curvature, prior_, precision_);
  ArrowVector rhs(p_, 0, 0);
  rhs.x = at.h + prior_.precision.cwiseProduct(prior_.mean);
  system_.solve(rhs, q_.mean);
  q_.set_covariance(system_);
}

double StochasticFit::group_bound(const GaussianPosterior& q,
                                  const ArrowSystem& system,
                                  const MatrixXd& precision) const {
  const double groups = static_cast<double>(q.mean.group.cols());
  const MatrixXd moment = q.second_moment(*prior_.eliminated());
  const double log_det = spd_log_det(precision);
  return 0.5 * groups * (log_det + static_cast<double>(r_)) -
         0.5 * precision.cwiseProduct(moment).sum() -
         0.5 * system.groups().log_det();
}

ArrowVector StochasticFit::whole_point(const Statistics& at,
                                       ArrowSystem& system) {
  ArrowVector rhs(p_, r_, rows_.groups());
  whole_.gram = at.a();
  rhs.x = at.h + prior_.precision.cwiseProduct(prior_.mean);
  rhs.group = group_shift_;
  if (rows_.groups() > 0) {
    EliminatedGroups eliminated(p_, r_, rows_.groups());
    eliminated.factor(whole_, prior_.eliminated_precision(precision_));
    MatrixXd taken = MatrixXd::Zero(p_, p_);
    eliminated.subtract_from(whole_, taken);
    whole_.gram -= taken;
    VectorXd h = VectorXd::Zero(p_);
    eliminated.subtract_from(rhs, h);
    rhs.x -= h;
  }
  system.factor(whole_, prior_, precision_);
  ArrowVector point(p_, r_, rows_.groups());
  system.solve(rhs, point);
  return point;
}

void StochasticFit::update_precisions(const Statistics& at) {
  if (prior_.blocks.empty()) {
    move_to(at);
    return;
  }
  ArrowSystem system(p_, r_, rows_.groups());
  GaussianPosterior q(p_, r_, rows_.groups());
  q.mean = whole_point(at, system);
  q.set_covariance(system);
  for (std::size_t l = 0; l < prior_.blocks.size(); ++l) {
    const Block& block = prior_.blocks[l];
    precision_[l] = Prior::expected_precision(
        block, Prior::posterior(block, q.second_moment(block), precision_[l]));
  }
  move_to(at);
}

void StochasticFit::group_estimate() {
  constexpr int kMost = 20;
  const Index groups = batches_.rows().groups();
  const MatrixXd& precision = prior_.eliminated_precision(precision_);
  sums_ = Sums(p_, r_, groups);
  EliminatedGroups eliminated(p_, r_, groups);
  ArrowSystem system(p_, r_, groups);
  GaussianPosterior q(p_, r_, groups);
  ArrowVector h;
  pass(nullptr);
  double before = 0.0;
  for (int k = 0; k < kMost; ++k) {
    // From the gradient at a point to h.
    h = sums_.linear;
    if (k > 0) add_product(sums_.curvature, q.mean, 1.0, h);
    eliminated.factor(sums_.curvature, precision);
    MatrixXd taken = MatrixXd::Zero(p_, p_);
    eliminated.subtract_from(sums_.curvature, taken);
    estimate_.a() = sums_.curvature.gram + taken;
    estimate_.h = h.x;
    eliminated.subtract_from(h, estimate_.h);
    if (steps_ == 0 || k + 1 == kMost) break;
    if (k > 1 &&
        std::abs(sums_.bound - before) < 1e-6 * (1.0 + std::abs(sums_.bound))) {
      break;
    }
    before = sums_.bound;
    // S_c of this system is that of q(theta): what elimination takes away
    // is added before.
    Curvature local = sums_.curvature;
    local.gram = current_.a() - taken;
    system.factor(local, prior_, precision_);
    q.set_covariance(system);
    q.mean.x = q_.mean.x;
    eliminated.back_substitute(h, q.mean);
    pass(&q);
    batch_bound_ = sums_.bound + group_bound(q, system, precision);
  }
  for (Index g = 0; g < groups; ++g) {
    const Index to = batches_.groups()[g];
    whole_.cross.middleCols(to * r_, r_) =
        sums_.curvature.cross.middleCols(g * r_, r_);
    whole_.group_gram.middleCols(to * r_, r_) =
        sums_.curvature.group_gram.middleCols(g * r_, r_);
    group_shift_.col(to) = h.group.col(g);
  }
  rescale();
}
}  // namespace bayeskernel
