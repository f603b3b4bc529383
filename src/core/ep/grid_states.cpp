#include "ep/grid_states.hpp"

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

void GridStates::spread(const Place& times) {
  std::map<Place, EpState> all;
  std::swap(all, states_);
  for (auto& [at, state] : all) {
    states_.emplace(spread(times, at), std::move(state));
  }
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
  if (behind[2] != nullptr &&
      combine({behind.begin(), behind.end()}, {3.0, -3.0, 1.0}, out)) {
    return true;
  }
  if (behind[1] == nullptr ||
      !combine({behind[0], behind[1]}, {2.0, -1.0}, out)) {
    out = *behind[0];
  }
  return true;
}

bool GridStates::combine(const std::vector<const EpState*>& from,
                         const std::vector<double>& weight, EpState& out) {
  if (!combine_messages(from, weight, out)) return false;
  const auto sum = [&](auto&& member, auto& to) {
    if (from.size() == 2) {
      to = weight[0] * member(*from[0]) + weight[1] * member(*from[1]);
    } else {
      to = weight[0] * member(*from[0]) + weight[1] * member(*from[1]) +
           weight[2] * member(*from[2]);
    }
  };
  using State = const EpState&;
  const auto gram = [](State s) -> auto& { return s.curvature.gram; };
  const auto cross = [](State s) -> auto& { return s.curvature.cross; };
  const auto group = [](State s) -> auto& { return s.curvature.group_gram; };
  const auto shift = [](State s) -> auto& { return s.shift.x; };
  const auto effects = [](State s) -> auto& { return s.shift.group; };
  sum(gram, out.curvature.gram);
  sum(cross, out.curvature.cross);
  sum(group, out.curvature.group_gram);
  sum(shift, out.shift.x);
  sum(effects, out.shift.group);
  return true;
}
}  // namespace bayeskernel
