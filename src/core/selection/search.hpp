// Mean-field fit with selection. The bound has many local optima, and which
// columns stay is decided in the first steps: they are plain until no E gamma
// has crossed 1/2 for a while. At the end the weakest columns are removed on
// trial, which no step in E gamma alone can do. Columns below E gamma = 1e-12
// leave the computation and are looked at again at the end.
#ifndef BAYESKERNEL_SELECTION_SEARCH_HPP
#define BAYESKERNEL_SELECTION_SEARCH_HPP

#include <Eigen/Core>
#include <algorithm>
#include <cmath>
#include <memory>
#include <utility>
#include <vector>

#include "linear/mean_field.hpp"
#include "selection/active_columns.hpp"
#include "selection/dual/fit.hpp"

namespace bayeskernel {

class ColumnSearch final : private AscentModel {
 public:
  // `missing` without predictors: nothing is missing.
  ColumnSearch(PackedRows rows, const Prior& prior, const Selection& selection,
               const MissingPattern& missing, Executor& executor,
               const RowModel& row_model = RowModel())
      : model_{std::make_shared<PackedRows>(std::move(rows)), prior, selection,
               missing, row_model},
        executor_(executor),
        out_log_odds_(VectorXd::Zero(selection.size())) {
    if (row_model.may_overshoot()) {
      throw ArgumentError("selection needs rows that are quadratic in f");
    }
  }

