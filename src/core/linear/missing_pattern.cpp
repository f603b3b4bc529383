#include "linear/missing_pattern.hpp"

#include <map>
#include <numeric>

#include "rows/rows.hpp"

namespace bayeskernel {
std::vector<Index> MissingPattern::predictor_of_values() const {
  std::vector<Index> out;
  for (const Row& row : rows) {
    const std::vector<Index>& missing = patterns[row.pattern];
    out.insert(out.end(), missing.begin(), missing.end());
  }
  return out;
}

void set_pattern(const MatrixRef& x, std::vector<RowUse> uses,
                 const std::vector<Index>& order, MissingPattern& out) {
  const Index n = x.rows(), predictors = x.cols();
  std::stable_sort(
      uses.begin(), uses.end(),
      [](const RowUse& a, const RowUse& b) { return a.row < b.row; });
  std::vector<Index> first_use(n + 1, 0);
  for (const RowUse& use : uses) ++first_use[use.row + 1];
  std::partial_sum(first_use.begin(), first_use.end(), first_use.begin());
  out.x.resize(predictors, n);
  std::map<std::vector<Index>, Index> known;
  for (Index i = 0; i < n; ++i) {
    const Index row = order[i];
    std::vector<Index> missing;
    for (Index j = 0; j < predictors; ++j) {
      const double value = x(row, j);
      out.x(j, i) = std::isnan(value) ? 0.0 : value;
      if (std::isnan(value)) missing.push_back(j);
    }
    if (missing.empty()) continue;
    const auto found = known.emplace(missing, count_of(out.patterns));
    if (found.second) out.patterns.push_back(missing);
    const Index first = count_of(out.uses);
    for (Index u = first_use[row]; u < first_use[row + 1]; ++u) {
      const auto at =
          std::lower_bound(missing.begin(), missing.end(), uses[u].predictor);
      out.uses.push_back({uses[u].column,
                          static_cast<Index>(at - missing.begin()),
                          uses[u].base, uses[u].slope});
    }
    out.rows.push_back(
        {i, found.first->second, first, count_of(out.uses), out.count});
    out.count += count_of(missing);
  }
}
}  // namespace bayeskernel
