// One sweep over the rows of a source, chunk by chunk. The blocks of a chunk
// are shared among threads and leave their sums in a slot each; the slots are
// gathered in the order of the blocks, so that results depend neither on the
// executor nor on how many slots there are.
#ifndef BAYESKERNEL_ROWS_SWEEP_HPP
#define BAYESKERNEL_ROWS_SWEEP_HPP

#include <algorithm>
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
  Index slots(Index begin, Index end, Index numbers) const {
    constexpr Index kNumbers = Index{1} << 21;
    Index blocks = 1;
    for (Index c = begin; c < end; ++c) {
      blocks = std::max(blocks, rows.chunk_begin(c + 1) - rows.chunk_begin(c));
    }
    const Index room = kNumbers / std::max<Index>(numbers, 1);
    return std::min(blocks, std::max<Index>(room, executor.threads()));
  }

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

#endif
