// Selection by expectation propagation: sites of the rows and of the columns
// (selection_sites.hpp) at each scale of the slab and each rho, these on a grid
// of x = log sigma_v^2 and, where rho is learned, of its logit, with weights Z
// times their density. The spike-and-slab law is not log-concave, so the
// messages can settle in several places: of several starts the one with the
// highest log Z goes on.
#pragma once

#include "eigen.hpp"
#include "ep/fit.hpp"
#include "ep/hyperparameters.hpp"
#include "ep/selection_sites.hpp"
#include "ep/settle.hpp"
#include "likelihood/family.hpp"
#include "optim/progress.hpp"
#include "parallel/executor.hpp"
#include "prior/blocks.hpp"
#include "prior/indicators.hpp"
#include "rows/rows.hpp"

namespace bayeskernel {
struct SelectionEpSettings {
  EpSettings passes;
  double scale = 0.0;  // of the slab, held; 0: on a grid
  double from = 0.0;   // x where the grid begins
  double step = 0.7;
  double drop = 6.5;   // nats below the best point where the grid ends
  int most = 40;       // points on either side
  VectorXd inclusion;  // probabilities to start from, if there are any
};

// One scale, and one rho.
struct SelectionPoint {
  double x = 0.0, logit_rho = 0.0, log_density = 0.0;
  double change = 0.0;
  bool converged = false;
  VectorXd inclusion, effect_mean, effect_variance;  // of the tilted laws
  VectorXd theta_mean, theta_variance;
  VectorXd leave_one_out, log_z;  // of rows
};

struct SelectionEpOutcome {
  VectorXd inclusion, effect_mean, effect_variance;
  VectorXd theta_mean, theta_variance;
  VectorXd leave_one_out;
  double log_evidence = 0.0;
  VectorXd x, logit_rho, weight;  // the grid
  VectorXd start;   // log Z (log density, with a grid) from each start
  EpResult result;  // change: of the point with the largest weight
};

class SelectionEp {
 public:
  SelectionEp(const RowSource& rows, const Prior& prior,
              const Selection& selection, Executor& executor, Family family,
              const NoisePrior& noise, KeepGoing keep_going)
      : rows_(rows),
        prior_(prior),
        selection_(selection),
        executor_(executor),
        family_(family),
        noise_(noise),
        keep_going_(std::move(keep_going)) {}

  SelectionEpOutcome run(const SelectionEpSettings& settings);

 private:
  // A fit together with what it points to.
  struct Fitted {
    Fitted(const SelectionEp& owner, double x, const VectorXd& in,
           double fraction);

    SelectionSites sites;
    EpFit fit;
    Hyperparameters hyper;

   private:
    const Prior& begin(double x, double rho, const VectorXd& in, double out);
  };

  // Messages of rows and columns with all else that a fit goes on from.
  struct Place {
    EpState rows;
    SelectionSites::State columns;
    std::vector<MatrixXd> precision;
    double noise_variance;
    double rho;
  };

  void best_start(double x, std::vector<SelectionPoint>& points,
                  SelectionEpOutcome& out);

  // Both ways from the first scale, each from its neighbour's messages.
  void surround(double from, std::vector<SelectionPoint>& points);

  // Points at one scale, both ways along the logit of rho from where it was
  // best at the last scale. Leaves the messages of the best one; its density.
  double at_scale(double x, std::vector<SelectionPoint>& points);

  // Log density of the logit of rho.
  double rho_density(double logit) const;

  // False where numbers are not finite.
  bool evaluate(Fitted& at, double x, double rho, SelectionPoint& point);

  Place place() const;
  void restore(const Place& from);

  void collect(const std::vector<SelectionPoint>& points,
               SelectionEpOutcome& out) const;

  const RowSource& rows_;
  const Prior& prior_;
  const Selection& selection_;
  Executor& executor_;
  Family family_;
  NoisePrior noise_;
  KeepGoing keep_going_;
  SelectionEpSettings settings_;
  bool held_ = false;
  double rho_ = 0.0, rho_step_ = 1.0;  // logit, and its step on the grid
  int passes_ = 0;
  std::unique_ptr<Fitted> fitted_;
};
}  // namespace bayeskernel
