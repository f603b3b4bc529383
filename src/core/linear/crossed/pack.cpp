#include "linear/crossed/pack.hpp"

namespace bayeskernel {
void sort_by_first(const std::vector<GivenTerm>& terms,
                   std::vector<Index>& order) {
  const int* level = terms[0].level;
  std::stable_sort(order.begin(), order.end(),
                   [&](Index a, Index b) { return level[a] < level[b]; });
}

void pack_crossed(const std::vector<GivenTerm>& terms, const ColumnData& data,
                  const std::vector<Index>& unit, CrossedRows& out) {
  const Index n = data.x.rows();
  Index per_row = 0, effects = 0, at = 0;
  for (const GivenTerm& term : terms) per_row += term.z.cols();
  out.z.resize(per_row, n);
  out.column.resize(per_row, n);
  for (const GivenTerm& term : terms) {
    const Index r = term.z.cols();
    out.terms.push_back({term.block, r, term.levels});
    for (Index i = 0; i < n; ++i) {
      const Index row = data.order[i];
      for (Index j = 0; j < r; ++j) {
        out.z(at + j, i) = term.z(row, j);
        out.column(at + j, i) =
            static_cast<int>(effects + (term.level[row] - 1) * r + j);
      }
    }
    at += r;
    effects += r * term.levels;
  }
  out.dense = pack_rows(data);
  out.dense.finish({});
  out.finish(unit);
}

std::vector<LevelMoments> level_moments(const CrossedRows& rows,
                                        const VectorXd& theta,
                                        const CrossedPosterior& q) {
  std::vector<LevelMoments> out;
  const MatrixXd loading = q.loading();
  for (const CrossedTerm& term : rows.terms) {
    const Index r = term.width;
    LevelMoments own{
        MatrixMap(theta.data() + rows.x_columns() + term.first, r, term.levels),
        MatrixXd(r, term.size()), loading.middleCols(term.first, term.size()),
        MatrixXd(r, term.size())};
    for (Index g = 0; g < term.levels; ++g) {
      const Index a = term.first + g * r;
      own.covariance.middleCols(g * r, r) = q.covariance(a);
      own.given.middleCols(g * r, r) = rows.block(q.noise(), a, rows.own[a], r);
    }
    out.push_back(std::move(own));
  }
  return out;
}

std::vector<LevelPairs> level_pairs(const CrossedRows& rows,
                                    const CrossedPosterior& q) {
  std::vector<LevelPairs> out;
  const Index r0 = rows.terms[0].width;
  for (std::size_t k = 1; k < rows.terms.size(); ++k) {
    const CrossedTerm& term = rows.terms[k];
    LevelPairs own;
    for (Index a = 0; a < rows.inner(); a += r0) {
      const Index count = rows.begin[a + 1] - rows.begin[a];
      for (Index e = r0; e < count; ++e) {
        const Index h = rows.columns[rows.begin[a] + e] - term.first;
        if (h < 0 || h >= term.size() || h % term.width != 0) continue;
        const MatrixXd pair = rows.block(q.noise(), a, e, term.width);
        own.covariance.insert(own.covariance.end(), pair.data(),
                              pair.data() + pair.size());
        own.inner.push_back(static_cast<int>(a / r0) + 1);
        own.outer.push_back(static_cast<int>(h / term.width) + 1);
      }
    }
    out.push_back(std::move(own));
  }
  return out;
}
}  // namespace bayeskernel
