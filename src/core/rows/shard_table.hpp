// What rows are cut into, for those who share them.
#pragma once

#include "eigen.hpp"
#include "rows/rows.hpp"

namespace bayeskernel {
// The chunk, the row and the group that each shard begins with, counted from 0,
// then their numbers.
struct ShardTable {
  std::vector<Index> chunk, row, group;
};
ShardTable shard_table(const RowSource& rows);
// Of rows without groups, so many in a chunk.
ShardTable shard_table(Index rows, Index in_chunk);
}  // namespace bayeskernel
