#include "rows/sweep.hpp"

namespace bayeskernel {
void Sweep::run(Index begin, Index end,
                const std::function<void(Index block, Index slot)>& visit,
                const std::function<void(Index count)>& gather,
                Index most) const {
  const Index chunks = rows.chunks();
  for (Index c = begin; c < end; ++c) {
    if (c > 0 && go_on &&
        !go_on(static_cast<double>(c) / static_cast<double>(chunks))) {
      throw PassInterrupted();
    }
    // After the last chunk comes the first, in the next sweep.
    rows.load(c, c + 1 < chunks ? c + 1 : (chunks > 1 ? 0 : -1));
    const Index last = rows.chunk_begin(c + 1);
    for (Index first = rows.chunk_begin(c); first < last;) {
      const Index left = last - first;
      const Index count = most > 0 ? std::min(most, left) : left;
      executor.run(count, [&](Index slot) { visit(first + slot, slot); });
      if (gather) gather(count);
      first += count;
    }
  }
}

Index Sweep::slots(Index begin, Index end, Index numbers) const {
  constexpr Index kNumbers = Index{1} << 21;
  Index blocks = 1;
  for (Index c = begin; c < end; ++c) {
    blocks = std::max(blocks, rows.chunk_begin(c + 1) - rows.chunk_begin(c));
  }
  const Index room = kNumbers / std::max<Index>(numbers, 1);
  return std::min(blocks, std::max<Index>(room, executor.threads()));
}
}  // namespace bayeskernel
