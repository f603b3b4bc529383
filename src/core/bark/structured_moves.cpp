#include "bark/structured_moves.hpp"

#include "rng/categorical.hpp"
#include "rng/distributions.hpp"

namespace bayeskernel {
SiteType site_type(const IndicatorVector& delta, Index site) {
  const Index p = count_of(delta);
  const bool left = site > 0 && delta[site - 1];
  const bool right = site + 1 < p && delta[site + 1];
  if (left != right) return SiteType::none;
  if (delta[site]) return left ? SiteType::split : SiteType::death;
  return left ? SiteType::merge : SiteType::birth;
}

TypedFlips::TypedFlips(const IndicatorVector& delta) : delta_(delta) {
  for (Index i = 0; i < size(); ++i) {
    const SiteType type = site_type(delta, i);
    if (type != SiteType::none) ++counts_[static_cast<int>(type)];
  }
  for (const Index count : counts_) types_ += count > 0;
}

Index TypedFlips::draw(Stream& stream) const {
  if (types_ == 0) return -1;
  Index type = uniform_index(stream, types_);
  int which = 0;
  while (counts_[which] == 0 || type-- > 0) ++which;
  Index skip = uniform_index(stream, counts_[which]);
  for (Index i = 0; i < size(); ++i) {
    if (static_cast<int>(site_type(delta_, i)) == which && skip-- == 0) {
      return i;
    }
  }
  return -1;
}

double TypedFlips::log_probability(Index site) const {
  const SiteType type = site_type(delta_, site);
  return -std::log(static_cast<double>(types_) *
                   static_cast<double>(counts_[static_cast<int>(type)]));
}

IndicatorVector flipped(IndicatorVector delta, Index site) {
  delta[site] = !delta[site];
  return delta;
}

double typed_flip_log_ratio(const IndicatorVector& delta, Index site) {
  const IndicatorVector to = flipped(delta, site);
  return TypedFlips(to).log_probability(site) -
         TypedFlips(delta).log_probability(site);
}

Index BlockMove::draw_step(Stream& stream) const {
  return 1 + categorical(stream.uniform() * total(), longest,
                         [&](Index k) { return std::exp(log_weight(k + 1)); });
}

void BlockMove::apply(IndicatorVector& delta, Index k) const {
  const bool grows = action != BlockAction::recess;
  const bool shrinks = action != BlockAction::stretch;
  // The end that travels outwards, and the one that travels inwards.
  if (grows) fill(delta, left, 1, k, true);
  if (shrinks)
    fill(delta, left == (action == BlockAction::recess), 0, k, false);
}

void BlockMove::fill(IndicatorVector& delta, bool at_left, char value, Index k,
                     bool outside) const {
  for (Index j = 0; j < k; ++j) {
    const Index step = outside ? -1 - j : j;
    delta[at_left ? first + step : last - step] = value;
  }
}

double BlockMove::log_weight(Index k) const {
  const double sd = 1.0 + 0.5 * static_cast<double>(last - first + 1);
  const double z = static_cast<double>(k) / sd;
  return -0.5 * z * z;
}

double BlockMove::total() const {
  double sum = 0.0;
  for (Index k = 1; k <= longest; ++k) sum += std::exp(log_weight(k));
  return sum;
}

std::vector<BlockMove> block_menu(const IndicatorVector& delta) {
  std::vector<BlockMove> menu;
  const Index p = count_of(delta);
  Index room_left = 0;  // zeros since the last block, one kept
  const auto zeros_after = [&](Index site) {
    Index end = site;
    while (end < p && !delta[end]) ++end;
    return end < p ? end - site - 1 : end - site;
  };
  for (Index i = 0; i < p; ++i) {
    if (!delta[i]) {
      ++room_left;
      continue;
    }
    BlockMove move;
    move.first = i;
    while (i + 1 < p && delta[i + 1]) ++i;
    move.last = i;
    const Index room_right = zeros_after(i + 1);
    for (const bool left : {true, false}) {
      const Index room = left ? room_left : room_right;
      for (const BlockAction action :
           {BlockAction::stretch, BlockAction::recess, BlockAction::shift}) {
        move.left = left;
        move.action = action;
        move.longest =
            action == BlockAction::recess ? move.last - move.first : room;
        if (move.longest >= 1) menu.push_back(move);
      }
    }
    room_left = -1;
  }
  return menu;
}

bool leads_back(const BlockMove& back, const BlockMove& move, Index k) {
  const Index out = move.left ? -k : k;
  Index first = move.first, last = move.last;
  switch (move.action) {
    case BlockAction::stretch:
      (move.left ? first : last) += out;
      break;
    case BlockAction::recess:
      (move.left ? first : last) -= out;
      break;
    case BlockAction::shift:
      first += out;
      last += out;
      break;
  }
  if (back.first != first || back.last != last) return false;
  if (move.action == BlockAction::shift) {
    return back.action == BlockAction::shift && back.left != move.left;
  }
  return back.left == move.left && back.action != BlockAction::shift &&
         back.action != move.action;
}

double block_move_log_ratio(const IndicatorVector& delta,
                            const std::vector<BlockMove>& menu,
                            const BlockMove& move, Index k) {
  IndicatorVector to = delta;
  move.apply(to, k);
  const std::vector<BlockMove> menu_back = block_menu(to);
  for (const BlockMove& back : menu_back) {
    if (leads_back(back, move, k)) {
      return std::log(static_cast<double>(menu.size())) -
             std::log(static_cast<double>(menu_back.size())) +
             back.log_step(k) - move.log_step(k);
    }
  }
  return -std::numeric_limits<double>::infinity();
}
}  // namespace bayeskernel
