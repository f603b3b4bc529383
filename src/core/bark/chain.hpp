// One chain of bark(). A sweep is one reversible jump move; every fifth one the
// variances of blocks and the latents, if there are any; one time in five,
// moves of the indicators and the scales; and every third one a draw of all
// precisions through the coefficients and of their common scale, else a step of
// the precision of the noise. In regressions without selection nearly every
// third moves all scales at once, and the others less often.
#pragma once

#include "bark/basis.hpp"
#include "bark/inclusion_prior.hpp"
#include "bark/joint_walk.hpp"
#include "bark/kernel_moves.hpp"
#include "bark/latent_sweep.hpp"
#include "bark/precision_draws.hpp"
#include "bark/prior.hpp"
#include "bark/scale_walks.hpp"
#include "bark/start_search.hpp"
#include "bark/state.hpp"
#include "bark/steps.hpp"
#include "eigen.hpp"
#include "expansion/collapsed_gaussian.hpp"
#include "mcmc/metropolis.hpp"
#include "rng/stream.hpp"

namespace bayeskernel {
// All that a chain goes on from, apart from data and prior.
struct BarkCheckpoint {
  std::vector<Index> location, count, unit_column;
  std::vector<double> varphi;
  VectorXd lambda;
  double phi = 1.0;
  double epsilon = 0.5;
  std::vector<double> block_variance;
  std::vector<double> latent, cuts;  // empty unless probit
  double probability = 0.5, q0 = 0.5, q1 = 0.5;
  std::vector<double> log_steps, learned;
  Index sweeps = 0;
};

class BarkChain {
 public:
  // `y`: the response, or class numbers 1..n_classes where n_classes > 0: these
  // have no weights.
  BarkChain(const BarkData& data, const std::vector<double>& y, int n_classes,
            const BarkPrior& prior, const ScaleSetting& setting,
            const InclusionPrior& inclusion, std::uint64_t seed,
            std::uint64_t id, Index warmup);

  BarkState state;
  std::unique_ptr<LatentSweep> latent;  // probit models
  BarkSchedule schedule;

  Index sweeps() const { return sweeps_; }
  // Proposed and accepted after warmup, moves x 2.
  const ArrayXXd& acceptance() const { return tally_.counts(); }

  // With the variables of `delta` in.
  void start(const IndicatorVector& delta);

  // From where another chain, or this one, was.
  void restore(const BarkCheckpoint& from);

  BarkCheckpoint checkpoint();

  // At a kept draw: sums are formed afresh, so that a chain that goes on from
  // checkpoint() does the same to the last bit.
  void settle() { state.refill(); }

  // b given the rest, of the blocks first: a draw beside the path of the chain.
  const double* draw_coefficients();

  void sweep();

 private:
  static constexpr int kNearest = 2;  // powers 1, 4 and 16 of K
  static constexpr double kLastHold = 10.0;

  // The variables of `delta` at the prior's mean scale; each further vector of
  // scales a tenth of the one before. Regression begins with more kernels than
  // are needed, each at the best of some places: from few that fit badly the
  // chain would first drop variables that kernels cannot yet use, and find them
  // again only after 10^5 sweeps. Else nu kernels at random places.
  void begin();

  // All but the number of sweeps.
  void take(const BarkCheckpoint& from);

  // ---- Most of the warmup of a regression: the search of a start

  void begin_run();
  void end_run();

  double score() const {
    return state.gaussian.log_marginal() + state.log_reach(state.lambda);
  }

  // In the first half of a run that begins, the noise has at least a share of
  // the response's variance that falls from 1 to exp(-kLastHold). Kernels of a
  // good fit hold one another and the scales where they are, so which variables
  // share a vector has to be found before the fit is good.
  void hold_noise();

  void move_kernels(Stream& stream);

  // A column anywhere to a neighbour, near or nearer.
  void shift_kernel(Stream& stream);

  void move_jointly(Stream& stream);

  void change_vector(Stream& stream);

  void move_latents(Stream& stream);

  std::uint64_t seed_, id_;
  Index warmup_;
  Index sweeps_ = 0;
  BarkTally tally_;
  KernelMoves kernels_;
  PrecisionDraws precisions_;
  ScaleWalks scales_;
  JointWalk joint_;
  StartSearch<BarkCheckpoint> search_;
  BarkCheckpoint first_;  // where the first run begins
};
}  // namespace bayeskernel
