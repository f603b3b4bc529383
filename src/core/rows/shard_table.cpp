#include "rows/shard_table.hpp"

namespace bayeskernel {
ShardTable shard_table(const RowSource& rows) {
  ShardTable out;
  for (Index s = 0; s < rows.shards(); ++s) {
    const Index begin = rows.shard_begin(s);
    const TileSpan span = rows.chunk_span(begin);
    out.chunk.push_back(begin);
    out.row.push_back(span.row_begin);
    out.group.push_back(span.group_begin);
  }
  out.chunk.push_back(rows.shard_begin(rows.shards()));
  out.row.push_back(rows.rows());
  out.group.push_back(rows.groups());
  return out;
}

ShardTable shard_table(Index rows, Index in_chunk) {
  const Index chunks = (rows + in_chunk - 1) / in_chunk;
  ShardTable out;
  for (Index s = 0; s <= RowSource::shards(chunks); ++s) {
    const Index begin = RowSource::shard_begin(s, chunks);
    out.chunk.push_back(begin);
    out.row.push_back(std::min(rows, begin * in_chunk));
    out.group.push_back(0);
  }
  return out;
}
}  // namespace bayeskernel
