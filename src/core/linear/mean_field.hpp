// Mean-field fit of any family: coordinate ascent whose step in the mean is
// taken with the exact curvature of the bound instead of the conditional
// precision. Rules whose weights are that curvature take one kind of step,
// shortened where it lowers the bound: (1 - d) times the natural parameters of
// q and d times the new ones. Two further factors of q may join: indicators of
// columns and missing values. Plain steps make all updates in their order; accelerated ones
// take gamma from the sums at the new weights, because a long step makes the
// old ones a bad guide.
#ifndef BAYESKERNEL_LINEAR_MEAN_FIELD_HPP
#define BAYESKERNEL_LINEAR_MEAN_FIELD_HPP

#include <Eigen/Core>
#include <cmath>
#include <functional>
#include <limits>
#include <utility>
#include <vector>

#include "error.hpp"
#include "linear/missing_values.hpp"
#include "prior/indicators.hpp"
#include "optim/ascent.hpp"
#include "prior/blocks.hpp"
#include "linear/gaussian.hpp"
#include "linear/noise.hpp"
#include "linear/pass.hpp"
#include "linear/row_rules.hpp"
#include "linear/state.hpp"
#include "linear/system.hpp"

namespace bayeskernel {

// Where an iteration may start: a point, the curvature kappa (x, z)(x, z)'
// around it, the precisions of the blocks and the noise of Gaussian rows.
struct MeanFieldStart {
  ArrowVector mean;
  Curvature curvature;
  std::vector<MatrixXd> precision;
  NoisePosterior noise{};
};

// A pass that is run elsewhere, by who keeps the rows: adds the sums, and sets
// kappa by row where that is kept (null: not).
struct MeanFieldPass {
  const GaussianPosterior* q;  // null: the start
  bool with_newton;
  double noise;  // E[1/v] of Gaussian rows
  const std::vector<MatrixXd>& precision;  // of the blocks, for open residuals
};
using RemoteMeanField =
    std::function<void(const MeanFieldPass&, Sums&, double* kappa)>;

// What an evaluation of a state leaves behind.
struct MeanFieldEvaluation {
  Sums sums;                       // linear: the gradient in E(gamma theta, u)
  ArrowVector shift;               // h of the bare columns, with indicators
  VectorXd mean, variance, kappa;  // by row, where kept
  VectorXd linear;                 // the same, with open residuals
  VectorXd share;                  // by atom, the probability rho
  std::vector<MatrixXd> moment;  // of the blocks' members, second
  std::vector<BlockPosterior> variances;
  std::vector<MatrixXd> precision;  // for the next step
  NoisePosterior noise;
  IndicatorPosterior indicators;
  VectorXd next_log_odds;
  MissingPosterior missing;
  double bound = -std::numeric_limits<double>::infinity();
};

class MeanFieldFit final : public AscentModel {
 public:
  // Without `row_moments` nothing of the size of the data is kept.
  MeanFieldFit(const RowSource& rows, const Prior& prior, Executor& executor,
               Indicators* indicators = nullptr,
               MissingValues* missing = nullptr, bool row_moments = true,
               const RowModel& model = RowModel())
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
        pull_(p_, r_, groups_),
        step_(p_, r_, groups_),
        ones_(VectorXd::Ones(missing != nullptr ? p_ : 0)) {
    if (missing != nullptr && (model.family != Family::hinge || model.direct)) {
      throw ArgumentError("missing values of this family are atoms");
    }
    if (indicators != nullptr && model.may_overshoot()) {
      throw ArgumentError("selection needs rows that are quadratic in f");
    }
    if ((indicators || missing) && model.open != nullptr) {
      throw ArgumentError(
          "residuals of a learned variance go with neither selection nor "
          "missing values, unless these are atoms");
    }
    moments_.q = &q_;
    const Index n = rows.rows();
    for (MeanFieldEvaluation* e : {&trial_, &accepted_}) {
      e->sums = Sums(p_, r_, groups_);
      e->mean = e->variance = VectorXd::Zero(row_moments ? n : 0);
      e->kappa = VectorXd::Zero(indicators || missing || model.open ? n : 0);
      e->linear = VectorXd::Zero(model.open ? n : 0);
      e->share = VectorXd::Zero(model.atoms != nullptr ? n : 0);
    }
  }
  MeanFieldFit(const MeanFieldFit&) = delete;
  MeanFieldFit& operator=(const MeanFieldFit&) = delete;

