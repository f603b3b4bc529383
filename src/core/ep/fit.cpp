#include "ep/fit.hpp"

#include "ep/start.hpp"
#include "error.hpp"
#include "math/cholesky.hpp"
#include "math/spd.hpp"

namespace bayeskernel {
bool combine(const std::vector<const SiteMessages*>& from,
             const std::vector<double>& weight, SiteMessages& out) {
  const auto sum = [&](VectorXd SiteMessages::*member) {
    VectorXd to = weight[0] * (from[0]->*member);
    for (std::size_t k = 1; k < from.size(); ++k) {
      to += weight[k] * (from[k]->*member);
    }
    return to;
  };
  VectorXd kappa = sum(&SiteMessages::kappa);
  if ((kappa.array() < 0.2 * from[0]->kappa.array()).any()) return false;
  VectorXd b = sum(&SiteMessages::b);
  out.kappa.swap(kappa);
  out.b.swap(b);
  return true;
}

bool combine_messages(const std::vector<const EpState*>& from,
                      const std::vector<double>& weight, EpState& out) {
  if (!from[0]->copy) return combine({from.begin(), from.end()}, weight, out);
  const RemoteMessages& where = from[0]->copy->where;
  std::vector<int> copies;
  for (const EpState* state : from) copies.push_back(state->copy->number);
  const int found = where.combine(copies, weight);
  if (found < 0) return false;
  out.copy = std::make_shared<RemoteCopy>(where, found);
  return true;
}

void add_sums(const EpState& from, double weight, EpState& to) {
  to.curvature.gram += weight * from.curvature.gram;
  to.curvature.cross += weight * from.curvature.cross;
  to.curvature.group_gram += weight * from.curvature.group_gram;
  to.shift.x += weight * from.shift.x;
  to.shift.group += weight * from.shift.group;
}

EpFit::EpFit(const RowSource& rows, const Prior& prior, Executor& executor,
             Family family, const Completions* completions, bool row_moments,
             ConditionalVariance* open, SelectionSites* columns)
    : sites(rows.rows(), row_moments),
      rows_(rows),
      prior_(prior),
      family_(family),
      open_(open),
      columns_(columns),
      executor_(executor),
      responsibilities_(family, completions),
      pass_(rows, executor, family, sites, &responsibilities_),
      rule_(pass_.rule),
      system_(rows.x_columns(), rows.z_columns(), rows.groups(), &executor),
      q_(rows.x_columns(), rows.z_columns(), rows.groups()),
      sums_(rows.x_columns(), rows.z_columns(), rows.groups()),
      gradient_(rows.x_columns(), rows.z_columns(), rows.groups()),
      step_(gradient_) {
  moments_.q = &q_;
  if (open_ != nullptr) {
    open_->set(prior.start());
    sites.residual_slope = VectorXd::Zero(rows.rows());
  }
  if (rows.rows() > 0) {
    MatrixXd buffer;
    rows.load(0, -1);
    residuals_ = rows.tile(rows.tiles()[0], buffer).residual.size() > 0;
  }
  set(prior.start(), 1.0);
}

void EpFit::watch(KeepGoing keep_going) {
  keep_going_ = std::move(keep_going);
  pass_.watch([this](double) { return keep_going_(progress_); });
}

void EpFit::delegate(RemoteSites remote,
                     std::optional<RemoteMessages> messages) {
  sites = SiteRows();
  messages_ = std::move(messages);
  pass_.delegate(std::move(remote));
}

void EpFit::delegate(RemoteSites remote, SiteMirror mirror) {
  mirror_ = std::move(mirror);
  pass_.delegate(std::move(remote));
}

void EpFit::set(std::vector<MatrixXd> precision, double noise_variance) {
  precision_ = std::move(precision);
  if (open_ != nullptr) {
    open_->set(precision_);
    // The messages of gaussian rows are those of their residuals.
    if (family_ == Family::gaussian) started_ = false;
  }
  if (family_ == Family::gaussian) scale_noise(noise_variance);
  read_prior();
}

EpResult EpFit::run(const EpSettings& settings) {
  EpResult result;
  if (!started_) start(result);
  EpSettings own = settings;
  if (columns_ != nullptr && own.damping == 0.0) own.damping = 0.5;
  if (changed_ && mirror_.push) mirror_.push(sites);
  changed_ = false;
  settle(
      rule_, family_, own, [&] { solve(); },
      [&](EpResult& pass) { step(pass); }, result);
  if (mirror_.fetch) mirror_.fetch(sites);
  return result;
}

void EpFit::solve() {
  system_.factor(sums_.curvature, prior_, precision_);
  gradient_ = sums_.linear;
  prior_.subtract_gradient(precision_, q_.mean, gradient_);
  system_.solve(gradient_, step_);
  q_.mean.x += step_.x;
  q_.mean.group += step_.group;
  // There the gradients of rows and prior cancel: no product needed.
  sums_.linear.x.setZero();
  sums_.linear.group.setZero();
  prior_.subtract_gradient(precision_, q_.mean, sums_.linear);
  sums_.linear.x *= -1.0;
  sums_.linear.group *= -1.0;
  q_.set_covariance(system_);
}

void EpFit::step(EpResult& result) {
  ask();
  pass_.run(SiteStep::update, moments_, sums_);
  ++result.passes;
  result.change = std::max(rule_.change(), mean_change());
  log_z_ = sums_.bound + prior_part();
  if (columns_ != nullptr) {
    log_z_ += columns_->update(q_.mean.x, q_.theta_variance(), rule_.damping);
    result.change = std::max(result.change, columns_->change());
    read_prior();
  }
  if (!std::isfinite(log_z_)) {
    throw NumericError("the evidence of a pass is not finite");
  }
}

void EpFit::start_from(const VectorXd& kappa, const VectorXd& b) {
  sites.kappa = kappa;
  sites.b = b;
  q_.mean.x.setZero();
  q_.mean.group.setZero();
  ask();
  pass_.send(sums_);
  started_ = true;
}

EpState EpFit::state() const {
  EpState out;
  save(out);
  return out;
}

void EpFit::save(EpState& out) const {
  if (messages_) {
    out.copy = std::make_shared<RemoteCopy>(*messages_, messages_->keep());
  } else {
    out.kappa = sites.kappa;
    out.b = sites.b;
  }
  out.curvature = sums_.curvature;
  out.shift = sums_.linear;
  add_product(sums_.curvature, q_.mean, 1.0, out.shift);
}

void EpFit::take(EpState& from) {
  if (messages_) {
    messages_->take(from.copy->number);
    from.copy.reset();
  } else {
    std::swap(sites.kappa, from.kappa);
    std::swap(sites.b, from.b);
  }
  std::swap(sums_.curvature, from.curvature);
  std::swap(sums_.linear, from.shift);
  add_product(sums_.curvature, q_.mean, -1.0, sums_.linear);
  started_ = changed_ = true;
}

void EpFit::read_prior() {
  log_det_prior_ = 0.0;
  for (Index k = 0; k < prior_.columns(); ++k) {
    if (prior_.precision[k] > 0.0) {
      log_det_prior_ += std::log(prior_.precision[k]);
    }
  }
  for (std::size_t l = 0; l < prior_.blocks.size(); ++l) {
    log_det_prior_ += static_cast<double>(prior_.blocks[l].members) *
                      spd_log_det(precision_[l]);
  }
}

void EpFit::scale_noise(double noise_variance) {
  const double factor = rule_.noise_variance / noise_variance;
  rule_.noise_variance = noise_variance;
  if (!started_ || factor == 1.0) return;
  if (residuals_) {
    started_ = false;
    return;
  }
  changed_ = true;
  for (VectorXd* v : {&sites.kappa, &sites.b, &sums_.linear.x}) *v *= factor;
  for (MatrixXd* m : {&sums_.curvature.gram, &sums_.curvature.cross,
                      &sums_.curvature.group_gram, &sums_.linear.group}) {
    *m *= factor;
  }
}

double EpFit::mean_change() {
  gradient_ = sums_.linear;
  prior_.subtract_gradient(precision_, q_.mean, gradient_);
  system_.solve(gradient_, step_);
  const double size =
      static_cast<double>(gradient_.x.size() + gradient_.group.size());
  double change =
      std::sqrt(std::max(gradient_.dot(step_), 0.0) / std::max(size, 1.0));
  if (gradient_.x.size() > 0) {
    const VectorXd sd = q_.theta_variance().cwiseSqrt();
    change = std::max(change, (step_.x.array().abs() / sd.array()).maxCoeff());
  }
  return change;
}

void EpFit::ask() const {
  if (keep_going_ && !keep_going_(progress_)) throw PassInterrupted();
}

void EpFit::start(EpResult& result) {
  if (responsibilities_.units() != nullptr) {
    sites.responsibility = responsibilities_.units()->log_prior.array().exp();
  }
  q_.mean.x.setZero();
  q_.mean.group.setZero();
  for (int k = 0; k < StartSites::passes(family_); ++k) {
    if (k > 0) solve();
    ask();
    pass_.run(k == 0 ? SiteStep::cold : SiteStep::warm, moments_, sums_);
    ++result.passes;
  }
  started_ = true;
  changed_ = false;
}

double EpFit::prior_part() const {
  const VectorXd& mu0 = prior_.mean;
  const double shift =
      (prior_.precision.array() * mu0.array() * (q_.mean.x - mu0).array())
          .sum();
  return 0.5 * (shift + log_det_prior_ + q_.log_det());
}
}  // namespace bayeskernel
