// Rows of a model with crossed random effects: dense columns x, and sparse ones
// behind them in theta, of which every row has a few. Where they meet is the
// pattern of A = Z' diag(kappa) Z, in compressed rows.
#pragma once

#include <type_traits>

#include "eigen.hpp"
#include "parallel/executor.hpp"
#include "rows/rows.hpp"

namespace bayeskernel {
// One random term: level g has the effects first + g width .. + width - 1.
struct CrossedTerm {
  std::size_t block;  // of the prior
  Index width, levels;
  Index first = 0, at = 0;  // of its effects, and of its columns in a row's z
  Index size() const { return width * levels; }
};

class CrossedRows final : public RowSource {
 public:
  using IntMatrix = Eigen::Matrix<int, Eigen::Dynamic, Eigen::Dynamic>;

  PackedRows dense;
  // Term 0 is eliminated; rows sorted by its levels are read in order.
  std::vector<CrossedTerm> terms;
  MatrixXd z;        // R x n
  IntMatrix column;  // R x n, the effect of each

  // Effect a is multiplied in the rows[k] / R, k = rows_begin[a] ..
  std::vector<Index> rows_begin;
  std::vector<Index> occurrence;
  // Entries of row a of A: columns[e], e = begin[a] .. begin[a + 1] - 1,
  // ascending; the block of its own level is `own[a]` entries from the first.
  std::vector<Index> begin, own;
  std::vector<int> columns;
  IntMatrix entry;  // R^2 x n: where z_j z_l of a row goes, at j R + l

  // To be called when dense, z, column and terms are filled; `unit` as of
  // PackedRows::finish().
  void finish(const std::vector<Index>& unit = {});

  Index effects() const { return count_of(own); }
  Index size() const { return x_columns() + effects(); }  // of theta in all
  Index inner() const { return terms[0].size(); }
  // The term of effect a, and the first effect of its level.
  struct Level {
    const CrossedTerm* term;
    Index first;
  };
  Level level_of(Index a) const;

  // The r columns from entry `at` of the rows of the level that begins with
  // effect a, of numbers on the pattern of A: all rows of a level have the
  // same.
  using RowMajor =
      Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
  template <class Values>
  auto block(Values& values, Index a, Index at, Index r) const {
    using Kind =
        std::conditional_t<std::is_const_v<Values>, const RowMajor, RowMajor>;
    return Eigen::Map<Kind, 0, Eigen::OuterStride<>>(
        values.data() + begin[a] + at, level_of(a).term->width, r,
        Eigen::OuterStride<>(begin[a + 1] - begin[a]));
  }

  Index rows() const override { return dense.rows(); }
  Index x_columns() const override { return dense.x_columns(); }
  Index z_columns() const override { return 0; }
  Tile tile(const TileSpan& span, MatrixXd& buffer) const override {
    return dense.tile(span, buffer);
  }
  void add_sparse(const TileSpan& span, const VectorXd& point,
                  double* f) const override;

 private:
  // A level without rows has its own block all the same.
  void add_own_level(Index a);
};

// body(begin, end) over runs of 0 .. count - 1.
template <class Body>
void run_parts(Executor& executor, Index count, Index size, Body&& body) {
  executor.run((count + size - 1) / size, [&](Index b) {
    body(b * size, std::min(count, (b + 1) * size));
  });
}
}  // namespace bayeskernel
