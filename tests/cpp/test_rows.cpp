#include "rows/pack.hpp"
#include "rows/rows.hpp"
#include "rows/sweep.hpp"
#include <random>

#include "check.hpp"

using bayeskernel::Index;
using bayeskernel::MatrixXd;
using bayeskernel::PackedRows;
using bayeskernel::Tile;
using bayeskernel::TileSpan;
using bayeskernel::VectorXd;

static PackedRows numbered_rows(Index n, std::vector<Index> group_begin) {
  PackedRows rows;
  rows.x = MatrixXd::NullaryExpr(
      2, n, [](Index k, Index i) { return static_cast<double>(10 * i + k); });
  rows.z = MatrixXd::Constant(group_begin.empty() ? 0 : 1, n, 1.0);
  rows.y = VectorXd::Ones(n);
  rows.weight = VectorXd::LinSpaced(n, 0.0, static_cast<double>(n - 1));
  rows.offset = VectorXd::Zero(n);
  rows.finish(std::move(group_begin));
  return rows;
}

static std::vector<Index> cumulate(const std::vector<Index>& sizes) {
  std::vector<Index> begin{0};
  for (const Index size : sizes) begin.push_back(begin.back() + size);
  return begin;
}

// Tiles follow on one another, cover all rows and groups once, hold whole
// groups or a part of a large one; blocks follow on one another and cover all
// tiles, chunks all blocks.
static bool is_partition(const PackedRows& rows) {
  Index row = 0, group = 0;
  for (const TileSpan& span : rows.tiles()) {
    if (span.row_begin != row || span.row_end < row) return false;
    row = span.row_end;
    if (rows.groups() == 0) {
      if (span.group_begin != span.group_end) return false;
      continue;
    }
    if (span.group_begin != group || span.group_end <= group) return false;
    if (rows.is_part(span)) {
      if (span.group_end != group + 1 ||
          rows.group_begin(group + 1) - rows.group_begin(group) <= 2048) {
        return false;
      }
      if (span.row_end == rows.group_begin(group + 1)) ++group;
      continue;
    }
    group = span.group_end;
    if (rows.group_begin(span.group_begin) != span.row_begin ||
        rows.group_begin(span.group_end) != span.row_end) {
      return false;
    }
  }
  if (row != rows.rows()) return false;
  for (Index g = group; g < rows.groups(); ++g) {  // what is left is empty
    if (rows.group_begin(g) != rows.rows()) return false;
  }
  if (rows.block_begin(0) != 0) return false;
  for (Index b = 0; b < rows.blocks(); ++b) {
    if (rows.block_begin(b + 1) <= rows.block_begin(b)) return false;
  }
  if (rows.block_begin(rows.blocks()) !=
      static_cast<Index>(rows.tiles().size())) {
    return false;
  }
  Index next = 0;
  for (Index c = 0; c < rows.chunks(); ++c) {
    const TileSpan span = rows.chunk_span(c);
    if (rows.chunk_begin(c + 1) <= rows.chunk_begin(c)) return false;
    if (span.row_begin != next || span.row_end < next) return false;
    next = span.row_end;
  }
  return next == rows.rows() && rows.chunk_begin(0) == 0 &&
         rows.chunk_begin(rows.chunks()) == rows.blocks();
}

TEST("tiles cover the rows without groups, at any number of rows") {
  for (Index n : {1, 2, 255, 256, 257, 2048, 2049, 10000, 200000}) {
    CHECK(is_partition(numbered_rows(n, {})));
  }
}

TEST("a tile never straddles a group") {
  std::mt19937 engine(1);
  for (int trial = 0; trial < 200; ++trial) {
    const int groups = 1 + static_cast<int>(engine() % 60);
    const unsigned largest = trial % 3 == 0 ? 3 : trial % 3 == 1 ? 60 : 700;
    std::vector<Index> sizes;
    for (int g = 0; g < groups; ++g) sizes.push_back(engine() % largest);
    sizes[engine() % groups] += 1;
    const std::vector<Index> begin = cumulate(sizes);
    CHECK(is_partition(numbered_rows(begin.back(), begin)));
  }
}

