// Kernels of R, as kernel_to_core() writes them: for a leaf list(kind,
// variance) with lengthscale, with a projection (r x columns), with lengthscale
// and nu, with lengthscale, period and unit, or with degree and offset, and
// with the columns that it looks at unless these are all; for a sum or a
// product list(kind, children).
#pragma once

#include "glue_common.h"
#include "kernel/tree.hpp"

namespace bayeskernel {
inline Kernel read_leaf(const std::string& kind, const Rcpp::List& kernel) {
  if (kind == "precomputed") {
    throw ArgumentError("a precomputed kernel has no points");
  }
  const double variance = read<double>(kernel, "variance");
  if (kind == "rbf" && kernel.containsElementNamed("projection")) {
    return Kernel::projected(map_matrix(kernel["projection"]), variance);
  }
  if (kind == "rbf") {
    return Kernel::rbf(map_vector(kernel["lengthscale"]), variance);
  }
  if (kind == "matern") {
    return Kernel::matern(static_cast<int>(2.0 * read<double>(kernel, "nu")),
                          map_vector(kernel["lengthscale"]), variance);
  }
  if (kind == "periodic") {
    return Kernel::periodic(read<double>(kernel, "period"),
                            map_vector(kernel["unit"]),
                            read<double>(kernel, "lengthscale"), variance);
  }
  if (kind == "linear") return Kernel::linear(variance);
  if (kind == "categorical") return Kernel::categorical(variance);
  return Kernel::polynomial(read<int>(kernel, "degree"),
                            read<double>(kernel, "offset"), variance);
}

inline Kernel read_kernel(const Rcpp::List& kernel) {
  const std::string kind = read<std::string>(kernel, "kind");
  if (kind == "sum" || kind == "product") {
    const Rcpp::List members = kernel["children"];
    std::vector<Kernel> children;
    for (const Rcpp::List child : members) {
      children.push_back(read_kernel(child));
    }
    return kind == "sum" ? Kernel::sum(std::move(children))
                         : Kernel::product(std::move(children));
  }
  const Kernel leaf = read_leaf(kind, kernel);
  if (!kernel.containsElementNamed("columns")) return leaf;
  std::vector<Index> columns;
  for (const int k : read<std::vector<int>>(kernel, "columns")) {
    columns.push_back(k - 1);
  }
  return leaf.on(std::move(columns));
}
}  // namespace bayeskernel
