// States of expectation propagation at points of a lattice, from which it goes
// on at their neighbours.
#ifndef BAYESKERNEL_EP_LATTICE_STATES_HPP
#define BAYESKERNEL_EP_LATTICE_STATES_HPP

#include <Eigen/Core>
#include <array>
#include <cstddef>
#include <map>
#include <utility>

#include "fit.hpp"

namespace bayeskernel {

class LatticeStates {
 public:
  static constexpr Index kMost = 3;  // axes
  using Place = std::array<int, kMost>;

  void keep(const Place& at, EpState state) { states_[at] = std::move(state); }
  void forget(const Place& at) { states_.erase(at); }
  std::size_t size() const { return states_.size(); }

  // Null: not kept.
  const EpState* find(const Place& at) const {
    const auto found = states_.find(at);
    return found == states_.end() ? nullptr : &found->second;
  }

  // The messages at `place`, extrapolated from those kept behind it; false where
  // the neighbour has none. `side`: 1 or -1, the way along the axis.
  bool extrapolate(Place place, Index axis, int side, EpState& out) const {
    std::array<const EpState*, 3> behind{};
    for (const EpState*& s : behind) {
      place[axis] -= side;
      s = find(place);
      if (s == nullptr) break;
    }
    if (behind[0] == nullptr) return false;
    if (behind[2] != nullptr && combine(behind, {3.0, -3.0, 1.0}, out)) {
      return true;
    }
    if (behind[1] == nullptr || !combine(behind, {2.0, -1.0, 0.0}, out)) {
      out = *behind[0];
    }
    return true;
  }

 private:
  // False where a message would lose its sign.
  static bool combine(const std::array<const EpState*, 3>& from,
                      const std::array<double, 3>& weight, EpState& out) {
    out = *from[0];
    scale(weight[0], out);
    for (std::size_t k = 1; k < 3; ++k) {
      if (weight[k] == 0.0) continue;
      const EpState& s = *from[k];
      out.kappa += weight[k] * s.kappa;
      out.b += weight[k] * s.b;
      out.curvature.gram += weight[k] * s.curvature.gram;
      out.curvature.cross += weight[k] * s.curvature.cross;
      out.curvature.group_gram += weight[k] * s.curvature.group_gram;
      out.shift.x += weight[k] * s.shift.x;
      out.shift.group += weight[k] * s.shift.group;
    }
    return (out.kappa.array() >= 0.2 * from[0]->kappa.array()).all();
  }

  static void scale(double factor, EpState& s) {
    s.kappa *= factor;
    s.b *= factor;
    s.curvature.gram *= factor;
    s.curvature.cross *= factor;
    s.curvature.group_gram *= factor;
    s.shift.x *= factor;
    s.shift.group *= factor;
  }

  std::map<Place, EpState> states_;
};

}  // namespace bayeskernel

#endif
