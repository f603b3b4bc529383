#include "rows/rows.hpp"

namespace bayeskernel {
Index RowSource::groups() const {
  return group_begin_.empty() ? 0 : count_of(group_begin_) - 1;
}

bool RowSource::is_part(const TileSpan& span) const {
  return span.group_begin < span.group_end &&
         (group_begin(span.group_begin) < span.row_begin ||
          group_begin(span.group_end) > span.row_end);
}

auto RowSource::block_tiles(Index b) const -> Tiles {
  return {tiles_.data() + block_begin_[b], tiles_.data() + block_begin_[b + 1]};
}

TileSpan RowSource::chunk_span(Index c) const {
  const TileSpan& first = tiles_[block_begin_[chunk_begin_[c]]];
  const TileSpan& last = tiles_[block_begin_[chunk_begin_[c + 1]] - 1];
  return {first.row_begin, last.row_end, first.group_begin, last.group_end};
}

void RowSource::partition(Index n, std::vector<Index> group_begin, Index width,
                          Index block_rows, const std::vector<Index>& unit) {
  group_begin_ = std::move(group_begin);
  tiles_.clear();
  Index row = 0;
  Index group = 0;
  while (row < n) {
    TileSpan span{row, std::min(n, row + kTileRows), 0, 0, count_of(tiles_)};
    if (groups() > 0) {
      span.group_begin = group;
      if (group_begin_[group + 1] - group_begin_[group] > block_rows) {
        span.group_end = group + 1;
        span.row_end = std::min(span.row_end, group_begin_[group + 1]);
        keep_unit(unit, span);
        if (span.row_end == group_begin_[group + 1]) ++group;
      } else {
        do {
          ++group;
        } while (group < groups() &&
                 group_begin_[group + 1] <= row + kTileRows);
        span.group_end = group;
        span.row_end = group_begin_[group];
      }
    } else {
      keep_unit(unit, span);
    }
    tiles_.push_back(span);
    row = span.row_end;
  }
  const Index in_chunk =
      chunk_rows(width > 0 ? width : x_columns() + z_columns());
  block_begin_.assign(1, 0);
  chunk_begin_.assign(1, 0);
  Index block_start = 0, chunk_start = 0;
  for (std::size_t t = 0; t < tiles_.size(); ++t) {
    const Index end = tiles_[t].row_end;
    const bool last = t + 1 == tiles_.size();
    // A group stays in one chunk; a large one has blocks of its own.
    const bool whole = last || !same_group(tiles_[t], tiles_[t + 1]);
    const bool alone =
        whole && (is_part(tiles_[t]) || last || is_part(tiles_[t + 1]));
    const bool chunk_full = last || (whole && end - chunk_start >= in_chunk);
    if (chunk_full || alone || end - block_start >= block_rows) {
      block_begin_.push_back(static_cast<Index>(t) + 1);
      block_start = end;
    }
    if (chunk_full) {
      chunk_begin_.push_back(blocks());
      chunk_start = end;
    }
  }
}

void RowSource::partition_as(const RowSource& other) {
  group_begin_ = other.group_begin_;
  tiles_ = other.tiles_;
  block_begin_ = other.block_begin_;
  chunk_begin_ = other.chunk_begin_;
}

void RowSource::keep_unit(const std::vector<Index>& unit, TileSpan& span) {
  const Index n = count_of(unit);
  const auto splits = [&](Index end) {
    return end < n && unit[end - 1] == unit[end];
  };
  const Index usual = span.row_end;
  while (span.row_end > span.row_begin && splits(span.row_end)) {
    --span.row_end;
  }
  if (span.row_end > span.row_begin) return;
  for (span.row_end = usual; splits(span.row_end);) ++span.row_end;
}

Tile PackedRows::tile(const TileSpan& span, MatrixXd&) const {
  const Index first = span.row_begin;
  const Index n = span.row_end - span.row_begin;
  const auto part = [&](const VectorXd& v) {
    return VectorMap(v.data() + first, n);
  };
  const Index n_residual = residual.size() > 0 ? n : 0;
  return Tile{
      MatrixMap(x.data() + (lead + first) * x.rows(), x.rows(), n),
      MatrixMap(z.data() + first * z.rows(), z.rows(), n),
      part(y),
      part(weight),
      part(offset),
      VectorMap(residual.data() + (n_residual > 0 ? first : 0), n_residual)};
}
}  // namespace bayeskernel
