// The order of rows in which those of a group follow each other.
#pragma once

#include "eigen.hpp"

namespace bayeskernel {
struct GroupOrder {
  std::vector<Index> order;  // position -> row
  std::vector<Index>
      begin;  // of each group, then the rows; without groups none
};
// `group`: from 1, of each of `rows` rows; no groups: rows as they are.
GroupOrder group_order(const int* group, Index rows, Index groups);

// Numbers by position as numbers by row, and back.
VectorXd by_row(const VectorXd& by_position, const std::vector<Index>& order);
VectorXd by_position(const VectorRef& by_row, const std::vector<Index>& order);
}  // namespace bayeskernel
