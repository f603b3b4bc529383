// Nodes of integrals over the one or two effects of a group, in standard
// deviations, by how far f goes with these.
#pragma once

#include <array>

#include "eigen.hpp"

namespace bayeskernel {
// So many nodes by effect, of two effects at most 16.
struct GroupNodes {
  MatrixXd node;  // r x nodes
  ArrayXd log_weight;

  GroupNodes(Index n, Index r);
};

class GroupRules {
 public:
  // Nodes at once; where rows are logit their number is a multiple of it.
  static constexpr int kBatch = 8;

  // Three rules of so many nodes by effect, and where the next one begins: in
  // steep places nodes have to be close.
  GroupRules(Index r, std::array<Index, 3> count, std::array<double, 2> bound)
      : rules_{GroupNodes(count[0], r), GroupNodes(count[1], r),
               GroupNodes(count[2], r)},
        bound_(bound) {}

  // `steep`: the largest variance of f by the effects.
  const GroupNodes& of(double steep) const {
    return rules_[steep < bound_[0] ? 0 : steep < bound_[1] ? 1 : 2];
  }

 private:
  GroupNodes rules_[3];
  std::array<double, 2> bound_;
};
}  // namespace bayeskernel
