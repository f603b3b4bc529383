// Gibbs chain of the engine: the latents of the rows given f, by family
// (gibbs_rules.hpp), then (theta, u) given these with u integrated out of
// theta's draw, then the variances, then one move along a scale with the
// latents integrated out (scale_move.hpp). One sweep is one pass over the rows
// and a cheap one; sums that no draw changes are kept. The state between sweeps
// is the draw itself. The steps are public: a model with further steps
// (selection, missing values) puts its own sweep together (model_chain.hpp).
//
// Luts and Ormerod (2014), appendix A; Wenzel et al. (2017), eq. 4.
#pragma once

#include "eigen.hpp"
#include "linear/gibbs_rules.hpp"
#include "linear/pass.hpp"
#include "linear/row_rules.hpp"
#include "linear/scale_move.hpp"
#include "linear/system.hpp"
#include "parallel/executor.hpp"
#include "prior/blocks.hpp"
#include "rng/stream.hpp"
#include "rows/rows.hpp"
#include "rows/sums.hpp"

namespace bayeskernel {
// 1/sigma^2 or Psi^-1 of a block given sum v v' over the members that the data
// reach: the hidden ones keep their prior whatever the data say and are
// integrated out. `current` is the last draw.
MatrixXd draw_precision(Stream& stream, const Block& block, MatrixXd moment,
                        const MatrixXd& current);

struct GibbsState {
  ArrowVector point;                // theta, u
  std::vector<MatrixXd> precision;  // 1/sigma^2 or Psi^-1 of each block
  std::uint64_t sweep = 0;          // sweeps done
  // Of every row that theta was drawn with, where rows have residuals e_i (a /
  // w^2, sum z, omega): theta is drawn with them integrated out, they are drawn
  // after it.
  VectorXd latent;
  double noise = 1.0;  // 1 / v of a Gaussian likelihood
};

// Chains start apart, at variances from 1 upwards: too large a variance is
// corrected within sweeps, while effects that start near zero keep their
// variance small for long.
std::vector<MatrixXd> start_precisions(const Prior& prior, std::uint64_t seed,
                                       std::uint64_t chain);

void draw_variances(const Prior& prior, std::uint64_t seed, std::uint64_t chain,
                    GibbsState& state);

// What a chain is of beside rows and prior.
struct ChainParts {
  RowModel model;
  const ScatteredBlock* scattered = nullptr;
  bool rows_change = false;  // between sweeps, by somebody else
  bool gram = true;  // else sums are linear, and weights of rows are kept
};

class GibbsChain {
 public:
  GibbsChain(const RowSource& rows, const Prior& prior, Executor& executor,
             std::uint64_t seed, std::uint64_t chain,
             const ChainParts& parts = ChainParts());

  GibbsState state;

  std::uint64_t seed() const { return seed_; }
  std::uint64_t chain() const { return chain_; }
  Index sweeps() const { return static_cast<Index>(state.sweep); }
  // What latent_pass() leaves behind: sums, and where rows change the numbers
  // of each.
  const Sums& sums() const { return sums_; }
  RowMessages messages() const { return {kappa_.data(), linear_.data()}; }
  Index rows() const { return kappa_.size(); }  // whose messages are kept
  bool residuals() const { return facts_.residuals; }
  // The most that a factorisation had to add to a diagonal.
  double jitter() const { return jitter_; }

  void sweep();

  // The noise and the latents of all rows, and the sums that the next draw
  // needs, with the prior's part of the linear one.
  void latent_pass();

  void draw_coefficients();

  void draw_variances() {
    bayeskernel::draw_variances(prior_, seed_, chain_, state);
  }

  // The moves take turns, one a sweep. `scattered_precision` is that of the
  // scattered block, if there is one.
  void move_scale(double* scattered_precision = nullptr);

 private:
  void gather(double noise, Sums& out, Gather what);

  const Prior& prior_;
  std::uint64_t seed_, chain_;
  RowFacts facts_;
  Pass pass_;
  std::unique_ptr<GibbsRule> rule_;
  Repeats repeats_ = Repeats::nothing;
  NoiseDraw noise_;
  Gather what_;
  Sums sums_;
  Sums unit_;  // at v = 1, where all of them repeat
  VectorXd kappa_, linear_;
  bool gathered_ = false;
  ArrowSystem system_;
  bool factored_ = false;
  std::vector<MatrixXd> factored_with_;
  ScaleMove scale_move_;
  double jitter_ = 0.0;
};
}  // namespace bayeskernel
