#include "linear/crossed/rows.hpp"

#include <numeric>

namespace bayeskernel {
void CrossedRows::finish(const std::vector<Index>& unit) {
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
    for (Index e = begin.back(); e < count_of(columns); ++e) {
      place[columns[e]] = e;
    }
    met([&](Index i, Index jl, Index l) {
      entry(jl, i) = static_cast<int>(place[column(l, i)]);
    });
    const Index level = level_of(a).first;
    own.push_back(
        std::lower_bound(columns.begin() + begin.back(), columns.end(), level) -
        columns.begin() - begin.back());
    begin.push_back(count_of(columns));
  }
}

auto CrossedRows::level_of(Index a) const -> Level {
  const CrossedTerm* term = terms.data();
  while (a >= term->first + term->size()) ++term;
  return {term, a - (a - term->first) % term->width};
}

void CrossedRows::add_sparse(const TileSpan& span, const VectorXd& point,
                             double* f) const {
  const double* u = point.data() + x_columns();
  for (Index i = span.row_begin; i < span.row_end; ++i) {
    for (Index j = 0; j < z.rows(); ++j) {
      f[i - span.row_begin] += z(j, i) * u[column(j, i)];
    }
  }
}

void CrossedRows::add_own_level(Index a) {
  if (rows_begin[a + 1] > rows_begin[a]) return;
  const Level level = level_of(a);
  for (Index k = 0; k < level.term->width; ++k) {
    columns.push_back(static_cast<int>(level.first + k));
  }
}
}  // namespace bayeskernel
