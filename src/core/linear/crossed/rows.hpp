// Rows of a model with crossed random effects: dense columns x, and sparse ones
// behind them in theta, of which every row has a few. Where they meet is the
// pattern of A = Z' diag(kappa) Z, in compressed rows.
#ifndef BAYESKERNEL_LINEAR_CROSSED_ROWS_HPP
#define BAYESKERNEL_LINEAR_CROSSED_ROWS_HPP

#include <Eigen/Core>
#include <algorithm>
#include <numeric>
#include <type_traits>
#include <vector>

#include "rows/rows.hpp"
#include "parallel/executor.hpp"

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
  void finish(const std::vector<Index>& unit = {}) {
    partition(dense.rows(), {}, 0, kBlockRows, unit);
    const Index per_row = z.rows(), n = rows();
    Index effects = 0, at = 0;
    for (CrossedTerm& term : terms) {
      term.first = effects;
      term.at = at;
      effects += term.size();
      at += term.width;
    }
    rows_begin.assign(effects + 1, 0);
    for (Index k = 0; k < column.size(); ++k) {
      ++rows_begin[column.data()[k] + 1];
    }
    std::partial_sum(rows_begin.begin(), rows_begin.end(), rows_begin.begin());
    occurrence.resize(column.size());
    std::vector<Index> next(rows_begin.begin(), rows_begin.end() - 1);
    for (Index k = 0; k < column.size(); ++k) {
      occurrence[next[column.data()[k]]++] = k;
    }
    entry.resize(per_row * per_row, n);
    begin.assign(1, 0);
    std::vector<Index> place(effects, -1);
    for (Index a = 0; a < effects; ++a) {
      const auto met = [&](auto&& visit) {
        for (Index k = rows_begin[a]; k < rows_begin[a + 1]; ++k) {
          const Index i = occurrence[k] / per_row, j = occurrence[k] % per_row;
          for (Index l = 0; l < per_row; ++l) visit(i, j * per_row + l, l);
        }
      };
      met([&](Index i, Index, Index l) {
        const int c = column(l, i);
        if (place[c] >= begin.back()) return;
        place[c] = begin.back();
        columns.push_back(c);
      });
      add_own_level(a);
      std::sort(columns.begin() + begin.back(), columns.end());
      for (Index e = begin.back(); e < static_cast<Index>(columns.size()); ++e) {
        place[columns[e]] = e;
      }
      met([&](Index i, Index jl, Index l) {
        entry(jl, i) = static_cast<int>(place[column(l, i)]);
      });
      const Index level = level_of(a).first;
      own.push_back(std::lower_bound(columns.begin() + begin.back(),
                                     columns.end(), level) -
                    columns.begin() - begin.back());
      begin.push_back(static_cast<Index>(columns.size()));
    }
  }

  Index effects() const { return static_cast<Index>(own.size()); }
  Index size() const { return x_columns() + effects(); }  // of theta in all
  Index inner() const { return terms[0].size(); }
  // The term of effect a, and the first effect of its level.
  struct Level {
    const CrossedTerm* term;
    Index first;
  };
  Level level_of(Index a) const {
    const CrossedTerm* term = terms.data();
    while (a >= term->first + term->size()) ++term;
    return {term, a - (a - term->first) % term->width};
  }

  // The r columns from entry `at` of the rows of the level that begins with
  // effect a, of numbers on the pattern of A: all rows of a level have the same.
  using RowMajor = Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic,
                                 Eigen::RowMajor>;
  template <class Values>
  auto block(Values& values, Index a, Index at, Index r) const {
    using Kind = std::conditional_t<std::is_const_v<Values>, const RowMajor,
                                    RowMajor>;
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
                  double* f) const override {
    const double* u = point.data() + x_columns();
    for (Index i = span.row_begin; i < span.row_end; ++i) {
      for (Index j = 0; j < z.rows(); ++j) {
        f[i - span.row_begin] += z(j, i) * u[column(j, i)];
      }
    }
  }

 private:
  // A level without rows has its own block all the same.
  void add_own_level(Index a) {
    if (rows_begin[a + 1] > rows_begin[a]) return;
    const Level level = level_of(a);
    for (Index k = 0; k < level.term->width; ++k) {
      columns.push_back(static_cast<int>(level.first + k));
    }
  }
};

// body(begin, end) over runs of 0 .. count - 1.
template <class Body>
void run_parts(Executor& executor, Index count, Index size, Body&& body) {
  executor.run((count + size - 1) / size, [&](Index b) {
    body(b * size, std::min(count, (b + 1) * size));
  });
}

}  // namespace bayeskernel

#endif
