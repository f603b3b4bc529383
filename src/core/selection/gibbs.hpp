// Selection steps of a Gibbs sweep: gamma with theta and u integrated out,
// (theta, u) jointly over the columns that are in, then b, sigma_v^2 and rho.
// After the pass over the rows that leaves the Gram: elimination of the groups
// G p^2 r, of the columns that are always in, one visit O(1), one change
// O(K^2), theta q^3 / 3.
//
// Luts and Ormerod (2014), appendix B, with the coefficients integrated out of
// the step.
#pragma once

#include "eigen.hpp"
#include "linear/gibbs.hpp"
#include "linear/groups.hpp"
#include "math/tableau.hpp"
#include "prior/blocks.hpp"
#include "prior/indicators.hpp"
#include "rng/distributions.hpp"
#include "rng/stream.hpp"
#include "rows/rows.hpp"
#include "selection/active_tableau.hpp"

namespace bayeskernel {
// K entries each, in the order of Selection::columns, equal over the columns of
// a unit where they are of its indicator. Effects gamma v are part of theta, 0
// when out; v of a column that is out is never formed.
struct SelectionState {
  VectorXd in;           // gamma, 0 or 1
  VectorXd b;            // v_k ~ N(0, 1 / (b_k precision))
  double precision = 1;  // 1 / sigma_v^2
  double logit_rho = 0;
  VectorXd probability;  // of gamma_k = 1 when last visited
};

class SelectionGibbs {
 public:
  // `wide`: the rows of a model with more columns than these, p x n, which
  // stay; its chain keeps the weights of the rows and sums no Gram.
  SelectionGibbs(const Selection& selection, const Prior& prior,
                 Index groups_width, Index groups, std::uint64_t seed,
                 std::uint64_t chain, const MatrixXd* wide = nullptr);

  // Whether a chain may take the form for more columns than rows: no groups, no
  // blocks, and rows that stay as they are.
  static bool wide(const PackedRows& rows, const Prior& prior,
                   bool rows_change);

  SelectionState state;

  // gamma, then theta and u of `chain`, whose latent_pass() was the last step.
  void draw_coefficients(GibbsChain& chain);

  // The most that a factorisation had to add to a diagonal.
  double jitter() const { return jitter_; }

  // b_k = 1 / a, a ~ GIG(1/2, 1, (v_k / sigma_v)^2), for columns that are in,
  // from the prior IG(1, 1/2) for the others, which tell sigma_v nothing.
  void draw_scales(GibbsChain& chain);

 private:
  // Few units: a fair coin for each, so that chains start apart. Many: empty,
  // which the first sweeps fill faster than they would clear a crowd.
  void start(std::uint64_t seed, std::uint64_t chain);

  // schur_, shift_ = precision and shift of theta with u integrated out.
  void reduce(const GibbsChain& chain);

  // reduced_, reduced_shift_: with the columns that are always in integrated
  // out as well, cross_ = L^-1 A_ks of their factor.
  void eliminate_kept();

  // The same steps over the columns that are in alone.
  void draw_wide(GibbsChain& chain);

  // Every indicator once, in random order.
  void draw_indicators(const GibbsChain& chain);

  // `place` of an indicator's column in the tableau.
  template <class Place, class T>
  void visit(const GibbsChain& chain, Place&& place, T& tableau) {
    Stream stream(chain.seed(), chain.chain(), Purpose::selection,
                  chain.state.sweep, 0);
    const Index size = count_of(units_);
    for (Index j = 0; j < size; ++j) order_[j] = j;
    for (Index left = size; left > 0; --left) {
      const Index pick = uniform_index(stream, left);
      std::swap(order_[left - 1], order_[pick]);
      const std::vector<Index>& unit = units_[order_[left - 1]];
      // With theta and u integrated out, given the others.
      const bool single = unit.size() == 1;
      double log_odds = state.logit_rho;
      for (const Index k : unit) {
        log_odds += 0.5 * std::log(state.b[k] * state.precision);
        log_odds += tableau.log_ratio(place(k));
        // The ratio of a unit is that of its columns one after another.
        if (!single) tableau.sweep(place(k));
      }
      const double probability = 1.0 / (1.0 + std::exp(-log_odds));
      const bool in = stream.uniform() < probability;
      for (const Index k : unit) {
        state.probability[k] = probability;
        state.in[k] = in ? 1.0 : 0.0;
        if (in == tableau.in(place(k))) continue;
        if (!single) tableau.log_ratio(place(k));
        tableau.sweep(place(k));
      }
    }
  }

  void list_active();

  // The columns that are in first, then the others given them.
  void draw_theta(Stream& stream, VectorXd& theta);

  void factor(Eigen::Ref<MatrixXd> a, Eigen::LLT<MatrixXd>& llt);

  const Selection& selection_;
  const Prior& prior_;
  std::vector<Index> always_;              // columns of x that are always in
  std::vector<std::vector<Index>> units_;  // columns by indicator
  EliminatedGroups groups_;
  double jitter_ = 0.0;
  MatrixXd schur_, kept_, cross_, reduced_, active_;
  VectorXd shift_, kept_shift_, reduced_shift_, active_shift_;
  Eigen::LLT<MatrixXd> kept_llt_, active_llt_;
  Tableau tableau_;
  std::unique_ptr<ActiveTableau> wide_;
  std::vector<Index> in_, order_;
};
}  // namespace bayeskernel
