// Mean-field fit of the combined linear model: fixed columns, variance
// components, an eliminated group, selection and predictors with holes, in any
// combination (svm.md sections 2 to 5). Steps of StructuredMap, extrapolated
// by Anderson's method; a step that lowers the bound is taken back, and a plain
// one cannot lower it.
//
// With selection the bound has many local optima, and which columns stay is
// decided in the first steps: they are plain until no E gamma has crossed 1/2
// for a while. At the end the weakest columns are removed on trial, which no
// step in E gamma alone can do. Columns below E gamma = 1e-12 leave the
// computation and are looked at again at the end.
#ifndef BAYESKERNEL_BSVM_STRUCTURED_MEAN_FIELD_HPP
#define BAYESKERNEL_BSVM_STRUCTURED_MEAN_FIELD_HPP

#include <Eigen/Core>
#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>
#include <utility>
#include <vector>

#include "../chain/progress.hpp"
#include "../hinge/mean_field.hpp"
#include "../math/anderson.hpp"
#include "structured_active.hpp"
#include "structured_map.hpp"

namespace bayeskernel {

class StructuredMeanFieldFit {
 public:
  // `selection` without columns and `holes` without rows switch a part off.
  StructuredMeanFieldFit(PackedRows rows, const Prior& prior,
                         const Selection& selection, const Holes& holes,
                         Executor& executor)
      : model_{std::make_shared<PackedRows>(std::move(rows)), prior, selection,
               holes},
        executor_(executor),
        out_log_odds_(VectorXd::Zero(selection.size())) {
    if (holes.predictors() > 0) {
      model_.rows->residual = VectorXd::Zero(model_.rows->rows());
    }
    build(std::vector<bool>(selection.size(), true));
  }

  // Starts at E gamma = `inclusion`, in (0, 1].
  MeanFieldResult run(const MeanFieldSettings& settings,
                      const KeepGoing& keep_going, double inclusion = 1.0) {
    MeanFieldResult result;
    map_->start(inclusion);
    ++result.passes;
    climb(settings, keep_going, settings.accelerate, result);
    if (settings.accelerate) try_removals(settings, keep_going, result);
    look_at_hidden();
    map_->finish();
    return result;
  }

  // The fit, over all columns. Moments of theta are those of v on selection
  // columns.
  ArrowVector mean() const {
    ArrowVector out = map_->posterior().mean;
    out.x = VectorXd::Zero(columns());
    for_used([&](Index k, Index c) { out.x[c] = map_->posterior().mean.x[k]; });
    return out;
  }
  MatrixXd theta_covariance() const {
    const MatrixXd inner = map_->posterior().theta_covariance();
    MatrixXd out = MatrixXd::Zero(columns(), columns());
    // A column that left keeps its prior; the others are overwritten.
    for (const Index c : model_.selection.columns) {
      out(c, c) = 1.0 / selection().precision;
    }
    for_used([&](Index k, Index c) {
      for_used([&](Index j, Index b) { out(b, c) = inner(j, k); });
    });
    return out;
  }
  // B_g D_g^-1 of the columns times E gamma, p x (r G).
  MatrixXd loading() const {
    const MatrixXd& inner = map_->system().loading();
    MatrixXd out = MatrixXd::Zero(columns(), inner.cols());
    for_used([&](Index k, Index c) { out.row(c) = inner.row(k); });
    return out;
  }
  const MatrixXd& group_inverse() const {
    return map_->system().group_inverse();
  }
  MatrixXd group_covariance(Index g) const {
    return map_->posterior().group_covariance(g);
  }
  const std::vector<BlockPosterior>& variances() const {
    return map_->accepted().variances;
  }
  const std::vector<MatrixXd>& precisions() const {
    return map_->accepted_state.precision;
  }
  const VectorXd& fitted_mean() const { return map_->accepted().sums.mean; }
  const VectorXd& fitted_variance() const {
    return map_->accepted().sums.variance;
  }
  double jitter() const { return map_->system().jitter(); }

  // Selection columns, in the order of Selection.
  VectorXd log_odds() const {
    VectorXd out = out_log_odds_;
    const std::vector<Index>& chosen = map_->model().chosen;
    for (std::size_t k = 0; k < chosen.size(); ++k) {
      out[chosen[k]] = selection().log_odds[static_cast<Index>(k)];
    }
    return out;
  }
  VectorXd inclusion() const { return expit(log_odds()); }
  VectorXd expected_b() const {
    VectorXd out = VectorXd::Ones(model_.selection.size());
    const std::vector<Index>& chosen = map_->model().chosen;
    for (std::size_t k = 0; k < chosen.size(); ++k) {
      out[chosen[k]] = selection().expected_b[static_cast<Index>(k)];
    }
    return out;
  }
  // q of sigma_v^2 and rho.
  const SelectionPosterior& selection() const {
    return map_->accepted().selection;
  }
  const HolesPosterior& holes() const { return map_->accepted().holes; }
  VectorXd hole_variance() const {
    return map_->holes()->hole_variance(map_->accepted().holes);
  }