  // `warm`, if given, replaces the start c = 1 and the pass that it takes.
  // Interrupted, it leaves the last accepted state, if there was one.
  MeanFieldResult run(const MeanFieldSettings& settings,
                      const KeepGoing& keep_going,
                      const MeanFieldStart* warm = nullptr) {
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

  // q at a start, without a pass over the rows: what remains of one given up.
  void adopt(const MeanFieldStart& at) {
    state.mean = at.mean;
    state.curvature = at.curvature;
    state.precision = at.precision;
    state.noise = at.noise.precision;
    accepted_state = state;
    accepted_.noise = at.noise;
    set_posterior();
    update_blocks(accepted_);
  }

  // The fit: q(theta, u), the variances' q, moments of f by row.
  const GaussianPosterior& posterior() const { return q_; }
  const ArrowSystem& system() const { return system_; }
  const std::vector<BlockPosterior>& variances() const {
    return accepted_.variances;
  }
  // E[1/sigma^2], E[Psi^-1] under which q(theta, u) was formed.
  const std::vector<MatrixXd>& precisions() const {
    return accepted_state.precision;
  }
  // That of the noise of Gaussian rows.
  const NoisePosterior& noise() const { return accepted_.noise; }
  const RowModel& model() const { return model_; }
  const VectorXd& mean() const { return accepted_.mean; }
  const VectorXd& variance() const { return accepted_.variance; }
  const MeanFieldEvaluation& accepted() const { return accepted_; }
  // From where another fit of these columns may start.
  MeanFieldStart warm_start() const {
    return {accepted_state.mean, accepted_.sums.curvature,
            accepted_state.precision, accepted_.noise};
  }
  // Passes are run elsewhere: of complete rows or atoms, without indicators,
  // whose moments and shares are not kept here.
  void delegate(RemoteMeanField remote) {
    pass_.delegate([this, remote = std::move(remote)](
                       const GaussianPosterior* q, bool with_newton, Sums& out,
                       const RowStore& store) {
      remote({q, with_newton, state.noise, state.precision}, out, store.kappa);
    });
  }
  // The smallest y E f of all rows.
  double margin() const { return accepted_.sums.margin; }

  // --- steps, for a driver that changes the columns ---------------------------

  MeanFieldState state, accepted_state;

  // Interrupts are asked for inside passes, too. What is given is referred to
  // until unwatch().
  void watch(const MeanFieldSettings& settings, const KeepGoing& keep_going,
             const MeanFieldResult& result) {
    pass_.watch([&](double share) {
      return keep_going({result.passes + share,
                         static_cast<double>(settings.max_passes), "vb"});
    });
  }
  void unwatch() { pass_.watch(nullptr); }

  // By default c = 1, or f ~ N(offset, 1) in other families, unit precisions,
  // missing values at their observed means, and E gamma = `inclusion` by
  // selection column: the proposal is the mean that they imply.
  void start(MeanFieldResult& result, const VectorXd& inclusion = VectorXd()) {
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
    rules_.set_share(out.share);
    pass_.run(Moments(), rules_.start(), Second::none, out.sums, store(out));
    ++result.passes;
    complete(false, out);
    propose(model_.may_overshoot() ? 0.0 : 1.0);
  }

  bool restart(MeanFieldResult& result) override {
    if (warm_ == nullptr) return false;
    warm_ = nullptr;
    start(result);
    return true;
  }

  bool evaluate(const Step& step) override {
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

  double bound() const override { return trial_.bound; }

  // Whether the trial takes a column across E gamma = 1/2.
  bool decides() const override {
    return ((accepted_.next_log_odds.array() > 0.0) !=
            (trial_.next_log_odds.array() > 0.0))
        .any();
  }

  bool accept() override {
    std::swap(accepted_, trial_);
    accepted_state = state;
    return false;
  }

  // Sums and factors by coordinate ascent, the mean by a step of precision
  //   damping * conditional precision + (1 - damping) * exact curvature,
  // or, where that may overshoot, of length 1 - damping.
  double propose(double damping) override {
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
      pull_.x = inclusion_.cwiseProduct(from.shift.x);
      pull_.group = from.shift.group;
      add_product(scaled_, state.mean, -1.0, pull_);
    } else {
      pull_ = from.sums.linear;
    }
    prior_.subtract_pull(state.precision, state.mean, pull_);
    const double length = model_.may_overshoot() ? 1.0 - damping : 1.0;
    if (length < 1.0) shorten(damping);
    const bool blended =
        damping < 1.0 && (indicators_ || second_ != Second::none);
    if (blended) blend(damping);
    step_system_.factor(blended ? scaled_ : conditional(), prior_,
                        state.precision);
    step_system_.solve(pull_, step_);
    state.mean.x += length * step_.x;
    state.mean.group += length * step_.group;
    return 0.5 * pull_.dot(step_);
  }

  // The covariance follows the mean where the weights are the curvature.
  bool promises_all() const override {
    return second_ == Second::none && !indicators_ && !model_.learns_noise() &&
           !prior_.learns();
  }

  Index pack(VectorXd& accepted, VectorXd& proposal) override {
    const Index steering = layout_.pack(accepted_state, accepted);
    layout_.pack(state, proposal);
    return steering;
  }
  void unpack(const VectorXd& proposal) override {
    layout_.unpack(proposal, state);
  }

  // q(theta, u) of the accepted state.
  void finish() {
    state = accepted_state;
    set_posterior();
  }

  // Takes over an accepted step of the same model on more columns: `columns`
  // and `chosen` are those kept, as positions there.
  void restrict_from(const MeanFieldFit& from,
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
    keep(chosen, accepted_.indicators.prior_share);
    keep(chosen, accepted_.next_log_odds);
    keep(columns, accepted_state.mean.x);
    keep(chosen, accepted_state.log_b);
    keep(chosen, accepted_state.log_odds);
    keep(columns, accepted_state.curvature);
    state = accepted_state;
  }

  // Starts where the same model on fewer columns was accepted; those columns
  // are at `columns` and `chosen` here, the others are at zero.
  void widen_from(const MeanFieldFit& from, const std::vector<Index>& columns,
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

 private:
  // run() refers to what it was given, and to its result, only while it runs.
  struct Watched {
    Watched(MeanFieldFit& fit, const MeanFieldSettings& settings,
            const KeepGoing& keep_going, const MeanFieldResult& result)
        : fit(fit) {
      fit.watch(settings, keep_going, result);
    }
    ~Watched() { fit.unwatch(); }
    MeanFieldFit& fit;
  };

  static void keep(const std::vector<Index>& at, VectorXd& v) {
    for (std::size_t k = 0; k < at.size(); ++k) v[k] = v[at[k]];
    v.conservativeResize(static_cast<Index>(at.size()));
  }

  // Positions increase, so that the lower triangle stays one.
  static void keep(const std::vector<Index>& at, Curvature& c) {
    const Index p = static_cast<Index>(at.size());
    MatrixXd gram(p, p), cross(p, c.cross.cols());
    for (Index k = 0; k < p; ++k) {
      for (Index j = 0; j < p; ++j) gram(j, k) = c.gram(at[j], at[k]);
      cross.row(k) = c.cross.row(at[k]);
    }
    c.gram.swap(gram);
    c.cross.swap(cross);
  }

  static RowStore store(MeanFieldEvaluation& to) {
    RowStore out;
    if (to.mean.size() > 0) {
      out.mean = to.mean.data();
      out.variance = to.variance.data();
    }
    if (to.kappa.size() > 0) out.kappa = to.kappa.data();
    if (to.linear.size() > 0) out.linear = to.linear.data();
    return out;
  }

  // E gamma at the state and the sums times it.
  void scale_columns() {
    inclusion_ = indicators_->by_column(state.log_odds);
    indicators_->scale(inclusion_, state.log_b, state.log_slab,
                       state.curvature, scaled_);
  }

  // The data's part of the precision of q at the state.
  const Curvature& conditional() const {
    return indicators_ ? scaled_ : state.curvature;
  }

  // The share `old` of the accepted precision of q stays.
  void shorten(double old) {
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

  // scaled_ becomes the matrix of the step in the mean.
  void blend(double damping) {
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
      scaled_.gram(c, c) -= w * (1.0 - from.indicators.prior_share[k]) *
                            std::exp(state.log_b[k] + state.log_slab);
    }
  }

  bool set_posterior() {
    if (indicators_) scale_columns();
    system_.factor(conditional(), prior_, state.precision);
    q_.mean = state.mean;
    q_.set_covariance(system_);
    if (indicators_ || missing_) covariance_ = q_.theta_covariance();
    return q_.mean.x.allFinite();
  }

  // What the missing values add to the sums, and h of the bare columns.
  void complete(bool with_newton, MeanFieldEvaluation& out) {
    if (missing_) {
      missing_->add_curvature(out.missing, out.kappa, at_, with_newton,
                              out.sums);
    }
    if (!indicators_) return;
    out.shift = out.sums.linear;
    add_product(out.sums.curvature, at_, 1.0, out.shift);
  }

  void update_odds(const MeanFieldEvaluation& from, const IndicatorPosterior& q,
                   VectorXd& odds) {
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

  double update_indicators(MeanFieldEvaluation& out) {
    if (!indicators_) return 0.0;
    inclusion_ = indicators_->by_column(out.indicators.log_odds);
    const bool all_in = (inclusion_.array() == 1.0).all();
    moments_.column_mean = all_in ? VectorXd() : inclusion_;
    return indicators_->update(q_.mean.x, covariance_, std::exp(state.log_slab),
                               moments_.column_var, out.indicators);
  }

  double update_blocks(MeanFieldEvaluation& out) const {
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
      bound += Prior::bound(block, out.variances.back(), moment,
                            state.precision[l]) +
               0.5 * static_cast<double>(block.hidden);
    }
    return bound;
  }

  // The pass at q, and what the noise adds to the rows' part of the bound.
  double update_rows(Second second, MeanFieldEvaluation& out) {
    if (model_.open != nullptr) model_.open->set(state.precision);
    const double gain = run_pass(second, out);
    if (model_.open != nullptr) {
      model_.open->update(prior_, out.moment, out.kappa, out.variances,
                          out.precision);
    }
    return gain;
  }

  double run_pass(Second second, MeanFieldEvaluation& out) {
    NoisePosterior seen;
    seen.precision = state.noise;
    rules_.set_noise(seen.noise());
    rules_.set_share(out.share);
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

  double update_missing(MeanFieldEvaluation& out) {
    if (!missing_) return 0.0;
    const EffectMoments effect{q_, system_, covariance_,
                               indicators_ ? inclusion_ : ones_};
    missing_->update(effect, state.missing_scale, state.missing_precision,
                     state.missing_center, out.missing);
    return out.missing.bound;
  }

  const Prior& prior_;
  const RowModel model_;
  RowRules rules_;
  Second second_;
  Indicators* indicators_;
  MissingValues* missing_;
  Index p_, r_, groups_;
  StateVector layout_;
  Pass pass_;
  ArrowSystem system_, step_system_;
  GaussianPosterior q_;
  Moments moments_;
  ArrowVector pull_, step_, at_;
  Curvature scaled_;
  MatrixXd covariance_;
  VectorXd inclusion_, ones_;
  MeanFieldEvaluation trial_, accepted_;
  const MeanFieldStart* warm_ = nullptr;
};

}  // namespace bayeskernel

#endif