TEST("a group larger than a tile, groups of one row and empty groups") {
  const std::vector<std::vector<Index>> cases = {{5000},
                                                 {1, 5000, 1},
                                                 std::vector<Index>(3000, 1),
                                                 {0, 0, 300, 0, 1, 0},
                                                 {256, 256, 1, 255},
                                                 {0, 257, 0, 0}};
  for (const std::vector<Index>& sizes : cases) {
    const std::vector<Index> begin = cumulate(sizes);
    CHECK(is_partition(numbered_rows(begin.back(), begin)));
  }
}

TEST("small groups share tiles of at most 256 rows") {
  const std::vector<Index> begin = cumulate(std::vector<Index>(3000, 7));
  const PackedRows rows = numbered_rows(begin.back(), begin);
  Index widest = 0;
  for (const TileSpan& span : rows.tiles()) {
    widest = std::max(widest, span.row_end - span.row_begin);
  }
  CHECK(widest == 252);
}

TEST("a tile shows its own rows") {
  const std::vector<Index> begin = cumulate({100, 200, 100});
  const PackedRows rows = numbered_rows(400, begin);
  MatrixXd buffer;
  for (const TileSpan& span : rows.tiles()) {
    const Tile tile = rows.tile(span, buffer);
    CHECK(tile.x.cols() == span.row_end - span.row_begin);
    CHECK(tile.x(1, 0) == 10.0 * static_cast<double>(span.row_begin) + 1.0);
    CHECK(tile.weight[0] == static_cast<double>(span.row_begin));
    CHECK(tile.residual.size() == 0);
  }
}

TEST("blocks depend on the rows alone and have 2048 of them") {
  CHECK(numbered_rows(2047, {}).blocks() == 1);
  CHECK(numbered_rows(9000, {}).blocks() == 5);
  CHECK(numbered_rows(131072, {}).blocks() == 64);
  CHECK(numbered_rows(131073, {}).blocks() == 65);
}

TEST("a chunk has 8 to 32 blocks, fewer when rows are wide") {
  CHECK(PackedRows::chunk_rows(1) == 65536);
  CHECK(PackedRows::chunk_rows(64) == 65536);
  CHECK(PackedRows::chunk_rows(100) == 40960);
  CHECK(PackedRows::chunk_rows(5000) == 16384);
  CHECK(numbered_rows(65536, {}).chunks() == 1);
  const PackedRows rows = numbered_rows(200000, {});
  CHECK(rows.chunks() == 4);
  for (Index c = 0; c < 3; ++c) {
    CHECK(rows.chunk_span(c).row_end == 65536 * (c + 1));
    CHECK(rows.chunk_begin(c + 1) == 32 * (c + 1));
  }
}

TEST("a chunk never straddles a group") {
  std::vector<Index> sizes(700, 300);
  sizes[5] = 70000;
  const std::vector<Index> begin = cumulate(sizes);
  const PackedRows rows = numbered_rows(begin.back(), begin);
  CHECK(is_partition(rows));
  for (Index c = 0; c < rows.chunks(); ++c) {
    const TileSpan span = rows.chunk_span(c);
    CHECK(begin[span.group_begin] == span.row_begin);
    CHECK(begin[span.group_end] == span.row_end);
  }
}

TEST("rows can be filled and divided again") {
  PackedRows rows = numbered_rows(5000, {});
  rows = numbered_rows(300, {});
  rows.finish({});
  CHECK(is_partition(rows));
  rows.finish(cumulate({100, 200}));
  CHECK(is_partition(rows));
  CHECK(rows.groups() == 2);
}

