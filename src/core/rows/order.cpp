#include "rows/order.hpp"

#include <numeric>

#include "error.hpp"

namespace bayeskernel {
GroupOrder group_order(const int* group, Index rows, Index groups) {
  GroupOrder out;
  out.order.resize(rows);
  if (groups == 0) {
    std::iota(out.order.begin(), out.order.end(), Index{0});
    return out;
  }
  for (Index i = 0; i < rows; ++i) {
    if (group[i] < 1 || group[i] > groups) {
      throw ArgumentError("a row is in no group");
    }
  }
  out.begin.assign(groups + 1, 0);
  for (Index i = 0; i < rows; ++i) ++out.begin[group[i]];
  std::partial_sum(out.begin.begin(), out.begin.end(), out.begin.begin());
  std::vector<Index> next(out.begin.begin(), out.begin.end() - 1);
  for (Index i = 0; i < rows; ++i) out.order[next[group[i] - 1]++] = i;
  return out;
}

VectorXd by_row(const VectorXd& by_position, const std::vector<Index>& order) {
  VectorXd out(by_position.size());
  for (Index i = 0; i < out.size(); ++i) out[order[i]] = by_position[i];
  return out;
}

VectorXd by_position(const VectorRef& by_row, const std::vector<Index>& order) {
  if (by_row.size() != count_of(order)) {
    throw ArgumentError("numbers of other rows");
  }
  VectorXd out(by_row.size());
  for (Index i = 0; i < out.size(); ++i) out[i] = by_row[order[i]];
  return out;
}
}  // namespace bayeskernel
