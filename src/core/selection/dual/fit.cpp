#include "selection/dual/fit.hpp"

#include "error.hpp"
#include "linear/mean_field.hpp"
#include "linear/missing_pattern.hpp"
#include "rows/sums.hpp"

namespace bayeskernel {
bool WideFit::applies(const WholeModel& model) {
  return model.rows->x_columns() > model.rows->rows() &&
         model.rows->groups() == 0 && model.prior.blocks.empty() &&
         model.missing.predictors() == 0 &&
         model.row_model.completions == nullptr &&
         model.row_model.open == nullptr && !model.row_model.may_overshoot();
}

WideFit::WideFit(const WholeModel& model, const VectorXd& inclusion, bool drop)
    : model_(model), rows_(*model.rows), rules_(model.row_model), drop_(drop) {
  const Index p = rows_.x_columns();
  std::vector<char> selected(p, 0);
  for (const Index c : model.selection.columns) selected[c] = 1;
  for (Index c = 0; c < p; ++c) {
    if (!selected[c]) fixed_.push_back(c);
  }
  const Index fixed = count_of(fixed_);
  f_.resize(rows_.rows(), fixed);
  own_.precision.resize(fixed);
  own_.mean.resize(fixed);
  for (Index k = 0; k < fixed; ++k) {
    f_.col(k) = rows_.x.row(fixed_[k]).transpose();
    own_.precision[k] = model.prior.precision[fixed_[k]];
    own_.mean[k] = model.prior.mean[fixed_[k]];
  }
  for (Index k = 0; k < model.selection.size(); ++k) chosen.push_back(k);
  build();
  start(inclusion);
}

bool WideFit::narrow() const {
  return chosen.size() + fixed_.size() <=
         static_cast<std::size_t>(rows_.rows());
}

void WideFit::finish() {
  unpack(accepted_state_);
  if (!evaluate({})) throw NumericError("the bound is not finite");
  std::swap(accepted_, trial_);
}

VectorXd WideFit::mean() const {
  VectorXd out = VectorXd::Zero(rows_.x_columns());
  VectorXd own(order().size());
  own << posterior_->fixed_mean, posterior_->mean;
  const std::vector<Index> at = order();
  for (std::size_t k = 0; k < at.size(); ++k) {
    out[at[k]] = own[static_cast<Index>(k)];
  }
  return out;
}

MatrixXd WideFit::covariance() const {
  const Index p = rows_.x_columns();
  MatrixXd out = MatrixXd::Zero(p, p);
  for (const Index c : model_.selection.columns) {
    out(c, c) = 1.0 / accepted_.q.precision;
  }
  const MatrixXd own = posterior_->covariance();
  const std::vector<Index> at = order();
  for (std::size_t k = 0; k < at.size(); ++k) {
    for (std::size_t j = 0; j < at.size(); ++j) {
      out(at[j], at[k]) = own(static_cast<Index>(j), static_cast<Index>(k));
    }
  }
  return out;
}

VectorXd WideFit::log_odds() const {
  const double prior = indicators_->log_odds(accepted_.q);
  VectorXd out(model_.selection.size());
  for (Index k = 0; k < out.size(); ++k) {
    const auto x = rows_.x.row(model_.selection.columns[k]);
    out[k] = prior - 0.5 * x.cwiseAbs2().dot(accepted_.kappa.transpose()) /
                         accepted_.q.precision;
  }
  for (std::size_t k = 0; k < chosen.size(); ++k) {
    out[chosen[k]] = accepted_.q.log_odds[static_cast<Index>(k)];
  }
  return out;
}

void WideFit::hand_over(const ActiveModel& active, MeanFieldState& to) {
  set_posterior();
  const Index p = count_of(active.columns);
  const MatrixXd& x = active.rows->x;
  to = state;
  to.precision = active.prior.start();
  to.mean = ArrowVector(p, 0, 0);
  for (std::size_t k = 0; k < fixed_.size(); ++k) {
    to.mean.x[active.position[fixed_[k]]] =
        posterior_->fixed_mean[static_cast<Index>(k)];
  }
  for (std::size_t k = 0; k < chosen.size(); ++k) {
    to.mean.x[active.selected[k]] = posterior_->mean[static_cast<Index>(k)];
  }
  to.curvature = Curvature(p, 0, 0);
  to.curvature.gram.selfadjointView<Eigen::Lower>().rankUpdate(
      x * kappa.cwiseSqrt().asDiagonal());
}

bool WideFit::evaluate(const Step&) {
  Evaluation& out = trial_;
  out.bound = -std::numeric_limits<double>::infinity();
  try {
    set_posterior();
    out.q.log_odds = state.log_odds;
    out.q.rho_in = accepted_.q.rho_in;
    out.q.rho_out = accepted_.q.rho_out;
    posterior_->update_odds(indicators_->log_odds(out.q), out.q.log_odds);
    const double columns = static_cast<double>(fixed_.size() + chosen.size());
    const WidePosterior& at = *posterior_;
    VectorXd indicator_variance;
    double bound =
        0.5 * (columns - at.log_det) +
        own_.fixed_bound(at.fixed_mean, at.fixed_covariance.diagonal()) +
        indicators_->update(at.mean, at.variance, std::exp(state.log_slab),
                            indicator_variance, out.q);
    out.settled = indicators_->settled_precision(
        at.mean, at.variance, state.log_b, std::exp(state.log_slab), out.q);
    at.rows(row_mean, row_variance);
    row_mean += rows_.offset;
    bound += pass(rules_.later(), row_mean, row_variance, state.noise, out);
    out.bound = bound;
  } catch (const NumericError&) {
    return false;
  }
  return std::isfinite(out.bound) && out.kappa.allFinite();
}

bool WideFit::decides() const {
  return ((accepted_.q.log_odds.array() > 0.0) !=
          (trial_.q.log_odds.array() > 0.0))
      .any();
}

bool WideFit::accept() {
  std::swap(accepted_, trial_);
  if (step_ != 0.0) reach_ = std::min(2.0 * reach_, kReach);
  step_ = 0.0;
  const bool left = drop_ && drop_columns();
  accepted_state_ = coordinates();
  return left;
}

double WideFit::propose(double damping) {
  state.log_odds = accepted_.q.log_odds;
  state.log_b = accepted_.q.expected_b.array().log();
  // Where sigma_v^2 goes in the end, as far as steps of that length were good.
  if (step_ != 0.0) reach_ = 0.25 * std::abs(step_);
  const double next = std::log(accepted_.q.precision);
  const double ahead = std::log(accepted_.settled) - next;
  const bool far = damping < 1.0 && std::abs(ahead) > kNear;
  step_ = far ? std::clamp(ahead, -reach_, reach_) : 0.0;
  state.log_slab = next + step_;
  state.noise = accepted_.noise.precision;
  kappa = accepted_.kappa;
  linear = accepted_.linear;
  return std::abs(step_);  // the last word is a step without
}

Index WideFit::pack(VectorXd& accepted, VectorXd& proposal) {
  accepted = accepted_state_;
  proposal = coordinates();
  return proposal.size();
}

void WideFit::unpack(const VectorXd& from) {
  step_ = 0.0;
  const Index n = kappa.size(), size = state.log_b.size();
  kappa = from.head(n).array().exp();
  linear = from.segment(n, n);
  state.log_b = from.segment(2 * n, size);
  state.log_slab = from[2 * n + size];
  state.noise = std::exp(from[2 * n + size + 1]);
  for (Index k = 0; k < size; ++k) {
    double& odds = state.log_odds[k];
    if (std::abs(odds) >= kClip) continue;
    odds = std::clamp(from[2 * n + size + 2 + k] / kOddsWeight, -kClip, kClip);
  }
}

std::vector<Index> WideFit::order() const {
  std::vector<Index> out = fixed_;
  for (const Index k : chosen) out.push_back(model_.selection.columns[k]);
  return out;
}

void WideFit::build() {
  const Index size = count_of(chosen);
  MatrixXd x(rows_.rows(), size);
  std::vector<Index> places;
  for (Index k = 0; k < size; ++k) {
    x.col(k) = rows_.x.row(model_.selection.columns[chosen[k]]).transpose();
    places.push_back(k);
  }
  posterior_ = std::make_unique<WidePosterior>(f_, std::move(x), own_.precision,
                                               own_.mean);
  indicators_ =
      std::make_unique<Indicators>(model_.selection, std::move(places), size,
                                   model_.selection.size() - size);
}

void WideFit::start(const VectorXd& inclusion) {
  indicators_->start(inclusion, accepted_.q);
  accepted_.noise = start_noise(model_.row_model.noise);
  const Index n = rows_.rows();
  pass(rules_.start(), rows_.offset, VectorXd::Ones(n),
       accepted_.noise.precision, accepted_);
  propose(1.0);
  accepted_state_ = coordinates();
}

void WideFit::set_posterior() {
  posterior_->set(kappa, linear, expit(state.log_odds),
                  (state.log_b.array() + state.log_slab).exp());
}

double WideFit::pass(const Rule& rule, const VectorXd& m, const VectorXd& s,
                     double noise, Evaluation& out) {
  const Index n = rows_.rows();
  out.kappa.resize(n);
  out.linear.resize(n);
  NoisePosterior seen;
  seen.precision = noise;
  rules_.set_noise(seen.noise());
  double bound = run_rule(rule, rows_, m, s, out.kappa, out.linear);
  out.noise = seen;
  if (model_.row_model.learns_noise()) {
    const double squares =
        out.kappa.dot(((rows_.y - m).cwiseAbs2() + s).eval());
    bound += update_noise(model_.row_model.noise, noise, out.kappa.sum(),
                          squares, out.noise);
    const double ratio = out.noise.precision / noise;
    out.kappa *= ratio;
    out.linear *= ratio;
  }
  out.linear += out.kappa.cwiseProduct(m - rows_.offset);
  return bound;
}

bool WideFit::drop_columns() {
  const VectorXd& odds = accepted_.q.log_odds;
  std::vector<Index> stay, names;
  for (Index k = 0; k < odds.size(); ++k) {
    if (odds[k] < kOutLogOdds) continue;
    stay.push_back(k);
    names.push_back(chosen[k]);
  }
  if (16 * (chosen.size() - stay.size()) < chosen.size()) return false;
  IndicatorPosterior& q = accepted_.q;
  for (VectorXd* v : {&q.log_odds, &q.expected_b, &q.prior_fraction,
                      &state.log_odds, &state.log_b}) {
    keep(stay, *v);
  }
  chosen = std::move(names);
  build();
  return true;
}

VectorXd WideFit::coordinates() const {
  const Index n = kappa.size(), size = state.log_b.size();
  VectorXd out(2 * n + 2 * size + 2);
  out << kappa.array().log().matrix(), linear, state.log_b, state.log_slab,
      std::log(state.noise),
      kOddsWeight * state.log_odds.cwiseMax(-kClip).cwiseMin(kClip);
  return out;
}
}  // namespace bayeskernel
