#include "selection/search.hpp"

#include "linear/gaussian.hpp"
#include "linear/state.hpp"
#include "linear/system.hpp"

namespace bayeskernel {
ColumnSearch::ColumnSearch(PackedRows rows, const Prior& prior,
                           const Selection& selection,
                           const MissingPattern& missing, Executor& executor,
                           const RowModel& row_model)
    : model_{std::make_shared<PackedRows>(std::move(rows)), prior, selection,
             missing, row_model},
      executor_(executor),
      out_log_odds_(VectorXd::Zero(selection.size())) {
  if (row_model.may_overshoot()) {
    throw ArgumentError("selection needs rows that are quadratic in f");
  }
}

MeanFieldResult ColumnSearch::run(const MeanFieldSettings& settings,
                                  const KeepGoing& keep_going,
                                  double inclusion) {
  return run(settings, keep_going,
             VectorXd::Constant(model_.selection.size(), inclusion));
}

MeanFieldResult ColumnSearch::run(const MeanFieldSettings& settings,
                                  const KeepGoing& keep_going,
                                  const VectorXd& inclusion) {
  MeanFieldResult result;
  const Watched until_return{*this};
  settings_ = &settings;
  keep_going_ = &keep_going;
  try {
    const Wide wide =
        WideFit::applies(model_) ? climb_wide(inclusion, result) : Wide::failed;
    if (wide == Wide::over) return result;
    if (wide == Wide::failed) {
      result = MeanFieldResult();
      build(std::vector<bool>(model_.selection.size(), true));
      watch(result);
      fitter().start(result, inclusion);
    }
    climb(kSettle, result);
    look_again(result);
    if (settings.accelerate) try_removals(result);
  } catch (const PassInterrupted&) {
    result.interrupted = true;
  }
  result.converged = result.converged && !result.interrupted;
  if (result.bound.empty()) return result;
  look_at_hidden();
  fitter().finish();
  return result;
}

ArrowVector ColumnSearch::mean() const {
  ArrowVector out = fit().posterior().mean;
  if (wide_) {
    out.x = wide_->mean();
    return out;
  }
  out.x = VectorXd::Zero(columns());
  for_used([&](Index k, Index c) { out.x[c] = fit().posterior().mean.x[k]; });
  return out;
}

MatrixXd ColumnSearch::theta_covariance() const {
  if (wide_) return wide_->covariance();
  const MatrixXd inner = fit().posterior().theta_covariance();
  MatrixXd out = MatrixXd::Zero(columns(), columns());
  // A column that left keeps its prior; the others are overwritten.
  for (const Index c : model_.selection.columns) {
    out(c, c) = 1.0 / indicators().precision;
  }
  for_used([&](Index k, Index c) {
    for_used([&](Index j, Index b) { out(b, c) = inner(j, k); });
  });
  return out;
}

MatrixXd ColumnSearch::loading() const {
  const MatrixXd& inner = fit().system().loading();
  MatrixXd out = MatrixXd::Zero(columns(), inner.cols());
  for_used([&](Index k, Index c) { out.row(c) = inner.row(k); });
  return out;
}

VectorXd ColumnSearch::log_odds() const {
  if (wide_) return wide_->log_odds();
  VectorXd out = out_log_odds_;
  const std::vector<Index>& chosen = active().chosen;
  for (std::size_t k = 0; k < chosen.size(); ++k) {
    out[chosen[k]] = indicators().log_odds[static_cast<Index>(k)];
  }
  return out;
}

VectorXd ColumnSearch::expected_b() const {
  VectorXd out = VectorXd::Ones(model_.selection.size());
  const std::vector<Index>& chosen = wide_ ? wide_->chosen : active().chosen;
  for (std::size_t k = 0; k < chosen.size(); ++k) {
    out[chosen[k]] = indicators().expected_b[static_cast<Index>(k)];
  }
  return out;
}

ColumnSearch::Watched::~Watched() {
  search.watched_ = nullptr;
  search.settings_ = nullptr;
  search.keep_going_ = nullptr;
  if (search.machine_) search.fitter().unwatch();
}

bool ColumnSearch::accept() {
  fitter().accept();
  return settings_->accelerate && looks_ < kLooks && drop_columns();
}

void ColumnSearch::watch(const MeanFieldResult& result) {
  watched_ = &result;
  fitter().watch(*settings_, *keep_going_, result);
}

auto ColumnSearch::climb_wide(const VectorXd& inclusion,
                              MeanFieldResult& result) -> Wide {
  wide_ = std::make_unique<WideFit>(model_, inclusion, settings_->accelerate);
  WideFit& wide = *wide_;
  AscentSchedule schedule = AscentSchedule::wary();
  schedule.settle = kSettle;
  const auto go_on = [&](const Progress& now) {
    return !wide.narrow() && (*keep_going_)(now);
  };
  try {
    ascend(wide, schedule, *settings_, go_on, result);
  } catch (const NumericError&) {
    wide_.reset();
    return Wide::failed;
  }
  std::vector<bool> in_use(model_.selection.size(), false);
  if (!wide.narrow()) {
    build(in_use);  // of the other columns, which tells of the noise alone
    if (result.interrupted) result.bound.clear();
    if (result.bound.empty()) return Wide::over;
    wide.finish();
    const Index p = static_cast<Index>(active().columns.size());
    fitter().adopt(
        {ArrowVector(p, 0, 0), Curvature(p, 0, 0), {}, wide.noise()});
    return Wide::over;
  }
  for (const Index k : wide.chosen) in_use[k] = true;
  result.interrupted = false;
  build(in_use);
  watch(result);
  wide.hand_over(active(), fitter().state);
  if (!fitter().evaluate({true, true})) {
    throw NumericError("the bound is not finite");
  }
  ++result.passes;
  result.bound.push_back(fitter().bound());
  fitter().accept();
  fitter().propose(1.0);
  wide_.reset();
  return Wide::narrow;
}

void ColumnSearch::climb(int settle, MeanFieldResult& result) {
  AscentSchedule schedule = AscentSchedule::wary();
  schedule.settle = indicators_in_use() ? settle : 0;
  watch(result);
  ascend(*this, schedule, *settings_, *keep_going_, result);
}

void ColumnSearch::look_again(MeanFieldResult& result) {
  looks_ = 0;
  while (result.converged && looks_++ < kLooks && look_at_hidden()) {
    const bool better =
        on_trial(result, 0.0, [&](const Machine& kept) { bring_back(kept); });
    if (!better) return;
  }
}

void ColumnSearch::try_removals(MeanFieldResult& result) {
  std::vector<bool> tried(model_.selection.size(), false);
  int failures = 0;
  while (result.converged && failures < kFailures &&
         result.passes < settings_->max_passes) {
    fitter().finish();  // the last step may have been one that dropped columns
    const Index weakest = weakest_column(tried);
    if (weakest < 0) break;
    tried[active().chosen[weakest]] = true;
    const bool better = on_trial(result, kWorth, [&](const Machine& kept) {
      looks_ = 0;
      std::vector<bool> leaves(kept.active.chosen.size(), false);
      leaves[weakest] = true;
      without(kept, leaves);
      fitter().propose(1.0);
    });
    if (!better) ++failures;
  }
}

void ColumnSearch::build(const std::vector<bool>& in_use) {
  machine_ = std::make_unique<Machine>(restrict_model(model_, in_use), model_,
                                       executor_);
  if (watched_ != nullptr) watch(*watched_);
}

void ColumnSearch::without(const Machine& from,
                           const std::vector<bool>& leaves) {
  const ActiveModel& old = from.active;
  std::vector<bool> in_use(model_.selection.size(), false);
  std::vector<bool> column_leaves(old.columns.size(), false);
  std::vector<Index> columns, chosen;
  for (std::size_t k = 0; k < leaves.size(); ++k) {
    in_use[old.chosen[k]] = !leaves[k];
    column_leaves[old.selected[k]] = leaves[k];
    if (!leaves[k]) chosen.push_back(static_cast<Index>(k));
  }
  for (std::size_t k = 0; k < column_leaves.size(); ++k) {
    if (!column_leaves[k]) columns.push_back(static_cast<Index>(k));
  }
  build(in_use);
  MeanFieldState state = from.fit.accepted_state;
  MeanFieldEvaluation accepted = from.fit.accepted();
  keep_columns(columns, chosen, state, accepted);
  fitter().adopt(std::move(state), std::move(accepted));
  look_at_hidden();
}

bool ColumnSearch::drop_columns() {
  const VectorXd& log_odds = fit().accepted().next_log_odds;
  std::vector<bool> leaves(log_odds.size(), false);
  std::size_t out = 0;
  for (Index k = 0; k < log_odds.size(); ++k) {
    leaves[k] = log_odds[k] < kOutLogOdds;
    out += leaves[k];
  }
  if (out == 0 || 16 * out < active().columns.size()) return false;
  const std::unique_ptr<Machine> old = std::move(machine_);
  without(*old, leaves);
  return true;
}

bool ColumnSearch::look_at_hidden() {
  if (active().hidden == 0) return false;
  const MeanFieldEvaluation& at = fit().accepted();
  squares_ = hidden_squares(model_, active(), at.kappa, at.missing);
  const double prior = machine_->indicators.log_odds(at.indicators);
  // v_k has its prior: no covariance with the others.
  bool any = false;
  for (Index k = 0; k < squares_.size(); ++k) {
    if (active().uses(k)) continue;
    out_log_odds_[k] = prior - 0.5 * squares_[k] / at.indicators.precision;
    any = any || out_log_odds_[k] >= kOutLogOdds;
  }
  return any;
}

void ColumnSearch::bring_back(const Machine& kept) {
  const ActiveModel& before = kept.active;
  std::vector<bool> in_use(model_.selection.size(), false);
  for (std::size_t k = 0; k < in_use.size(); ++k) {
    const Index at = static_cast<Index>(k);
    in_use[k] = before.uses(at) || out_log_odds_[at] >= kOutLogOdds;
  }
  build(in_use);
  const ActiveModel& now = active();
  fitter().state =
      widen(kept.fit.accepted_state, count_of(now.columns),
            count_of(now.chosen), positions(before.columns, now.columns),
            positions(before.chosen, now.chosen));
  for (std::size_t k = 0; k < now.chosen.size(); ++k) {
    const Index chosen = now.chosen[k];
    if (before.uses(chosen)) continue;
    fitter().state.curvature.gram(now.selected[k], now.selected[k]) =
        squares_[chosen];
    fitter().state.log_odds[static_cast<Index>(k)] = out_log_odds_[chosen];
  }
}

Index ColumnSearch::weakest_column(const std::vector<bool>& tried) const {
  const IndicatorPosterior& q = indicators();
  const VectorXd variance = fit().posterior().theta_variance();
  const double prior = machine_->indicators.log_odds(q);
  double limit = kWeak;
  Index out = -1;
  for (Index k = 0; k < q.log_odds.size(); ++k) {
    if (tried[active().chosen[k]] || q.log_odds[k] < 0.0) continue;
    const Index c = active().selected[k];
    const double mu = fit().posterior().mean.x[c], v = variance[c];
    const double cost = prior + 0.5 * mu * mu / v +
                        0.5 * std::log(q.precision * v) +
                        0.5 * (1.0 - 1.0 / q.expected_b[k]);
    if (cost < limit) {
      limit = cost;
      out = k;
    }
  }
  return out;
}
}  // namespace bayeskernel
