// Moves of indicators along an ordered axis. Each is a
// list of candidates of the current state; the ratio q(back) / q(forward) looks
// at the list of the state that the candidate leads to.
#pragma once

#include <array>

#include "bark/inclusion_prior.hpp"
#include "eigen.hpp"
#include "rng/stream.hpp"

namespace bayeskernel {
// ---- Typed flips: a site of one of four kinds changes its state ------------

enum class SiteType { birth, death, merge, split, none };

SiteType site_type(const IndicatorVector& delta, Index site);

class TypedFlips {
 public:
  explicit TypedFlips(const IndicatorVector& delta);

  // A type that has sites, then one of them; -1 where there is none.
  Index draw(Stream& stream) const;

  double log_probability(Index site) const;

 private:
  Index size() const { return count_of(delta_); }

  const IndicatorVector& delta_;
  std::array<Index, 4> counts_{};
  Index types_ = 0;
};

IndicatorVector flipped(IndicatorVector delta, Index site);

// log q(back) - log q(forward). A flip turns the site into the opposite kind.
double typed_flip_log_ratio(const IndicatorVector& delta, Index site);

// ---- Block moves: an end of a block, or all of it, travels k sites ---------

enum class BlockAction { stretch, recess, shift };

struct BlockMove {
  BlockAction action = BlockAction::stretch;
  bool left = true;  // which end, or the direction of a shift
  Index first = 0;   // the block, first and last site
  Index last = 0;
  Index longest = 0;  // largest k

  // log of the half normal weight of k on 1..longest; its sd grows with the
  // block's length.
  double log_step(Index k) const { return log_weight(k) - std::log(total()); }

  Index draw_step(Stream& stream) const;

  void apply(IndicatorVector& delta, Index k) const;

 private:
  void fill(IndicatorVector& delta, bool at_left, char value, Index k,
            bool outside) const;

  double log_weight(Index k) const;

  double total() const;
};

// Every block, end and action that can go a step at least. Between two blocks
// one zero stays.
std::vector<BlockMove> block_menu(const IndicatorVector& delta);

// The move that leads back, in the menu of the new state.
bool leads_back(const BlockMove& back, const BlockMove& move, Index k);

// log q(back) - log q(forward) of one entry of the menu and k.
double block_move_log_ratio(const IndicatorVector& delta,
                            const std::vector<BlockMove>& menu,
                            const BlockMove& move, Index k);
}  // namespace bayeskernel
