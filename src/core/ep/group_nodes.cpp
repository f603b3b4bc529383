#include "ep/group_nodes.hpp"

#include "math/quadrature.hpp"

namespace bayeskernel {
GroupNodes::GroupNodes(Index n, Index r) {
  if (r == 2) n = std::min<Index>(n, 16);
  const GaussHermite line(n);
  const Index nodes = r == 2 ? n * n : n;
  node.resize(r, nodes);
  log_weight.resize(nodes);
  for (Index k = 0; k < nodes; ++k) {
    node(0, k) = line.node[k % n];
    log_weight[k] = std::log(line.weight[k % n]);
    if (r == 2) {
      node(1, k) = line.node[k / n];
      log_weight[k] += std::log(line.weight[k / n]);
    }
  }
}
}  // namespace bayeskernel
