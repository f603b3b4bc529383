#include "predict/linear_rows.hpp"

#include <string>

#include "error.hpp"

namespace bayeskernel {
namespace {
bool within(const std::vector<int>& places, Index end) {
  return std::all_of(places.begin(), places.end(),
                     [&](int k) { return k >= 0 && k < end; });
}

// By row the pattern of its missing predictors, -1 without.
std::vector<int> patterns_of(const LinearRows& rows) {
  std::vector<int> out(static_cast<std::size_t>(rows.x.rows()), -1);
  for (std::size_t k = 0; k < rows.patterns.size(); ++k) {
    const LinearRows::Pattern& pattern = rows.patterns[k];
    const std::vector<int>& missing = pattern.predictors;
    demand(within(missing, rows.predictors.cols()) &&
               within(pattern.rows, rows.x.rows()) &&
               std::is_sorted(missing.begin(), missing.end()),
           "a pattern of missing predictors");
    for (const int i : pattern.rows) out[i] = static_cast<int>(k);
  }
  return out;
}

// Every use is of a column, and of a predictor that its row lacks.
void check_uses(const MissingUses& uses, Index columns, const LinearRows& rows,
                const std::vector<int>& pattern_of) {
  if (uses.begin.size() == 1 && uses.uses.empty()) return;
  const Index n = rows.x.rows();
  demand(
      count_of(uses.begin) == n + 1 && uses.begin.back() == count_of(uses.uses),
      "the uses of missing predictors");
  for (Index i = 0; i < n; ++i) {
    uses.each(i, [&](const MissingUses::Use& use) {
      const int k = pattern_of[i];
      demand(use.column >= 0 && use.column < columns && k >= 0 &&
                 std::binary_search(rows.patterns[k].predictors.begin(),
                                    rows.patterns[k].predictors.end(),
                                    use.predictor),
             "a use of a missing predictor");
    });
  }
}
}  // namespace

void demand(bool fits, const char* what) {
  if (!fits) throw ArgumentError(std::string(what) + " does not fit the rows");
}

MissingUses MissingUses::of(const std::vector<int>& row, std::vector<Use> uses,
                            Index rows) {
  demand(row.size() == uses.size() && within(row, rows) &&
             std::is_sorted(row.begin(), row.end()),
         "a use of a missing predictor");
  MissingUses out;
  out.begin.assign(static_cast<std::size_t>(rows) + 1, 0);
  for (const int i : row) ++out.begin[i + 1];
  for (Index i = 0; i < rows; ++i) out.begin[i + 1] += out.begin[i];
  out.uses = std::move(uses);
  return out;
}

void LinearRows::check() const {
  const Index n = x.rows();
  demand(offset.size() == n, "the offset");
  demand(predictors.cols() == 0 || predictors.rows() == n, "`predictors`");
  const std::vector<int> pattern_of = patterns_of(*this);
  check_uses(missing, x.cols(), *this, pattern_of);
  for (const Term& term : terms) {
    demand(term.z.rows() == n && count_of(term.group) == n &&
               std::all_of(term.group.begin(), term.group.end(),
                           [](int g) { return g >= 0; }),
           "a random term");
    check_uses(term.missing, term.z.cols(), *this, pattern_of);
  }
}

Index LinearRows::missing_values() const {
  std::size_t out = 0;
  for (const Pattern& pattern : patterns) {
    out += pattern.predictors.size() * pattern.rows.size();
  }
  return static_cast<Index>(out);
}

std::vector<int> LinearRows::observed(const Pattern& pattern) const {
  std::vector<int> out;
  std::size_t next = 0;
  for (int j = 0; j < static_cast<int>(predictors.cols()); ++j) {
    if (next < pattern.predictors.size() && pattern.predictors[next] == j) {
      ++next;
    } else {
      out.push_back(j);
    }
  }
  return out;
}
}  // namespace bayeskernel
