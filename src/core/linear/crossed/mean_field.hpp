// Mean-field fit with crossed random effects at a cost linear in rows and
// levels: the ascent of linear/mean_field.hpp over the family of posterior.hpp,
// with the scales c = w / kappa of the rows in the state in place of sums.
//
// Luts and Ormerod (2014), section 3.1, of several grouping factors.
#pragma once

#include "eigen.hpp"
#include "likelihood/rules.hpp"
#include "linear/crossed/posterior.hpp"
#include "linear/crossed/rows.hpp"
#include "linear/crossed/system.hpp"
#include "linear/noise.hpp"
#include "linear/row_rules.hpp"
#include "linear/state.hpp"
#include "optim/ascent.hpp"
#include "optim/progress.hpp"
#include "parallel/executor.hpp"
#include "prior/blocks.hpp"
#include "rows/rows.hpp"
#include "rows/sums.hpp"

namespace bayeskernel {
// Numbers of every row.
struct RowVectors {
  VectorXd mean, variance, kappa, linear, newton;

  explicit RowVectors(Index n)
      : mean(n), variance(VectorXd::Ones(n)), kappa(n), linear(n), newton(n) {}

  // Mean at theta, variance under q if given, the rest by the rule; returns
  // the rows' part of the bound.
  double set(const CrossedRows& rows, Executor& executor,
             const ArrowVector& theta, const CrossedPosterior* q,
             const Rule& rule);
};

// sum of linear (x, z) over the rows; every effect adds up its own.
VectorXd crossed_linear(const CrossedRows& rows, const VectorXd& linear,
                        Executor& executor);

class CrossedMeanField final : AscentModel {
 public:
  // The effects of the terms are columns of theta behind those of x, in blocks
  // as those of other columns.
  CrossedMeanField(const CrossedRows& rows, const Prior& prior,
                   Executor& executor, const RowModel& model = RowModel());

  MeanFieldResult run(const MeanFieldSettings& settings,
                      const KeepGoing& keep_going);

  const VectorXd& theta() const { return accepted_state_.mean.x; }
  const CrossedPosterior& posterior() const { return q_; }
  const std::vector<BlockPosterior>& variances() const { return variances_; }
  const std::vector<MatrixXd>& precisions() const {
    return accepted_state_.precision;
  }
  const NoisePosterior& noise() const { return noise_; }
  const RowModel& model() const { return model_; }
  const VectorXd& responsibility() const {
    return responsibility_;
  }  // of completions
  const VectorXd& mean() const { return accepted_.mean; }
  const VectorXd& variance() const { return accepted_.variance; }
  double jitter() const { return system_.jitter(); }

 private:
  void set_posterior();

  bool evaluate(const Step&) override;

  // The rows' part of the bound, with that of the noise.
  double set_rows();

  // kappa and its inverse on the scale of the powers, which is in the state.
  VectorXd weights(const MeanFieldState& at) const;
  VectorXd scales(const VectorXd& kappa) const {
    constexpr double kLeast = 1e-12;
    return rows_.dense.weight.binaryExpr(kappa, [](double w, double k) {
      return w > 0.0 ? w / std::max(k, kLeast * w) : 1.0;
    });
  }

  double bound() const override { return bound_; }

  bool accept() override;

  double propose(double damping) override;

  Index pack(VectorXd& accepted, VectorXd& proposal) override;
  void unpack(const VectorXd& proposal) override {
    vector_.unpack(proposal, state_);
  }

  const CrossedRows& rows_;
  const Prior& prior_;
  Executor& executor_;
  const RowModel model_;
  RowRules rules_;
  Second second_;
  CrossedSystem system_, step_system_;
  CrossedPosterior q_;
  RowVectors trial_, accepted_;
  StateVector vector_;
  MeanFieldState state_, accepted_state_;
  std::vector<MatrixXd> next_precision_, trial_precision_;
  std::vector<BlockPosterior> variances_, trial_variances_;
  NoisePosterior noise_, trial_noise_;
  VectorXd responsibility_, trial_responsibility_;
  double bound_ = 0.0;
};
}  // namespace bayeskernel
