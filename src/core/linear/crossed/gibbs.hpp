// Gibbs chain with crossed random effects: latents given f, by family
// (linear/gibbs_rules.hpp), then all of theta given these in one draw, then the
// variances, then a move along a scale. The joint draw perturbs the right-hand
// side,
//   A theta = b + sum sqrt(kappa_i) e_i (x_i, z_i) + Lambda^1/2 e  ~  N(b, A),
// and solves it (Papandreou & Yuille 2010, NIPS 23; Nishimura & Suchard 2023,
// J. Am. Stat. Assoc. 118, 2468-2481), so that the chain mixes as the one with
// dense columns does, whatever the numbers of rows and levels.
#pragma once

#include "eigen.hpp"
#include "linear/crossed/mean_field.hpp"
#include "linear/crossed/rows.hpp"
#include "linear/crossed/system.hpp"
#include "linear/gibbs.hpp"
#include "linear/gibbs_rules.hpp"
#include "linear/row_rules.hpp"
#include "linear/scale_move.hpp"
#include "parallel/executor.hpp"
#include "prior/blocks.hpp"

namespace bayeskernel {
class CrossedGibbs {
 public:
  CrossedGibbs(const CrossedRows& rows, const Prior& prior, Executor& executor,
               std::uint64_t seed, std::uint64_t chain,
               const RowModel& model = RowModel());

  GibbsState state;

  std::uint64_t chain() const { return chain_; }
  Index sweeps() const { return static_cast<Index>(state.sweep); }
  int steps() const { return steps_; }  // of the last solution
  double jitter() const { return system_.jitter(); }

  void sweep();

 private:
  void draw_coefficients();

  const CrossedRows& rows_;
  const Prior& prior_;
  Executor& executor_;
  std::uint64_t seed_, chain_;
  RowFacts facts_;
  std::unique_ptr<GibbsRule> rule_;
  NoiseDraw noise_;
  CrossedSystem system_;
  ScaleMove scale_move_;
  RowVectors numbers_;
  int steps_ = 0;
};
}  // namespace bayeskernel
