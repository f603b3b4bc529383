// Kernels of R, as kernel_to_core() writes them: list(kind, variance,
// lengthscale) or (kind, variance, degree, offset) for a leaf, list(kind,
// children) for a sum or a product.
#ifndef BAYESKERNEL_GLUE_KERNEL_H
#define BAYESKERNEL_GLUE_KERNEL_H

#include <bayeskernel/kernel/kernel.hpp>
#include <utility>

#include "glue_common.h"

inline bayeskernel::Kernel read_kernel(const Rcpp::List& kernel) {
  using bayeskernel::Kernel;
  const std::string kind = Rcpp::as<std::string>(kernel["kind"]);
  if (kind == "sum" || kind == "product") {
    const Rcpp::List members = kernel["children"];
    std::vector<Kernel> children;
    for (const Rcpp::List child : members) {
      children.push_back(read_kernel(child));
    }
    return kind == "sum" ? Kernel::sum(std::move(children))
                         : Kernel::product(std::move(children));
  }
  if (kind == "precomputed") {
    throw bayeskernel::ArgumentError("a precomputed kernel has no points");
  }
  const double variance = Rcpp::as<double>(kernel["variance"]);
  if (kind == "rbf") {
    return Kernel::rbf(map_vector(kernel["lengthscale"]), variance);
  }
  if (kind == "linear") return Kernel::linear(variance);
  return Kernel::polynomial(Rcpp::as<int>(kernel["degree"]),
                            Rcpp::as<double>(kernel["offset"]), variance);
}

#endif
