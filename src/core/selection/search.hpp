// Mean-field fit with selection. The bound has many local optima, and which
// columns stay is decided in the first steps: they are plain until no E gamma
// has crossed 1/2 for a while. At the end the weakest columns are removed on
// trial, which no step in E gamma alone can do. Columns below E gamma = 1e-12
// leave the computation and are looked at again at the end.
//
// The optimum sought is that of Luts and Ormerod (2014), section 3.2.
#pragma once

#include "eigen.hpp"
#include "error.hpp"
#include "linear/mean_field.hpp"
#include "linear/missing_pattern.hpp"
#include "linear/missing_values.hpp"
#include "linear/row_rules.hpp"
#include "optim/ascent.hpp"
#include "optim/progress.hpp"
#include "parallel/executor.hpp"
#include "prior/blocks.hpp"
#include "prior/indicators.hpp"
#include "rows/rows.hpp"
#include "rows/sums.hpp"
#include "selection/active_columns.hpp"
#include "selection/dual/fit.hpp"

namespace bayeskernel {
class ColumnSearch final : private AscentModel {
 public:
  // `missing` without predictors: nothing is missing.
  ColumnSearch(PackedRows rows, const Prior& prior, const Selection& selection,
               const MissingPattern& missing, Executor& executor,
               const RowModel& row_model = RowModel());

  // Starts at E gamma = `inclusion`, in (0, 1], of all columns or of each.
  MeanFieldResult run(const MeanFieldSettings& settings,
                      const KeepGoing& keep_going, double inclusion = 1.0);
  MeanFieldResult run(const MeanFieldSettings& settings,
                      const KeepGoing& keep_going, const VectorXd& inclusion);

  // The fit on the columns in use.
  const MeanFieldFit& fit() const { return machine_->fit; }

  // The fit, over all columns. Moments of theta are those of v on selection
  // columns.
  ArrowVector mean() const;
  MatrixXd theta_covariance() const;
  // B_g D_g^-1 of the columns times E gamma, p x (r G).
  MatrixXd loading() const;

  // E f and Var f of the rows.
  const VectorXd& row_mean() const {
    return wide_ ? wide_->row_mean : fit().mean();
  }
  const VectorXd& row_variance() const {
    return wide_ ? wide_->row_variance : fit().variance();
  }

  // Selection columns, in the order of Selection.
  VectorXd log_odds() const;
  VectorXd inclusion() const { return expit(log_odds()); }
  VectorXd expected_b() const;
  // q of sigma_v^2 and rho.
  const IndicatorPosterior& indicators() const {
    return wide_ ? wide_->indicators() : fit().accepted().indicators;
  }

 private:
  // The model on the columns in use and its fit.
  struct Machine {
    Machine(ActiveModel of, const WholeModel& whole, Executor& executor)
        : active(std::move(of)),
          indicators(whole.selection, active.selected, active.rows->x_columns(),
                     active.hidden),
          missing(whole.missing.predictors() > 0
                      ? std::make_unique<MissingValues>(whole.missing,
                                                        active.position,
                                                        *active.rows, executor)
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
    ~Watched();
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
  bool accept() override;

  void watch(const MeanFieldResult& result);

  // In the n x n form, until it is over or few columns are left, when the dense
  // fit starts where it has ended. It fails where it is too inaccurate; an
  // interrupt leaves nothing to show.
  enum class Wide { failed, narrow, over };
  Wide climb_wide(const VectorXd& inclusion, MeanFieldResult& result);

  // From the fit's proposal.
  void climb(int settle, MeanFieldResult& result);
  bool indicators_in_use() const { return !active().chosen.empty(); }

  // After convergence: columns that want back in, until there are none.
  void look_again(MeanFieldResult& result);

  // Removes weak columns for good where the bound gains; otherwise the fit
  // stays as it is.
  void try_removals(MeanFieldResult& result);

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

  void build(const std::vector<bool>& in_use);

  // The model over fewer columns, at what `from` had accepted.
  void without(const Machine& from, const std::vector<bool>& leaves);

  // Columns that are out leave, once there are enough of them to be worth a
  // new start of the extrapolation.
  bool drop_columns();

  // Log odds of the columns that left, under the fit without them; whether any
  // wants back in.
  bool look_at_hidden();

  // Columns that want back in start from the fit without them.
  void bring_back(const Machine& kept);

  // The selection column, not `tried`, whose removal costs least in the bound
  // at the present weights, or -1 when all cost kWeak: gamma_k, v_k and b_k go
  // to their optimum without data, the other columns make up for it.
  Index weakest_column(const std::vector<bool>& tried) const;

  WholeModel model_;
  Executor& executor_;
  std::unique_ptr<Machine> machine_;
  std::unique_ptr<WideFit> wide_;    // where it had the last word
  VectorXd out_log_odds_, squares_;  // of the columns that left, and A_kk
  const MeanFieldSettings* settings_ = nullptr;
  const KeepGoing* keep_going_ = nullptr;
  const MeanFieldResult* watched_ = nullptr;
  int looks_ = 0;
};
}  // namespace bayeskernel
