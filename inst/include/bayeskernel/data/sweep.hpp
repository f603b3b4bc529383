// One sweep over the rows of a source, chunk by chunk. The blocks of a chunk are
// shared among threads and leave their sums in a slot each; the slots are
// gathered in the order of the blocks, so that results do not depend on the
// executor.
#ifndef BAYESKERNEL_DATA_SWEEP_HPP
#define BAYESKERNEL_DATA_SWEEP_HPP

#include <functional>

#include "../parallel/executor.hpp"
#include "rows.hpp"

namespace bayeskernel {

// A sweep was given up between two chunks.
struct PassInterrupted {};

struct Sweep {
  const RowSource& rows;
  Executor& executor;
  // Asked between chunks with the share of the rows that is done; false gives
  // the sweep up with PassInterrupted.
  std::function<bool(double)> go_on;

  // The chunks begin .. end - 1: visit(block, slot) on any thread, with slots
  // from 0 in every chunk; gather(slots) after the chunk.
  void run(Index begin, Index end,
           const std::function<void(Index block, Index slot)>& visit,
           const std::function<void(Index slots)>& gather = nullptr) const {
    const Index chunks = rows.chunks();
    for (Index c = begin; c < end; ++c) {
      if (c > 0 && go_on &&
          !go_on(static_cast<double>(c) / static_cast<double>(chunks))) {
        throw PassInterrupted();
      }
      // After the last chunk comes the first, in the next sweep.
      rows.load(c, c + 1 < chunks ? c + 1 : (chunks > 1 ? 0 : -1));
      const Index first = rows.chunk_begin(c);
      const Index slots = rows.chunk_begin(c + 1) - first;
      executor.run(slots, [&](Index slot) { visit(first + slot, slot); });
      if (gather) gather(slots);
    }
  }
  void run(const std::function<void(Index block, Index slot)>& visit) const {
    run(0, rows.chunks(), visit);
  }
};

}  // namespace bayeskernel

#endif
