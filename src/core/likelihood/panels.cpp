#include "likelihood/panels.hpp"

#include "math/quadrature.hpp"

namespace bayeskernel {
MarginPanels::MarginPanels() {
  const GaussLegendre rule(16);
  node_ = rule.node.array();
  log_weight_ = rule.weight.array().log();
}
}  // namespace bayeskernel