  // Starts at E gamma = `inclusion`, in (0, 1], of all columns or of each.
  MeanFieldResult run(const MeanFieldSettings& settings,
                      const KeepGoing& keep_going, double inclusion = 1.0) {
    return run(settings, keep_going,
               VectorXd::Constant(model_.selection.size(), inclusion));
  }
  MeanFieldResult run(const MeanFieldSettings& settings,
                      const KeepGoing& keep_going, const VectorXd& inclusion) {
    MeanFieldResult result;
    const Watched until_return{*this};
    settings_ = &settings;
    keep_going_ = &keep_going;
    try {
      const Wide wide = WideFit::applies(model_) ? climb_wide(inclusion, result)
                                                 : Wide::failed;
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

  // The fit on the columns in use.
  const MeanFieldFit& fit() const { return machine_->fit; }

  // The fit, over all columns. Moments of theta are those of v on selection
  // columns.
  ArrowVector mean() const {
    ArrowVector out = fit().posterior().mean;
    if (wide_) {
      out.x = wide_->mean();
      return out;
    }
    out.x = VectorXd::Zero(columns());
    for_used([&](Index k, Index c) { out.x[c] = fit().posterior().mean.x[k]; });
    return out;
  }
  MatrixXd theta_covariance() const {
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
  // B_g D_g^-1 of the columns times E gamma, p x (r G).
  MatrixXd loading() const {
    const MatrixXd& inner = fit().system().loading();
    MatrixXd out = MatrixXd::Zero(columns(), inner.cols());
    for_used([&](Index k, Index c) { out.row(c) = inner.row(k); });
    return out;
  }

  // E f and Var f of the rows.
  const VectorXd& row_mean() const {
    return wide_ ? wide_->row_mean : fit().mean();
  }
  const VectorXd& row_variance() const {
    return wide_ ? wide_->row_variance : fit().variance();
  }

  // Selection columns, in the order of Selection.
  VectorXd log_odds() const {
    if (wide_) return wide_->log_odds();
    VectorXd out = out_log_odds_;
    const std::vector<Index>& chosen = active().chosen;
    for (std::size_t k = 0; k < chosen.size(); ++k) {
      out[chosen[k]] = indicators().log_odds[static_cast<Index>(k)];
    }
    return out;
  }
  VectorXd inclusion() const { return expit(log_odds()); }
  VectorXd expected_b() const {
    VectorXd out = VectorXd::Ones(model_.selection.size());
    const std::vector<Index>& chosen =
        wide_ ? wide_->chosen : active().chosen;
    for (std::size_t k = 0; k < chosen.size(); ++k) {
      out[chosen[k]] = indicators().expected_b[static_cast<Index>(k)];
    }
    return out;
  }
  // q of sigma_v^2 and rho.
  const IndicatorPosterior& indicators() const {
    return wide_ ? wide_->indicators() : fit().accepted().indicators;
  }

 private:
  // The model on the columns in use and its fit.
  struct Machine {
    Machine(ActiveModel of, const WholeModel& whole, Executor& executor)
        : active(std::move(of)),
          indicators(whole.selection, active.selected,
                     active.rows->x_columns(), active.hidden),
          missing(whole.missing.predictors() > 0
                      ? std::make_unique<MissingValues>(
                            whole.missing, active.position, *active.rows,
                            executor)
                      : nullptr),
          fit(*active.rows, active.prior, executor, &indicators, missing.get(),
              true, whole.row_model) {}

    ActiveModel active;
    Indicators indicators;
    std::unique_ptr<MissingValues> missing;
    MeanFieldFit fit;
  };

  static constexpr int kSettle = 10;  // plain steps without a decision
  static constexpr int kLooks = 5;    // at columns that are out
  // A trial removal: of columns whose removal costs less than kWeak at the
  // present weights, kept when the bound gains kWorth.
  static constexpr double kWeak = 3.0, kWorth = 1.0;
  static constexpr int kFailures = 3;

  MeanFieldFit& fitter() { return machine_->fit; }

  // run() refers to what it was given, and to its result, only while it runs.
  struct Watched {
    ~Watched() {
      search.watched_ = nullptr;
      search.settings_ = nullptr;
      search.keep_going_ = nullptr;
      if (search.machine_) search.fitter().unwatch();
    }
    ColumnSearch& search;
  };
  const ActiveModel& active() const { return machine_->active; }
  Index columns() const { return model_.rows->x_columns(); }

  template <class F>
  void for_used(F&& visit) const {
    const std::vector<Index>& used = active().columns;
    for (std::size_t k = 0; k < used.size(); ++k) {
      visit(static_cast<Index>(k), used[k]);
    }
  }

  bool evaluate(const Step& step) override { return fitter().evaluate(step); }
  double bound() const override { return fit().bound(); }
  bool decides() const override { return fit().decides(); }
  double propose(double damping) override { return fitter().propose(damping); }
  Index pack(VectorXd& accepted, VectorXd& proposal) override {
    return fitter().pack(accepted, proposal);
  }
  void unpack(const VectorXd& proposal) override { fitter().unpack(proposal); }
  bool accept() override {
    fitter().accept();
    return settings_->accelerate && looks_ < kLooks && drop_columns();
  }

  void watch(const MeanFieldResult& result) {
    watched_ = &result;
    fitter().watch(*settings_, *keep_going_, result);
  }

  // In the n x n form, until it is over or few columns are left, when the dense
  // fit starts where it has ended. It fails where it is too inaccurate; an
  // interrupt leaves nothing to show.
  enum class Wide { failed, narrow, over };
  Wide climb_wide(const VectorXd& inclusion, MeanFieldResult& result) {
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
      fitter().adopt({ArrowVector(p, 0, 0), Curvature(p, 0, 0), {}, wide.noise()});
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

  // From the fit's proposal.
  void climb(int settle, MeanFieldResult& result) {
    AscentSchedule schedule = AscentSchedule::wary();
    schedule.settle = indicators_in_use() ? settle : 0;
    watch(result);
    ascend(*this, schedule, *settings_, *keep_going_, result);
  }
  bool indicators_in_use() const { return !active().chosen.empty(); }

  // After convergence: columns that want back in, until there are none.
  void look_again(MeanFieldResult& result) {
    looks_ = 0;
    while (result.converged && looks_++ < kLooks && look_at_hidden()) {
      const bool better = on_trial(
          result, 0.0, [&](const Machine& kept) { bring_back(kept); });
      if (!better) return;
    }
  }

  // Removes weak columns for good where the bound gains; otherwise the fit
  // stays as it is.
  void try_removals(MeanFieldResult& result) {
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

  // Climbs from another model that `change` builds from the one at hand, which
  // comes back unless the bound gains `worth`. An interrupt ends it all.
  template <class Change>
  bool on_trial(MeanFieldResult& result, double worth, Change&& change) {
    std::unique_ptr<Machine> kept = std::move(machine_);
    const VectorXd kept_out = out_log_odds_;
    MeanFieldResult trial;
    trial.passes = result.passes;
    try {
      change(*kept);
      climb(0, trial);
      if (worth > 0.0) look_again(trial);
    } catch (const NumericError&) {
      trial.bound.clear();
    } catch (const PassInterrupted&) {
      trial.interrupted = true;
    }
    result.passes = trial.passes;
    result.rejected += trial.rejected;
    result.interrupted = result.interrupted || trial.interrupted;
    const bool better = !trial.bound.empty() &&
                        trial.bound.back() >= result.bound.back() + worth;
    if (better) {
      for (const double value : trial.bound) {
        if (value > result.bound.back()) result.bound.push_back(value);
      }
      result.largest_fall = std::max(result.largest_fall, trial.largest_fall);
      result.converged = trial.converged;
    } else {
      machine_ = std::move(kept);
      out_log_odds_ = kept_out;
    }
    watch(result);
    if (result.interrupted) result.converged = false;
    return better;
  }

  void build(const std::vector<bool>& in_use) {
    machine_ = std::make_unique<Machine>(restrict_model(model_, in_use), model_,
                                         executor_);
    if (watched_ != nullptr) watch(*watched_);
  }

  // The model over fewer columns, at what `from` had accepted.
  void without(const Machine& from, const std::vector<bool>& leaves) {
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
    fitter().restrict_from(from.fit, columns, chosen);
    look_at_hidden();
  }

  // Columns that are out leave, once there are enough of them to be worth a
  // new start of the extrapolation.
  bool drop_columns() {
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

  // Log odds of the columns that left, under the fit without them; whether any
  // wants back in.
  bool look_at_hidden() {
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

  // Columns that want back in start from the fit without them.
  void bring_back(const Machine& kept) {
    const ActiveModel& before = kept.active;
    std::vector<bool> in_use(model_.selection.size(), false);
    for (std::size_t k = 0; k < in_use.size(); ++k) {
      const Index at = static_cast<Index>(k);
      in_use[k] = before.uses(at) || out_log_odds_[at] >= kOutLogOdds;
    }
    build(in_use);
    const ActiveModel& now = active();
    fitter().widen_from(kept.fit, positions(before.columns, now.columns),
                     positions(before.chosen, now.chosen));
    for (std::size_t k = 0; k < now.chosen.size(); ++k) {
      const Index chosen = now.chosen[k];
      if (before.uses(chosen)) continue;
      fitter().state.curvature.gram(now.selected[k], now.selected[k]) =
          squares_[chosen];
      fitter().state.log_odds[static_cast<Index>(k)] = out_log_odds_[chosen];
    }
  }

  // The selection column, not `tried`, whose removal costs least in the bound
  // at the present weights, or -1 when all cost kWeak: gamma_k, v_k and b_k go
  // to their optimum without data, the other columns make up for it.
  Index weakest_column(const std::vector<bool>& tried) const {
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

  WholeModel model_;
  Executor& executor_;
  std::unique_ptr<Machine> machine_;
  std::unique_ptr<WideFit> wide_;  // where it had the last word
  VectorXd out_log_odds_, squares_;  // of the columns that left, and A_kk
  const MeanFieldSettings* settings_ = nullptr;
  const KeepGoing* keep_going_ = nullptr;
  const MeanFieldResult* watched_ = nullptr;
  int looks_ = 0;
};

}  // namespace bayeskernel

#endif
