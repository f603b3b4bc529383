// Stochastic variational steps over minibatches (Hoffman et al. 2013, J. Mach.
// Learn. Res. 14, 1303-1347): natural-gradient steps on the two statistics of
// q(theta), A = sum kappa x x' and h, of which a minibatch of s rows gives
// estimates n / s times its own sums. They end near the optimum, which
// MeanFieldFit then reaches from there.
// Cost of a step: s p^2 + p^3.
//
// The natural gradients are Wenzel et al. (2017), eq. 9 and 10.
#pragma once

#include <functional>

#include "eigen.hpp"
#include "linear/gaussian.hpp"
#include "linear/groups.hpp"
#include "linear/mean_field.hpp"
#include "linear/minibatches.hpp"
#include "linear/noise.hpp"
#include "linear/pass.hpp"
#include "linear/row_rules.hpp"
#include "linear/system.hpp"
#include "optim/progress.hpp"
#include "parallel/executor.hpp"
#include "prior/blocks.hpp"
#include "rows/rows.hpp"
#include "rows/sums.hpp"

namespace bayeskernel {
// Minibatches of rows that others have: the rows of their chunks, and the sums
// of one at q (null: the start) with this precision of the noise, which are
// added to those that are given.
struct RemoteMinibatches {
  std::vector<Index> chunk_rows;
  std::function<void(const BatchPlace&, const StochasticSettings&,
                     const GaussianPosterior*, double, Sums&)>
      pass;
};

class StochasticFit {
 public:
  // What the model sees of the rows of a minibatch.
  using RowMap = std::function<std::unique_ptr<DerivedRows>(const RowSource&)>;

  // What looks at q after a step of those that are not averaged, from a
  // minibatch whose rows count so many times each; the map may depend on it.
  using Visit =
      std::function<void(const RowSource&, const GaussianPosterior&, double)>;

  // Without `map` it sees the rows themselves.
  StochasticFit(const RowSource& rows, const Prior& prior, Executor& executor,
                const StochasticSettings& settings, const RowMap& map = nullptr,
                const RowModel& model = RowModel(),
                const RemoteMinibatches* remote = nullptr);

  // False when it was told to stop. Throws NumericError when the steps leave
  // no proper q.
  bool run(const KeepGoing& keep_going, const Visit& visit = nullptr);

  // Whether the bound settled before the epochs were over.
  bool settled() const { return settled_; }
  // Means of the minibatches' bounds, one per block of steps (with
  // `tolerance`).
  const std::vector<double>& bound() const { return watch_.mean; }
  // q(theta) after the last step, or epoch.
  const GaussianPosterior& posterior() const { return q_; }
  Index steps() const { return steps_; }

  // The averaged state, for full passes to start from.
  MeanFieldStart state();

 private:
  // A and h of q(theta), group effects eliminated.
  struct Statistics {
    explicit Statistics(Index p);
    // Towards `other` by the share rho.
    void approach(const Statistics& other, double rho);
    MatrixXd& a() { return curvature.gram; }  // lower triangle
    const MatrixXd& a() const { return curvature.gram; }
    Curvature curvature;
    VectorXd h;
  };

  // The bound over blocks of steps.
  struct Watch {
    Index length = 50, steps = 0;
    double sum = 0.0, squares = 0.0;
    int calm = 0;  // blocks without a change, running
    std::vector<double> mean;
  };
  // Moving averages of the adaptive rate.
  struct Adaptive {
    Index first = 20;  // minibatches before the first step
    Index seen = 0;
    double tau = 20.0, squared = 0.0;
    MatrixXd a;
    VectorXd h;
  };

  void take_step(bool in_average);

  void pass(const GaussianPosterior* q);

  // q(v) by a step of its own rate, which the rows add up to.
  void update_noise(double rho);

  // n / s times the sums of the minibatch at q, or at c = 1 without.
  void make_estimate(const GaussianPosterior* q);

  void rescale();

  // Ranganath et al. on g = (h^ - h, -(A^ - A) / 2); 0 while the averages are
  // filled. Never below `least`: noise in the slow directions stalls it.
  double adaptive_rate(double least);

  // Stops when the mean bound of two blocks in a row changed by less than its
  // standard error, or than the tolerance. The average is that of the block.
  void watch();

  // q(theta) = N((A + Lambda)^-1 (h + P0 mu0), (A + Lambda)^-1).
  void move_to(const Statistics& at);

  // Whole groups: at the current q(theta) the rows' c and the effects u_g of
  // the minibatch are iterated to their optimum, whose statistics, effects
  // eliminated, are the estimate.
  void group_estimate();

  // Terms of the bound of the groups in a minibatch.
  double group_bound(const GaussianPosterior& q, const ArrowSystem& system,
                     const MatrixXd& precision) const;

  // Statistics of theta and the last of every group, put together: `whole_`
  // and `system` are its precision, the result its mean.
  ArrowVector whole_point(const Statistics& at, ArrowSystem& system);

  // q of the blocks' variances.
  void update_precisions(const Statistics& at);

  const RowSource& rows_;
  const Prior& prior_;
  StochasticSettings settings_;
  const RowModel model_;
  RowRules rules_;
  Index p_, r_;
  const RemoteMinibatches* remote_;
  Minibatches batches_;
  std::unique_ptr<DerivedRows> derived_;
  Pass pass_;
  Sums sums_;  // of the minibatch, at the q that its estimate was made with
  double batch_bound_ = 0.0;  // terms of the bound of its rows and groups
  Statistics estimate_, current_, average_;
  ArrowSystem system_;
  GaussianPosterior q_;
  Curvature whole_;       // cross and group_gram: last visit of each group
  MatrixXd group_shift_;  // h_g of that visit
  std::vector<MatrixXd> precision_;
  NoisePosterior noise_;
  Index steps_ = 0;
  Index averaged_ = 0;
  double scale_ = 1.0;  // n / s of the minibatch
  Watch watch_;
  Adaptive adaptive_;
  bool settled_ = false;
};
}  // namespace bayeskernel