 private:
  static constexpr int kMemory = 2;   // of the extrapolation
  static constexpr int kSettle = 10;  // plain steps without a decision
  // E gamma waits while the step in the mean promises more than this.
  static constexpr double kHold = 1.0;
  static constexpr int kPatience = 2;  // steps before damping is relaxed
  static constexpr int kLooks = 5;    // at columns that are out
  // A trial removal: of columns whose removal costs less than kWeak at the
  // present weights, kept when the bound gains kWorth.
  static constexpr double kWeak = 3.0, kWorth = 1.0;
  static constexpr int kFailures = 3;

  Index columns() const { return model_.rows->x_columns(); }

  template <class F>
  void for_used(F&& visit) const {
    const std::vector<Index>& used = map_->model().columns;
    for (std::size_t k = 0; k < used.size(); ++k) {
      visit(static_cast<Index>(k), used[k]);
    }
  }

  // Ascent from the map's proposal until it converges (true) or has to stop.
  bool climb(const MeanFieldSettings& settings, const KeepGoing& keep_going,
             bool settle, MeanFieldResult& result) {
    double best = -std::numeric_limits<double>::infinity();
    bool settling = settle && map_->selected() > 0;
    double damping = settings.accelerate && !settling ? 0.0 : 1.0;
    bool extrapolated = false;
    int looks = 0, quiet = 0, patience = kPatience, since = 0;
    double promise = 0.0;
    restart();
    result.converged = false;
    while (true) {
      const bool plain_order = !settings.accelerate || settling;
      const bool usable = map_->evaluate(plain_order, !plain_order,
                                         promise > kHold);
      ++result.passes;
      const double value = map_->trial().bound;
      const double slack = 1e-9 * (1.0 + std::abs(best));
      if (!usable || !(value >= best - slack)) {
        const bool plain = !extrapolated && damping == 1.0;
        if (!usable && (plain || !std::isfinite(best))) {
          throw NumericError("the bound of a plain step is not finite");
        }
        if (!plain) {
          ++result.rejected;
          if (result.passes >= settings.max_passes) return false;
          restart();
          if (!extrapolated) {
            damping = damping == 0.0 ? 0.1 : std::min(1.0, 4.0 * damping);
            patience *= 2;
            since = 0;
          }
          extrapolated = false;
          map_->propose(damping);
          continue;
        }
      }
      const double gain = value - best;
      if (gain < 0.0) {
        result.largest_fall = std::max(result.largest_fall, -gain);
      }
      best = value;
      result.bound.push_back(value);
      if (settling) {
        quiet = map_->decides() ? 0 : quiet + 1;
      }
      map_->accept();
      const double threshold =
          settings.tolerance * (1.0 + std::abs(value) / 1000.0);
      if (result.passes >= settings.max_passes) return false;
      if (settings.accelerate && looks < kLooks) drop_columns();
      promise = map_->propose(damping);
      const bool still = gain < threshold &&
                         (promise < threshold || !settings.accelerate);
      if (still && !extrapolated && !settling) {
        if (looks++ < kLooks && bring_back()) {
          best = -std::numeric_limits<double>::infinity();
          continue;
        }
        result.converged = true;
        return true;
      }
      if (!keep_going({static_cast<double>(result.passes),
                       static_cast<double>(settings.max_passes), "vb"})) {
        result.interrupted = true;
        return false;
      }
      if (!settings.accelerate) continue;
      if (settling) {
        settling = quiet < kSettle && !still;
        if (!settling) damping = 0.0;
        continue;
      }
      if (damping > 0.0 && ++since >= patience) {
        damping = damping < 0.05 ? 0.0 : 0.25 * damping;
        since = 0;
      }
      if (still) {  // what one plain step says decides
        extrapolated = false;
        restart();
        continue;
      }
      extrapolated = extrapolate();
    }
  }

