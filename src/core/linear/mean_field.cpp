#include "linear/mean_field.hpp"

#include "error.hpp"
#include "likelihood/family.hpp"

namespace bayeskernel {
MeanFieldFit::MeanFieldFit(const RowSource& rows, const Prior& prior,
                           Executor& executor, Indicators* indicators,
                           MissingValues* missing, bool row_moments,
                           const RowModel& model)
    : prior_(prior),
      rows_(rows, executor, model),
      columns_(indicators),
      missing_(missing),
      p_(rows.x_columns()),
      r_(rows.z_columns()),
      groups_(rows.groups()),
      layout_(prior, model.learns_noise()),
      system_(p_, r_, groups_, &executor),
      step_(prior, rows_.second() != Second::none, model.may_overshoot(), p_,
            r_, groups_, executor),
      q_(p_, r_, groups_),
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
    const bool plain = !columns_ && missing_ == nullptr;
    ascend(*this,
           model().may_overshoot() ? AscentSchedule::shortened()
           : plain                 ? AscentSchedule()
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

void MeanFieldFit::watch(const MeanFieldSettings& settings,
                         const KeepGoing& keep_going,
                         const MeanFieldResult& result) {
  rows_.watch([&](double done) {
    return keep_going(
        {result.passes + done, static_cast<double>(settings.max_passes), "vb"});
  });
}

void MeanFieldFit::start(MeanFieldResult& result, const VectorXd& inclusion) {
  state.precision = prior_.start();
  state.mean = ArrowVector(p_, r_, groups_);
  state.curvature = Curvature(p_, r_, groups_);
  state.noise = start_noise(model().noise).precision;
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
  if (columns_) columns_.start(inclusion, state, out);
  if (missing_) missing_->start(out.missing);
  accepted_state = state;
  at_ = state.mean;
  rows_.start(state, out);
  ++result.passes;
  complete(false, out);
  propose(model().may_overshoot() ? 0.0 : 1.0);
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
    double bound = 0.5 * q_.log_det() +
                   0.5 * static_cast<double>(p_ + r_ * groups_) +
                   prior_.fixed_bound(q_.mean.x, q_.theta_variance());
    if (columns_) {
      out.indicators.log_odds = state.log_odds;
      if (!step.accelerated) {
        out.indicators.rho_in = accepted_.indicators.rho_in;
        out.indicators.rho_out = accepted_.indicators.rho_out;
        columns_.update_odds(accepted_, effect(), out.indicators,
                             out.indicators.log_odds);
      }
      bound += columns_.update(effect(), state.log_slab, moments_, out);
    }
    bound += update_blocks(out);
    bound += update_missing(out);
    const Second second = step.accelerated ? rows_.second() : Second::none;
    const double noise = rows_.update(moments_, state, prior_, second, out);
    out.bound = bound + out.sums.bound + noise;
    at_ = q_.mean;
    if (columns_) at_.x.array() *= columns_.inclusion().array();
    complete(second != Second::none, out);
    out.next_log_odds = out.indicators.log_odds;
    if (columns_ && step.accelerated && !step.hold) {
      columns_.update_odds(out, effect(), out.indicators, out.next_log_odds);
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
  return step_.take(damping, accepted_state, from, columns_, state);
}

bool MeanFieldFit::predicts_gain() const {
  return rows_.second() == Second::none && !columns_ &&
         !model().learns_noise() && !prior_.learns();
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

void MeanFieldFit::adopt(MeanFieldState at, MeanFieldEvaluation accepted) {
  accepted_ = std::move(accepted);
  state = accepted_state = std::move(at);
}

bool MeanFieldFit::set_posterior() {
  if (columns_) columns_.scale(state);
  system_.factor(conditional(), prior_, state.precision);
  q_.mean = state.mean;
  q_.set_covariance(system_);
  if (columns_ || missing_) covariance_ = q_.theta_covariance();
  return q_.mean.x.allFinite();
}

void MeanFieldFit::complete(bool with_newton, MeanFieldEvaluation& out) {
  if (missing_) {
    missing_->add_curvature(out.missing, out.kappa, at_, with_newton, out.sums);
  }
  if (!columns_) return;
  out.shift = out.sums.linear;
  add_product(out.sums.curvature, at_, 1.0, out.shift);
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

double MeanFieldFit::update_missing(MeanFieldEvaluation& out) {
  if (!missing_) return 0.0;
  missing_->update(effect(), state.missing_scale, state.missing_precision,
                   state.missing_center, out.missing);
  return out.missing.bound;
}
}  // namespace bayeskernel
