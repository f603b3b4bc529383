// The first part of a mean-field fit with selection where there are more
// columns than rows: coordinate ascent in the n x n form (wide_posterior.hpp),
// in which columns that are out leave. It ends when no more are left than rows,
// or at convergence.
//
// Luts and Ormerod (2014), section 3.2, for more columns than rows.
#pragma once

#include "eigen.hpp"
#include "likelihood/rules.hpp"
#include "linear/noise.hpp"
#include "linear/row_rules.hpp"
#include "linear/state.hpp"
#include "optim/ascent.hpp"
#include "prior/blocks.hpp"
#include "prior/indicators.hpp"
#include "rows/rows.hpp"
#include "selection/active_columns.hpp"
#include "selection/dual/posterior.hpp"

namespace bayeskernel {
class WideFit final : public AscentModel {
 public:
  // Whether the form applies: complete rows, no block of random or penalised
  // effects, and a rule that is quadratic in f.
  static bool applies(const WholeModel& model);

  // `drop`: whether columns that are out leave.
  WideFit(const WholeModel& model, const VectorXd& inclusion, bool drop);

  std::vector<Index> chosen;  // selection columns in use
  MeanFieldState state;       // but for mean and curvature
  VectorXd kappa, linear;     // rows count as exp(-kappa f^2 / 2 + linear f)

  bool narrow() const;

  // q at the accepted state, of which the rest tells.
  void finish();
  VectorXd row_mean, row_variance;  // of f
  const IndicatorPosterior& indicators() const { return accepted_.q; }
  const NoisePosterior& noise() const { return accepted_.noise; }
  VectorXd mean() const;
  // Columns that left keep their prior.
  MatrixXd covariance() const;
  // Those that left as the weights of the rows have them.
  VectorXd log_odds() const;

  // The state as one of the dense model on its columns, `active`.
  void hand_over(const ActiveModel& active, MeanFieldState& to);

  bool evaluate(const Step&) override;

  double bound() const override { return trial_.bound; }

  bool decides() const override;

  bool accept() override;

  double propose(double damping) override;

  Index pack(VectorXd& accepted, VectorXd& proposal) override;
  void unpack(const VectorXd& from) override;

 private:
  static constexpr double kOddsWeight = 0.1, kClip = 30.0, kReach = 2.0,
                          kNear = 1e-4;

  struct Evaluation {
    IndicatorPosterior q;
    VectorXd kappa, linear;
    NoisePosterior noise;
    double settled = 1.0;  // the slab precision that the next ones tend to
    double bound = 0.0;
  };

  // Columns of x as the posterior has them.
  std::vector<Index> order() const;

  void build();

  void start(const VectorXd& inclusion);

  void set_posterior();

  // The rule at these moments; the rows' part of the bound.
  double pass(const Rule& rule, const VectorXd& m, const VectorXd& s,
              double noise, Evaluation& out);

  // Once they are enough to be worth a new start of the extrapolation.
  bool drop_columns();

  VectorXd coordinates() const;

  const WholeModel& model_;
  const PackedRows& rows_;
  RowRules rules_;
  bool drop_;
  double reach_ = kReach;  // of a step in log sigma_v^2
  double step_ = 0.0;      // that of the proposal
  std::vector<Index> fixed_;
  MatrixXd f_;
  Prior own_;  // of the fixed columns
  std::unique_ptr<WidePosterior> posterior_;
  std::unique_ptr<Indicators> indicators_;
  Evaluation trial_, accepted_;
  VectorXd accepted_state_;
};
}  // namespace bayeskernel