  // Removes weak columns for good where the bound gains; otherwise the fit
  // stays as it is.
  void try_removals(const MeanFieldSettings& settings,
                    const KeepGoing& keep_going, MeanFieldResult& result) {
    std::vector<bool> tried(model_.selection.size(), false);
    int failures = 0;
    while (result.converged && failures < kFailures &&
           result.passes < settings.max_passes) {
      const Index weakest = map_->weakest(tried, kWeak);
      if (weakest < 0) break;
      tried[map_->model().chosen[weakest]] = true;
      std::unique_ptr<StructuredMap> kept = std::move(map_);
      const VectorXd kept_out = out_log_odds_;
      std::vector<bool> leaves(kept->model().chosen.size(), false);
      leaves[weakest] = true;
      MeanFieldResult trial;
      trial.passes = result.passes;
      try {
        without(*kept, leaves);
        map_->propose(1.0);
        climb(settings, keep_going, false, trial);
      } catch (const NumericError&) {
        trial.bound.clear();
      }
      const double before = result.bound.back();
      result.passes = trial.passes;
      result.rejected += trial.rejected;
      result.interrupted = trial.interrupted;
      if (trial.bound.empty() || trial.bound.back() < before + kWorth) {
        map_ = std::move(kept);
        out_log_odds_ = kept_out;
        ++failures;
        continue;
      }
      for (const double value : trial.bound) {
        if (value > result.bound.back()) result.bound.push_back(value);
      }
      result.largest_fall = std::max(result.largest_fall, trial.largest_fall);
      result.converged = trial.converged;
    }
  }

  void build(const std::vector<bool>& in_use) {
    map_ = std::make_unique<StructuredMap>(restrict_model(model_, in_use),
                                           model_.selection, model_.holes,
                                           executor_);
    anderson_.reset();
    restart();
  }

  // The map over fewer columns, at what `from` had accepted.
  void without(const StructuredMap& from, const std::vector<bool>& leaves) {
    const ActiveModel& old = from.model();
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
    map_->restrict(from, columns, chosen);
    look_at_hidden();
  }

  // Columns that are out leave, once there are enough of them to be worth a
  // new start of the extrapolation.
  void drop_columns() {
    const VectorXd& log_odds = map_->accepted().next_log_odds;
    std::vector<bool> leaves(log_odds.size(), false);
    std::size_t out = 0;
    for (Index k = 0; k < log_odds.size(); ++k) {
      leaves[k] = log_odds[k] < kOutLogOdds;
      out += leaves[k];
    }
    if (out == 0 || 16 * out < map_->model().columns.size()) return;
    const std::unique_ptr<StructuredMap> old = std::move(map_);
    without(*old, leaves);
  }

  // Log odds of the columns that left, under the fit without them; whether any
  // wants back in.
  bool look_at_hidden() {
    if (map_->model().hidden == 0) return false;
    const StructuredEvaluation& fit = map_->accepted();
    squares_ = hidden_squares(model_, map_->model(), fit.sums.kappa, fit.holes);
    const double prior = map_->selection().log_odds(fit.selection);
    // v_k has its prior: no covariance with the others.
    bool any = false;
    for (Index k = 0; k < squares_.size(); ++k) {
      if (map_->model().uses(k)) continue;
      out_log_odds_[k] = prior - 0.5 * squares_[k] / fit.selection.precision;
      any = any || out_log_odds_[k] >= kOutLogOdds;
    }
    return any;
  }

  // Columns that want back in start from the fit without them. False when
  // there are none.
  bool bring_back() {
    if (!look_at_hidden()) return false;
    const std::unique_ptr<StructuredMap> old = std::move(map_);
    const ActiveModel& before = old->model();
    std::vector<bool> in_use(model_.selection.size(), false);
    for (std::size_t k = 0; k < in_use.size(); ++k) {
      const Index at = static_cast<Index>(k);
      in_use[k] = before.uses(at) || out_log_odds_[at] >= kOutLogOdds;
    }
    build(in_use);
    const ActiveModel& now = map_->model();
    map_->widen(*old, positions(before.columns, now.columns),
                positions(before.chosen, now.chosen));
    for (std::size_t k = 0; k < now.chosen.size(); ++k) {
      const Index chosen = now.chosen[k];
      if (before.uses(chosen)) continue;
      map_->state.curvature.gram(now.selected[k], now.selected[k]) =
          squares_[chosen];
      map_->state.log_odds[static_cast<Index>(k)] = out_log_odds_[chosen];
    }
    return true;
  }

  void restart() {
    if (anderson_) anderson_->restart();
    fresh_ = true;
  }

  // Moves the proposal; false when there was nothing to extrapolate from.
  bool extrapolate() {
    StateVector& layout = map_->layout();
    const Index steering = layout.pack(map_->accepted_state, from_);
    layout.pack(map_->state, to_);
    if (!anderson_) {
      anderson_ = std::make_unique<Anderson>(from_.size(), steering, kMemory);
    }
    anderson_->combine(from_, to_);
    const bool moved = !fresh_;
    if (moved) layout.unpack(to_, map_->state);
    fresh_ = false;
    return moved;
  }

  StructuredModel model_;
  Executor& executor_;
  std::unique_ptr<StructuredMap> map_;
  std::unique_ptr<Anderson> anderson_;
  VectorXd out_log_odds_, squares_;  // of the columns that left, and A_kk
  VectorXd from_, to_;
  bool fresh_ = true;  // nothing to extrapolate from yet
};

}  // namespace bayeskernel

#endif
