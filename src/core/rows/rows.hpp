// Rows of a model in tiles. A tile is a run of consecutive rows, those of whole
// groups or a part of a large one, and of whole units where rows are
// completions of such; a block is a run of tiles that one thread handles; a
// chunk is a run of blocks that is in memory at once. All three depend on the
// sizes of the data alone, not on where they are kept, so that sums taken
// block by block are the same bits for a matrix and for a stream.
#pragma once

#include "eigen.hpp"

namespace bayeskernel {
struct TileSpan {
  Index row_begin, row_end;
  Index group_begin, group_end;
  Index number = 0;  // among all tiles

  Index rows() const { return row_end - row_begin; }
};

// View of one tile: columns are rows of the model.
struct Tile {
  MatrixMap x;         // p x rows
  MatrixMap z;         // r x rows
  VectorMap y;         // labels, -1 or +1
  VectorMap weight;    // likelihood powers
  VectorMap offset;    // known part of f
  VectorMap residual;  // variance of e_i, empty when zero

  double residual_of(Index i) const {
    return residual.size() > 0 ? residual[i] : 0.0;
  }
};

class RowSource {
 public:
  virtual ~RowSource() = default;
  virtual Index rows() const = 0;
  virtual Index x_columns() const = 0;
  virtual Index z_columns() const = 0;
  virtual Tile tile(const TileSpan& span, MatrixXd& buffer) const = 0;
  // Brings the rows of a chunk within reach of tile(), until the next call;
  // the chunk `next` (-1: none) is asked for after it and may be fetched in
  // the meantime. On one thread; nothing to do for rows in memory.
  virtual void load(Index /*chunk*/, Index /*next*/) const {}
  // f of the rows of a span gains what columns do that are in no tile.
  virtual void add_sparse(const TileSpan& /*span*/, const VectorXd& /*theta*/,
                          double* /*f*/) const {}
  // Whether every row is within reach at all times.
  virtual bool in_memory() const { return true; }

  Index groups() const;
  // Group g holds the rows group_begin(g) .. group_begin(g + 1) - 1.
  Index group_begin(Index g) const { return group_begin_[g]; }
  // visit(g, begin, end) for the groups of a span, with the rows of each that
  // are in it, counted from its first.
  template <class Visit>
  void for_groups(const TileSpan& span, Visit&& visit) const {
    for (Index g = span.group_begin; g < span.group_end; ++g) {
      visit(g, std::max(group_begin(g), span.row_begin) - span.row_begin,
            std::min(group_begin(g + 1), span.row_end) - span.row_begin);
    }
  }
  // Whether a tile holds but a part of its group.
  bool is_part(const TileSpan& span) const;
  const std::vector<TileSpan>& tiles() const { return tiles_; }
  Index blocks() const { return count_of(block_begin_) - 1; }
  // Block b holds the tiles block_begin(b) .. block_begin(b + 1) - 1.
  Index block_begin(Index b) const { return block_begin_[b]; }
  struct Tiles {
    const TileSpan *first, *last;
    const TileSpan* begin() const { return first; }
    const TileSpan* end() const { return last; }
  };
  Tiles block_tiles(Index b) const;
  Index chunks() const { return count_of(chunk_begin_) - 1; }
  // Chunk c holds the blocks chunk_begin(c) .. chunk_begin(c + 1) - 1.
  Index chunk_begin(Index c) const { return chunk_begin_[c]; }
  // Sums of many chunks are taken shard by shard, at most 16 runs of chunks, so
  // that workers who share the shards send little whatever n is, and the sum
  // of the shards in their order is the same bits without workers.
  static Index shards(Index chunks) { return std::min<Index>(chunks, 16); }
  Index shards() const { return shards(chunks()); }
  static Index shard_begin(Index s, Index chunks) {
    return s * chunks / shards(chunks);
  }
  Index shard_begin(Index s) const { return shard_begin(s, chunks()); }
  TileSpan chunk_span(Index c) const;

  static constexpr Index kTileRows = 256;

  // Rows of a chunk of so many columns without groups: some 4 million numbers,
  // but 8 blocks at least, to share among threads, and 32 at most.
  static Index chunk_rows(Index columns) {
    constexpr Index kNumbers = Index{1} << 22;
    const Index blocks =
        kNumbers / std::max<Index>(columns, 1) / Index{kBlockRows};
    return std::clamp<Index>(blocks, 8, 32) * kBlockRows;
  }

 protected:
  static constexpr Index kBlockRows = 2048;

  // `width` takes the place of the number of columns in the size of a chunk;
  // runs of equal numbers in `unit` (by row, empty: none) are units, which are
  // inside a group and lie in one tile.
  void partition(Index n, std::vector<Index> group_begin, Index width = 0,
                 Index block_rows = kBlockRows,
                 const std::vector<Index>& unit = {});

  // The tiles, blocks and chunks of other rows.
  void partition_as(const RowSource& other);

 private:
  // Takes the end of a tile back to that of a unit; a unit that is longer than
  // the tile is one.
  static void keep_unit(const std::vector<Index>& unit, TileSpan& span);

  static bool same_group(const TileSpan& a, const TileSpan& b) {
    return b.group_begin < a.group_end;
  }

  std::vector<Index> group_begin_;
  std::vector<TileSpan> tiles_;
  std::vector<Index> block_begin_;
  std::vector<Index> chunk_begin_;
};

// visit(span, tile) of all rows, in their order.
template <class Visit>
void for_tiles(const RowSource& rows, Visit&& visit) {
  MatrixXd buffer;
  for (Index c = 0; c < rows.chunks(); ++c) {
    rows.load(c, c + 1 < rows.chunks() ? c + 1 : -1);
    for (Index block = rows.chunk_begin(c); block < rows.chunk_begin(c + 1);
         ++block) {
      for (const TileSpan& span : rows.block_tiles(block)) {
        visit(span, rows.tile(span, buffer));
      }
    }
  }
}

// Rows that are made from those of another source, which may change.
class DerivedRows : public RowSource {
 public:
  // To be called when the other source has other rows.
  virtual void refresh() = 0;
};

// Rows in memory, transposed so that a row is contiguous, sorted by group.
class PackedRows final : public RowSource {
 public:
  MatrixXd x;  // p x n, after `lead` columns that are of no row
  MatrixXd z;  // r x n
  VectorXd y, weight, offset, residual;
  // Products may be other bits where columns begin at other addresses: rows
  // that are part of more begin where they do there.
  Index lead = 0;

  // To be called after the members are filled. Blocks of few rows share a
  // minibatch among threads.
  void finish(std::vector<Index> group_begin, Index block_rows = kBlockRows) {
    partition(rows(), std::move(group_begin), 0, block_rows);
  }
  // The same for rows that are completions of units.
  void finish(std::vector<Index> group_begin, const std::vector<Index>& unit) {
    partition(rows(), std::move(group_begin), 0, kBlockRows, unit);
  }

  Index rows() const override { return x.cols() - lead; }
  Index x_columns() const override { return x.rows(); }
  Index z_columns() const override { return z.rows(); }

  Tile tile(const TileSpan& span, MatrixXd&) const override;
};
}  // namespace bayeskernel
