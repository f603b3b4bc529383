// Mean-field fit of any family: coordinate ascent whose steps in the mean are
// those of mean_field_step.hpp. Two further factors of q may join: indicators
// of columns and missing values. Plain steps make all updates in their order;
// accelerated ones take gamma from the sums at the new weights, because a long
// step makes the old ones a bad guide.
//
// Algorithms 1 and 2 of Luts and Ormerod (2014), sections 2.3 and 3.1, the
// groups of effects eliminated; with the steps of their algorithms 3 and 4.
#pragma once

#include "eigen.hpp"
#include "linear/evaluation.hpp"
#include "linear/gaussian.hpp"
#include "linear/mean_field_rows.hpp"
#include "linear/mean_field_step.hpp"
#include "linear/missing_values.hpp"
#include "linear/moments.hpp"
#include "linear/noise.hpp"
#include "linear/row_rules.hpp"
#include "linear/selected_columns.hpp"
#include "linear/state.hpp"
#include "linear/system.hpp"
#include "optim/ascent.hpp"
#include "optim/progress.hpp"
#include "parallel/executor.hpp"
#include "prior/blocks.hpp"
#include "prior/indicators.hpp"
#include "rows/rows.hpp"

namespace bayeskernel {
class MeanFieldFit final : public AscentModel {
 public:
  // Without `row_moments` nothing of the size of the data is kept.
  MeanFieldFit(const RowSource& rows, const Prior& prior, Executor& executor,
               Indicators* indicators = nullptr,
               MissingValues* missing = nullptr, bool row_moments = true,
               const RowModel& model = RowModel());
  MeanFieldFit(const MeanFieldFit&) = delete;
  MeanFieldFit& operator=(const MeanFieldFit&) = delete;

  // `warm`, if given, replaces the start c = 1 and the pass that it takes.
  // Interrupted, it leaves the last accepted state, if there was one.
  MeanFieldResult run(const MeanFieldSettings& settings,
                      const KeepGoing& keep_going,
                      const MeanFieldStart* warm = nullptr);

  // q at a start, without a pass over the rows: what remains of one given up.
  void adopt(const MeanFieldStart& at);

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
  const RowModel& model() const { return rows_.model(); }
  const VectorXd& mean() const { return accepted_.mean; }
  const VectorXd& variance() const { return accepted_.variance; }
  const MeanFieldEvaluation& accepted() const { return accepted_; }
  // From where another fit of these columns may start.
  MeanFieldStart warm_start() const;
  // Passes are run elsewhere: of complete rows or completions, without
  // indicators, whose moments and responsibilities are not kept here.
  void delegate(RemoteMeanField remote) {
    rows_.delegate(std::move(remote), state);
  }
  // The smallest y E f of all rows.
  double margin() const { return accepted_.sums.margin; }

  // --- steps, for a driver that changes the columns
  // ---------------------------

  MeanFieldState state, accepted_state;

  // Interrupts are asked for inside passes, too. What is given is referred to
  // until unwatch().
  void watch(const MeanFieldSettings& settings, const KeepGoing& keep_going,
             const MeanFieldResult& result);
  void unwatch() { rows_.watch(nullptr); }

  // By default c = 1, or f ~ N(offset, 1) in other families, unit precisions,
  // missing values at their observed means, and E gamma = `inclusion` by
  // selection column: the proposal is the mean that they imply.
  void start(MeanFieldResult& result, const VectorXd& inclusion = VectorXd());

  bool restart(MeanFieldResult& result) override;

  bool evaluate(const Step& step) override;

  double bound() const override { return trial_.bound; }

  // Whether the trial takes a column across E gamma = 1/2.
  bool decides() const override;

  bool accept() override;

  // Sums and factors by coordinate ascent, the mean by a step of precision
  //   damping * conditional precision + (1 - damping) * exact curvature,
  // or, where that may overshoot, of length 1 - damping.
  double propose(double damping) override;

  // The covariance follows the mean where the weights are the curvature.
  bool predicts_gain() const override;

  Index pack(VectorXd& accepted, VectorXd& proposal) override;
  void unpack(const VectorXd& proposal) override {
    layout_.unpack(proposal, state);
  }

  // q(theta, u) of the accepted state.
  void finish();

  // Takes over an accepted step.
  void adopt(MeanFieldState at, MeanFieldEvaluation accepted);

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

  // The data's part of the precision of q at the state.
  const Curvature& conditional() const {
    return columns_ ? columns_.scaled() : state.curvature;
  }

  EffectMoments effect() const {
    return {q_, system_, covariance_, columns_ ? columns_.inclusion() : ones_};
  }

  bool set_posterior();

  // What the missing values add to the sums, and h of the bare columns.
  void complete(bool with_newton, MeanFieldEvaluation& out);

  double update_blocks(MeanFieldEvaluation& out) const;

  double update_missing(MeanFieldEvaluation& out);

  const Prior& prior_;
  MeanFieldRows rows_;
  SelectedColumns columns_;
  MissingValues* missing_;
  Index p_, r_, groups_;
  StateVector layout_;
  ArrowSystem system_;
  MeanFieldStep step_;
  GaussianPosterior q_;
  Moments moments_;
  ArrowVector at_;
  MatrixXd covariance_;
  VectorXd ones_;
  MeanFieldEvaluation trial_, accepted_;
  const MeanFieldStart* warm_ = nullptr;
};
}  // namespace bayeskernel
