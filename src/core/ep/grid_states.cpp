#include "ep/grid_states.hpp"

#include <utility>

#include "rows/sums.hpp"

namespace bayeskernel {

void GridStates::keep(const Place& at, const EpFit& fit) {
  EpState& state = states_[at];
  std::swap(state, spare_);
  fit.save(state);
}

void GridStates::forget(const Place& at) {
  const auto found = states_.find(at);
  if (found == states_.end()) return;
  spare_ = std::move(found->second);
  states_.erase(found);
}

const EpState* GridStates::find(const Place& at) const {
  const auto found = states_.find(at);
  return found == states_.end() ? nullptr : &found->second;
}

bool GridStates::extrapolate(Place place, Index axis, int side,
                             EpState& out) const {
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

bool GridStates::combine(const std::array<const EpState*, 3>& from,
                         const std::array<double, 3>& weight, EpState& out) {
  const bool two = weight[2] == 0.0;
  const EpState &s = *from[0], &t = *from[1], &u = two ? t : *from[2];
  const auto add = [&](const auto& a, const auto& b, const auto& c, auto& to) {
    if (two) {
      to = weight[0] * a + weight[1] * b;
    } else {
      to = weight[0] * a + weight[1] * b + weight[2] * c;
    }
  };
  add(s.kappa, t.kappa, u.kappa, out.kappa);
  if ((out.kappa.array() < 0.2 * s.kappa.array()).any()) return false;
  const Curvature &k = s.curvature, &l = t.curvature, &m = u.curvature;
  add(s.b, t.b, u.b, out.b);
  add(k.gram, l.gram, m.gram, out.curvature.gram);
  add(k.cross, l.cross, m.cross, out.curvature.cross);
  add(k.group_gram, l.group_gram, m.group_gram, out.curvature.group_gram);
  add(s.shift.x, t.shift.x, u.shift.x, out.shift.x);
  add(s.shift.group, t.shift.group, u.shift.group, out.shift.group);
  return true;
}

}  // namespace bayeskernel
