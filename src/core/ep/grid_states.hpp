// States of expectation propagation at points of a grid, from which it goes
// on at their neighbours.
#pragma once

#include <array>
#include <map>

#include "eigen.hpp"
#include "ep/fit.hpp"

namespace bayeskernel {
class GridStates {
 public:
  static constexpr Index kMost = 3;  // axes
  using Place = std::array<int, kMost>;

  static Place spread(const Place& times, Place at) {
    for (Index k = 0; k < kMost; ++k) at[k] *= times[k];
    return at;
  }

  void keep(const Place& at, const EpFit& fit);
  void forget(const Place& at);
  // Places become these multiples along the axes.
  void spread(const Place& times);
  std::size_t size() const { return states_.size(); }

  // Null: not kept.
  const EpState* find(const Place& at) const;

  // The messages at `place`, extrapolated from those kept behind it; false
  // where the neighbour has none. `side`: 1 or -1, the way along the axis.
  bool extrapolate(Place place, Index axis, int side, EpState& out) const;

 private:
  // False where a message would lose its sign.
  static bool combine(const std::vector<const EpState*>& from,
                      const std::vector<double>& weight, EpState& out);

  std::map<Place, EpState> states_;
  EpState spare_;  // memory
};
}  // namespace bayeskernel
