// One chain of klr(). A sweep is a jump between numbers of kernels and one move
// each of a coefficient, a centre, every coordinate's scale, a coefficient with
// its scales, the frame U, and the intercept; then mu and tau. With normal
// coefficients it begins with the Polya-Gamma variables, given which the
// coefficients are integrated out of these moves, and ends with the
// coefficients and their precisions.
#pragma once

#include "eigen.hpp"
#include "klr/basis.hpp"
#include "klr/likelihood.hpp"
#include "klr/logistic_sum.hpp"
#include "klr/moves.hpp"
#include "klr/prior.hpp"
#include "klr/steps.hpp"
#include "mcmc/metropolis.hpp"
#include "rng/distributions.hpp"
#include "rng/stream.hpp"
#include "simd/aligned_buffer.hpp"

namespace bayeskernel {
// All that a chain goes on from, apart from data and prior.
struct LowRankCheckpoint {
  MatrixXd frame;
  std::vector<Index> centre;        // by kernel
  MatrixXd log_lambda;              // rank x kernels
  std::vector<double> coefficient;  // with the intercept in front
  std::vector<double> variance;     // likewise; empty where there is none
  double mu = 0.0, tau = 1.0;
  std::vector<double> log_steps;
  Index sweeps = 0;
};

class LowRankChain {
 public:
  // `signs`: +1 or -1 by row; 0 leaves a row out of the likelihood.
  LowRankChain(const LowRankData& data, const std::vector<double>& signs,
               const LowRankPrior& prior, Index rank, std::uint64_t seed,
               std::uint64_t id, Index warmup);

  const LowRankPrior& prior;
  ProjectedBasis basis;
  LowRankSchedule schedule;

  LowRankMoves& moves() { return *moves_; }
  KernelLikelihood& likelihood() { return *likelihood_; }
  IntegratedCoefficients* integrated() { return integrated_; }
  Index sweeps() const { return sweeps_; }
  double coefficient(Index j) const {
    return known_ != nullptr ? known_->parameter(j) : beta_[j];
  }
  double mu() const { return moves_->mu; }
  double tau() const { return moves_->tau; }
  // Proposed and accepted after warmup, moves x 2.
  const ArrayXXd& acceptance() const { return tally_.counts(); }

  void set_signs(const std::vector<double>& signs);

  // f at the rows, and with it the log likelihood.
  const double* f() { return value(), f_.data(); }
  double log_likelihood() { return value(); }

  // About as many kernels as the prior expects, coefficients from it but below
  // 3 in size, all scales 1. Chains with an even number start from the
  // directions of SAVE, which can be wrong, the others from random ones.
  void start(const MatrixXd& save);

  void restore(const LowRankCheckpoint& from);

  LowRankCheckpoint checkpoint();

  // At a kept draw: sums are formed afresh, so that a chain that goes on from
  // checkpoint() does the same to the last bit.
  void settle() { likelihood_->rebuild(); }

  void sweep();

 private:
  void move_kernels(Stream& stream);

  // beta | omega, and the variances | beta: varphi ~ Ga((alpha + 1) / 2,
  // (alpha eps^2 + b^2) / 2); the double exponential prior of the intercept is
  // normal with a variance s ~ Exp(rate^2 / 2), and rate^2 s given b_0 is a
  // generalised inverse Gaussian variable as that of a hinge.
  void draw_coefficients(Stream& stream);
  double draw_intercept_variance(Stream& stream);
  double intercept_variance(double scaled) const;

  // All coefficients that are of some size times one factor: where classes can
  // be told apart, f may grow without end and single steps hardly move it.
  // Refused where others would be of that size then. Variances go with the
  // squares of coefficients; omega is averaged over, and drawn anew before it
  // is used.
  void stretch(Stream& stream);
  // log of the prior's ratio with the Jacobian.
  double stretch_ratio(Index j, double log_factor) const;

  void set_column(Index j, double coefficient, double variance);

  // Forms f.
  double value();

  AlignedBuffer signs_, f_;
  std::vector<double> beta_, stretched_;
  LowRankTally tally_;
  std::unique_ptr<KernelLikelihood> likelihood_;
  KnownCoefficients* known_ = nullptr;
  IntegratedCoefficients* integrated_ = nullptr;
  std::unique_ptr<LowRankMoves> moves_;
  std::uint64_t seed_, id_;
  Index warmup_;
  Index sweeps_ = 0;
};
}  // namespace bayeskernel
