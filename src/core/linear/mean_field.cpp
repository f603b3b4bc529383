#include "linear/mean_field.hpp"

#include <cmath>
#include <cstddef>
#include <limits>
#include <utility>
#include <vector>

#include "eigen.hpp"
#include "error.hpp"
#include "likelihood/family.hpp"
#include "likelihood/rules.hpp"
#include "linear/gaussian.hpp"
#include "linear/missing_values.hpp"
#include "linear/moments.hpp"
#include "linear/noise.hpp"
#include "linear/pass.hpp"
#include "linear/row_rules.hpp"
#include "linear/state.hpp"
#include "linear/system.hpp"
#include "optim/ascent.hpp"
#include "optim/progress.hpp"
#include "parallel/executor.hpp"
#include "prior/blocks.hpp"
#include "prior/indicators.hpp"
#include "rows/rows.hpp"
#include "rows/sums.hpp"

namespace bayeskernel {

MeanFieldFit::MeanFieldFit(const RowSource& rows, const Prior& prior,
                           Executor& executor, Indicators* indicators,
                           MissingValues* missing, bool row_moments,
                           const RowModel& model)
    : prior_(prior),
      model_(model),
      rules_(model),
      second_(rules_.later().second()),
      indicators_(indicators),
      missing_(missing),
      p_(rows.x_columns()),
      r_(rows.z_columns()),
      groups_(rows.groups()),
      layout_(prior, model.learns_noise()),
      pass_(rows, executor),
      system_(p_, r_, groups_, &executor),
      step_system_(p_, r_, groups_, &executor),
      q_(p_, r_, groups_),
      gradient_(p_, r_, groups_),
      step_(p_, r_, groups_),
      ones_(VectorXd::Ones(missing != nullptr ? p_ : 0)) {
  if (missing != nullptr && (model.family != Family::hinge || model.direct)) {
    throw ArgumentError("missing values of this family are completions");
  }
  if (indicators != nullptr && model.may_overshoot()) {
    throw ArgumentError("selection needs rows that are quadratic in f");
  }
  if ((indicators || missing) && model.open != nullptr) {
    throw ArgumentError(
        "residuals of a learned variance go with neither selection nor "
        "missing values, unless these are completions");
  }
  moments_.q = &q_;
  const Index n = rows.rows();
  for (MeanFieldEvaluation* e : {&trial_, &accepted_}) {
    e->sums = Sums(p_, r_, groups_);
    e->mean = e->variance = VectorXd::Zero(row_moments ? n : 0);
    e->kappa = VectorXd::Zero(indicators || missing || model.open ? n : 0);
    e->linear = VectorXd::Zero(model.open ? n : 0);
    e->responsibility = VectorXd::Zero(model.completions != nullptr ? n : 0);
  }
}

MeanFieldResult MeanFieldFit::run(const MeanFieldSettings& settings,
                                  const KeepGoing& keep_going,
                                  const MeanFieldStart* warm) {
  MeanFieldResult result;
  const Watched until_return(*this, settings, keep_going, result);
  try {
    warm_ = warm;
    start(result);
    const bool plain = indicators_ == nullptr && missing_ == nullptr;
    ascend(*this,
           model_.may_overshoot() ? AscentSchedule::shortened()
           : plain                ? AscentSchedule()
                                  : AscentSchedule::wary(),
           settings, keep_going, result);
  } catch (const PassInterrupted&) {
    result.interrupted = true;
  }
  if (!result.bound.empty()) finish();
  return result;
}

void MeanFieldFit::adopt(const MeanFieldStart& at) {
  state.mean = at.mean;
  state.curvature = at.curvature;
  state.precision = at.precision;
  state.noise = at.noise.precision;
  accepted_state = state;
  accepted_.noise = at.noise;
  set_posterior();
  update_blocks(accepted_);
}

MeanFieldStart MeanFieldFit::warm_start() const {
  return {accepted_state.mean, accepted_.sums.curvature,
          accepted_state.precision, accepted_.noise};
}

void MeanFieldFit::delegate(RemoteMeanField remote) {
  pass_.delegate([this, remote = std::move(remote)](const GaussianPosterior* q,
                                                    bool with_newton, Sums& out,
                                                    const RowStore& store) {
    remote({q, with_newton, state.noise, state.precision}, out, store.kappa);
  });
}

void MeanFieldFit::watch(const MeanFieldSettings& settings,
                         const KeepGoing& keep_going,
                         const MeanFieldResult& result) {
  pass_.watch([&](double responsibility) {
    return keep_going({result.passes + responsibility,
                       static_cast<double>(settings.max_passes), "vb"});
  });
}

void MeanFieldFit::start(MeanFieldResult& result, const VectorXd& inclusion) {
  state.precision = prior_.start();
  state.mean = ArrowVector(p_, r_, groups_);
  state.curvature = Curvature(p_, r_, groups_);
  state.noise = start_noise(model_.noise).precision;
  if (warm_ != nullptr) {
    state.mean = warm_->mean;
    state.curvature = warm_->curvature;
    state.precision = warm_->precision;
    state.noise = warm_->noise.precision;
    accepted_state = state;
    return;
  }
  MeanFieldEvaluation& out = accepted_;
  out.precision = state.precision;
  out.noise = start_noise(model_.noise);
  if (indicators_) {
    indicators_->start(inclusion, out.indicators);
    out.next_log_odds = out.indicators.log_odds;
    state.log_b = state.log_odds = VectorXd::Zero(indicators_->size());
  }
  if (missing_) missing_->start(out.missing);
  if (model_.open != nullptr) model_.open->set(state.precision);
  accepted_state = state;
  at_ = state.mean;
  rules_.set_noise(out.noise.noise());
  rules_.set_responsibility(out.responsibility);
  pass_.run(Moments(), rules_.start(), Second::none, out.sums, store(out));
  ++result.passes;
  complete(false, out);
  propose(model_.may_overshoot() ? 0.0 : 1.0);
}

bool MeanFieldFit::restart(MeanFieldResult& result) {
  if (warm_ == nullptr) return false;
  warm_ = nullptr;
  start(result);
  return true;
}

bool MeanFieldFit::evaluate(const Step& step) {
  MeanFieldEvaluation& out = trial_;
  out.bound = -std::numeric_limits<double>::infinity();
  try {
    if (!set_posterior()) return false;
    if (indicators_) {
      out.indicators.log_odds = state.log_odds;
      if (!step.accelerated) {
        out.indicators.rho_in = accepted_.indicators.rho_in;
        out.indicators.rho_out = accepted_.indicators.rho_out;
        update_odds(accepted_, out.indicators, out.indicators.log_odds);
      }
    }
    const double bound =
        0.5 * q_.log_det() + 0.5 * static_cast<double>(p_ + r_ * groups_) +
        prior_.fixed_bound(q_.mean.x, q_.theta_variance()) +
        update_indicators(out) + update_blocks(out) + update_missing(out);
    const Second second = step.accelerated ? second_ : Second::none;
    const double noise = update_rows(second, out);
    out.bound = bound + out.sums.bound + noise;
    at_ = q_.mean;
    if (indicators_) at_.x.array() *= inclusion_.array();
    complete(second != Second::none, out);
    out.next_log_odds = out.indicators.log_odds;
    if (indicators_ && step.accelerated && !step.hold) {
      update_odds(out, out.indicators, out.next_log_odds);
    }
  } catch (const NumericError&) {
    return false;
  }
  return std::isfinite(out.bound);
}

bool MeanFieldFit::decides() const {
  return ((accepted_.next_log_odds.array() > 0.0) !=
          (trial_.next_log_odds.array() > 0.0))
      .any();
}

bool MeanFieldFit::accept() {
  std::swap(accepted_, trial_);
  accepted_state = state;
  return false;
}

double MeanFieldFit::propose(double damping) {
  const MeanFieldEvaluation& from = accepted_;
  state.mean = accepted_state.mean;
  state.precision = from.precision;
  state.curvature = from.sums.curvature;
  state.noise = from.noise.precision;
  if (missing_) {
    state.missing_precision = from.missing.precision;
    state.missing_center = from.missing.center;
    state.missing_scale = missing_->scales(from.kappa);
  }
  if (indicators_) {
    state.log_odds = from.next_log_odds;
    state.log_b = from.indicators.expected_b.array().log();
    state.log_slab = std::log(from.indicators.precision);
    scale_columns();
    // gamma o h + h_0 - (A o Omega + prior of v) (theta, u).
    gradient_.x = inclusion_.cwiseProduct(from.shift.x);
    gradient_.group = from.shift.group;
    add_product(scaled_, state.mean, -1.0, gradient_);
  } else {
    gradient_ = from.sums.linear;
  }
  prior_.subtract_gradient(state.precision, state.mean, gradient_);
  const double length = model_.may_overshoot() ? 1.0 - damping : 1.0;
  if (length < 1.0) shorten(damping);
  const bool blended =
      damping < 1.0 && (indicators_ || second_ != Second::none);
  if (blended) blend(damping);
  step_system_.factor(blended ? scaled_ : conditional(), prior_,
                      state.precision);
  step_system_.solve(gradient_, step_);
  state.mean.x += length * step_.x;
  state.mean.group += length * step_.group;
  return 0.5 * gradient_.dot(step_);
}

bool MeanFieldFit::predicts_gain() const {
  return second_ == Second::none && !indicators_ && !model_.learns_noise() &&
         !prior_.learns();
}

Index MeanFieldFit::pack(VectorXd& accepted, VectorXd& proposal) {
  const Index steering = layout_.pack(accepted_state, accepted);
  layout_.pack(state, proposal);
  return steering;
}

void MeanFieldFit::finish() {
  state = accepted_state;
  set_posterior();
}

void MeanFieldFit::restrict_from(const MeanFieldFit& from,
                                 const std::vector<Index>& columns,
                                 const std::vector<Index>& chosen) {
  accepted_ = from.accepted_;
  accepted_state = from.accepted_state;
  keep(columns, accepted_.sums.curvature);
  keep(columns, accepted_.sums.newton);
  keep(columns, accepted_.sums.linear.x);
  keep(columns, accepted_.shift.x);
  keep(chosen, accepted_.indicators.log_odds);
  keep(chosen, accepted_.indicators.expected_b);
  keep(chosen, accepted_.indicators.prior_fraction);
  keep(chosen, accepted_.next_log_odds);
  keep(columns, accepted_state.mean.x);
  keep(chosen, accepted_state.log_b);
  keep(chosen, accepted_state.log_odds);
  keep(columns, accepted_state.curvature);
  state = accepted_state;
}

void MeanFieldFit::widen_from(const MeanFieldFit& from,
                              const std::vector<Index>& columns,
                              const std::vector<Index>& chosen) {
  const MeanFieldState& old = from.accepted_state;
  state = old;
  state.mean.x = VectorXd::Zero(p_);
  state.log_b = state.log_odds = VectorXd::Zero(indicators_->size());
  state.curvature = Curvature(p_, r_, groups_);
  state.curvature.group_gram = old.curvature.group_gram;
  for (std::size_t k = 0; k < columns.size(); ++k) {
    const Index at = static_cast<Index>(k);
    state.mean.x[columns[k]] = old.mean.x[at];
    state.curvature.cross.row(columns[k]) = old.curvature.cross.row(at);
    for (std::size_t j = 0; j < columns.size(); ++j) {
      state.curvature.gram(columns[j], columns[k]) =
          old.curvature.gram(static_cast<Index>(j), at);
    }
  }
  for (std::size_t k = 0; k < chosen.size(); ++k) {
    state.log_b[chosen[k]] = old.log_b[static_cast<Index>(k)];
    state.log_odds[chosen[k]] = old.log_odds[static_cast<Index>(k)];
  }
}

void MeanFieldFit::keep(const std::vector<Index>& at, VectorXd& v) {
  for (std::size_t k = 0; k < at.size(); ++k) v[k] = v[at[k]];
  v.conservativeResize(static_cast<Index>(at.size()));
}

void MeanFieldFit::keep(const std::vector<Index>& at, Curvature& c) {
  const Index p = static_cast<Index>(at.size());
  MatrixXd gram(p, p), cross(p, c.cross.cols());
  for (Index k = 0; k < p; ++k) {
    for (Index j = 0; j < p; ++j) gram(j, k) = c.gram(at[j], at[k]);
    cross.row(k) = c.cross.row(at[k]);
  }
  c.gram.swap(gram);
  c.cross.swap(cross);
}

RowStore MeanFieldFit::store(MeanFieldEvaluation& to) {
  RowStore out;
  if (to.mean.size() > 0) {
    out.mean = to.mean.data();
    out.variance = to.variance.data();
  }
  if (to.kappa.size() > 0) out.kappa = to.kappa.data();
  if (to.linear.size() > 0) out.linear = to.linear.data();
  return out;
}

void MeanFieldFit::scale_columns() {
  inclusion_ = indicators_->by_column(state.log_odds);
  indicators_->scale(inclusion_, state.log_b, state.log_slab, state.curvature,
                     scaled_);
}

void MeanFieldFit::shorten(double old) {
  const auto keep = [old](const MatrixXd& from, MatrixXd& to) {
    to = (1.0 - old) * to + old * from;
  };
  const MeanFieldState& from = accepted_state;
  keep(from.curvature.gram, state.curvature.gram);
  keep(from.curvature.cross, state.curvature.cross);
  keep(from.curvature.group_gram, state.curvature.group_gram);
  for (std::size_t l = 0; l < from.precision.size(); ++l) {
    keep(from.precision[l], state.precision[l]);
  }
}

void MeanFieldFit::blend(double damping) {
  const double w = 1.0 - damping;
  const MeanFieldEvaluation& from = accepted_;
  const Curvature &a = from.sums.curvature, &n = from.sums.newton;
  if (!indicators_) {
    scaled_.gram = damping * a.gram + w * n.gram;
    scaled_.cross = damping * a.cross + w * n.cross;
    scaled_.group_gram = damping * a.group_gram + w * n.group_gram;
    return;
  }
  // gamma's own variance and the prior stay on the diagonal.
  if (second_ != Second::none) {
    const MatrixXd change = n.gram - a.gram;
    scaled_.gram +=
        w * (inclusion_.asDiagonal() * change * inclusion_.asDiagonal());
    scaled_.cross += w * (inclusion_.asDiagonal() * (n.cross - a.cross));
    scaled_.group_gram += w * (n.group_gram - a.group_gram);
  }
  for (Index k = 0; k < indicators_->size(); ++k) {
    const Index c = indicators_->columns()[k];
    scaled_.gram(c, c) -= w * (1.0 - from.indicators.prior_fraction[k]) *
                          std::exp(state.log_b[k] + state.log_slab);
  }
}

bool MeanFieldFit::set_posterior() {
  if (indicators_) scale_columns();
  system_.factor(conditional(), prior_, state.precision);
  q_.mean = state.mean;
  q_.set_covariance(system_);
  if (indicators_ || missing_) covariance_ = q_.theta_covariance();
  return q_.mean.x.allFinite();
}

void MeanFieldFit::complete(bool with_newton, MeanFieldEvaluation& out) {
  if (missing_) {
    missing_->add_curvature(out.missing, out.kappa, at_, with_newton, out.sums);
  }
  if (!indicators_) return;
  out.shift = out.sums.linear;
  add_product(out.sums.curvature, at_, 1.0, out.shift);
}

void MeanFieldFit::update_odds(const MeanFieldEvaluation& from,
                               const IndicatorPosterior& q, VectorXd& odds) {
  VectorXd group_part = VectorXd::Zero(p_);
  const MatrixXd& cross = from.sums.curvature.cross;
  if (groups_ > 0) {
    const MatrixXd product = cross * system_.loading().transpose();
    group_part = q_.mean.x.cwiseProduct(cross * q_.mean.effects()) -
                 product.cwiseProduct(covariance_).rowwise().sum();
  }
  indicators_->update_odds(from.sums.curvature, from.shift.x, group_part,
                           q_.mean.x, covariance_, inclusion_, q, odds);
}

double MeanFieldFit::update_indicators(MeanFieldEvaluation& out) {
  if (!indicators_) return 0.0;
  inclusion_ = indicators_->by_column(out.indicators.log_odds);
  const bool all_in = (inclusion_.array() == 1.0).all();
  moments_.column_mean = all_in ? VectorXd() : inclusion_;
  return indicators_->update(q_.mean.x, covariance_, std::exp(state.log_slab),
                             moments_.column_var, out.indicators);
}

double MeanFieldFit::update_blocks(MeanFieldEvaluation& out) const {
  double bound = 0.0;
  out.moment.clear();
  out.variances.clear();
  out.precision.clear();
  for (std::size_t l = 0; l < prior_.blocks.size(); ++l) {
    const Block& block = prior_.blocks[l];
    const MatrixXd moment = q_.second_moment(block);
    out.moment.push_back(moment);
    out.variances.push_back(
        Prior::posterior(block, moment, state.precision[l]));
    out.precision.push_back(
        Prior::expected_precision(block, out.variances.back()));
    bound +=
        Prior::bound(block, out.variances.back(), moment, state.precision[l]) +
        0.5 * static_cast<double>(block.hidden);
  }
  return bound;
}

double MeanFieldFit::update_rows(Second second, MeanFieldEvaluation& out) {
  if (model_.open != nullptr) model_.open->set(state.precision);
  const double gain = run_pass(second, out);
  if (model_.open != nullptr) {
    model_.open->update(prior_, out.moment, out.kappa, out.variances,
                        out.precision);
  }
  return gain;
}

double MeanFieldFit::run_pass(Second second, MeanFieldEvaluation& out) {
  NoisePosterior seen;
  seen.precision = state.noise;
  rules_.set_noise(seen.noise());
  rules_.set_responsibility(out.responsibility);
  pass_.run(moments_, rules_.later(), second, out.sums, store(out));
  if (!model_.learns_noise()) {
    out.noise = seen;
    return 0.0;
  }
  const double gain = update_noise(model_.noise, state.noise, out.sums.power,
                                   out.sums.squares, out.noise);
  // As the pass would have left them with the new noise.
  const double ratio = out.noise.precision / state.noise;
  out.sums.scale(ratio);
  out.kappa *= ratio;
  out.linear *= ratio;
  return gain;
}

double MeanFieldFit::update_missing(MeanFieldEvaluation& out) {
  if (!missing_) return 0.0;
  const EffectMoments effect{q_, system_, covariance_,
                             indicators_ ? inclusion_ : ones_};
  missing_->update(effect, state.missing_scale, state.missing_precision,
                   state.missing_center, out.missing);
  return out.missing.bound;
}

}  // namespace bayeskernel