TEST("rows that are viewed are those that are packed") {
  const Index n = 900, p = 3;
  std::mt19937 generator(3);
  std::normal_distribution<double> normal;
  const auto draw = [&](Index rows, Index columns) {
    return MatrixXd(MatrixXd::NullaryExpr(
        rows, columns, [&](Index, Index) { return normal(generator); }));
  };
  const MatrixXd x = draw(n, p), z = draw(n, 2), own = draw(n, 2);
  const VectorXd center = draw(p, 1), scale = draw(p, 1).array().square() + 0.5,
                 y = draw(n, 1), weight = draw(n, 1), offset = draw(n, 1);
  const auto map = [](const VectorXd& v) {
    return Eigen::Map<const VectorXd>(v.data(), v.size());
  };
  const auto map_matrix = [](const MatrixXd& m) {
    return Eigen::Map<const MatrixXd>(m.data(), m.rows(), m.cols());
  };
  std::vector<int> member(n);
  for (Index i = 0; i < n; ++i) member[i] = static_cast<int>((7 * i) % 4);
  bayeskernel::ColumnData data{map_matrix(x),
                               map(center),
                               map(scale),
                               map(y),
                               map(weight),
                               map(offset),
                               {{member, 4, map_matrix(own)}},
                               {},
                               {0, 10, 500, n},
                               map_matrix(z)};
  for (Index i = 0; i < n; ++i) data.order.push_back((i * 7) % n);
  PackedRows packed = bayeskernel::pack_rows(data);
  packed.finish(data.group_begin);
  bayeskernel::ViewedRows viewed(data, {});
  packed.residual = viewed.residual() = draw(n, 1);
  CHECK(packed.x_columns() == p + 8 && viewed.x_columns() == p + 8);
  CHECK(packed.tiles().size() == viewed.tiles().size());
  for (Index i : {0, 13, 899}) {
    const Index row = data.order[i];
    CHECK_NEAR(packed.x(1, i), (x(row, 1) - center[1]) / scale[1], 1e-14);
    for (Index k = 0; k < 8; ++k) {
      const double expected = k / 2 == member[row] ? own(row, k % 2) : 0.0;
      CHECK(packed.x(p + k, i) == expected);
    }
  }
  MatrixXd buffer, unused;
  for (std::size_t t = 0; t < packed.tiles().size(); ++t) {
    const Tile a = packed.tile(packed.tiles()[t], unused);
    const Tile b = viewed.tile(viewed.tiles()[t], buffer);
    CHECK(a.x == b.x && a.z == b.z && a.y == b.y);
    CHECK(a.weight == b.weight && a.offset == b.offset);
    CHECK(a.residual == b.residual);
  }
}

// So many threads, one after another.
struct ManyThreads final : bayeskernel::Executor {
  explicit ManyThreads(int threads) : count(threads) {}
  int threads() const override { return count; }
  void run(Index n_blocks, const std::function<void(Index)>& body) override {
    most = std::max(most, n_blocks);
    for (Index block = n_blocks; block-- > 0;) body(block);
  }
  int count;
  Index most = 0;
};

TEST("a sweep has as few slots as large sums allow, gathered in their order") {
  const PackedRows rows = numbered_rows(150000, {});
  ManyThreads executor(3);
  const bayeskernel::Sweep sweep{rows, executor, nullptr};
  const Index chunks = rows.chunks();
  CHECK(chunks > 1);
  // Small sums: a slot for each block of a chunk. Large ones: what two million
  // numbers hold, and one a thread.
  CHECK(sweep.slots(0, chunks, 100) == 32);
  CHECK(sweep.slots(0, chunks, 512 * 512) == 8);
  CHECK(sweep.slots(0, chunks, 2048 * 2048) == 3);
  for (Index most : {0, 1, 3, 8}) {
    executor.most = 0;
    std::vector<Index> slots(32, -1), order;
    sweep.run(
        0, chunks, [&](Index block, Index slot) { slots[slot] = block; },
        [&](Index count) {
          order.insert(order.end(), slots.begin(), slots.begin() + count);
        },
        most);
    CHECK(executor.most == (most > 0 ? most : 32));
    CHECK(static_cast<Index>(order.size()) == rows.blocks());
    for (Index b = 0; b < rows.blocks(); ++b) CHECK(order[b] == b);
  }
}
