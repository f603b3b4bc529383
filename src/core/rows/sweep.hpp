// One sweep over the rows of a source, chunk by chunk. The blocks of a chunk
// are shared among threads and leave their sums in a slot each; the slots are
// gathered in the order of the blocks, so that results depend neither on the
// executor nor on how many slots there are.
#pragma once

#include <functional>

#include "eigen.hpp"
#include "parallel/executor.hpp"
#include "rows/rows.hpp"

namespace bayeskernel {
struct Sweep {
  const RowSource& rows;
  Executor& executor;
  // Asked between chunks with the share of the rows that is done; false gives
  // the sweep up with PassInterrupted.
  std::function<bool(double)> go_on;

  // How many slots of so many numbers the chunks begin .. end - 1 have: one a
  // block of a chunk, but of no more than two million numbers in all, or one a
  // thread.
  Index slots(Index begin, Index end, Index numbers) const;

  // The chunks begin .. end - 1: visit(block, slot) on any thread, for `most`
  // blocks of a chunk (0: for all) before gather() of so many slots.
  void run(Index begin, Index end,
           const std::function<void(Index block, Index slot)>& visit,
           const std::function<void(Index count)>& gather = nullptr,
           Index most = 0) const;
  void run(const std::function<void(Index block, Index slot)>& visit) const {
    run(0, rows.chunks(), visit);
  }
};
}  // namespace bayeskernel
