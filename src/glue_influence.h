// Expectation propagation as R asks for it, and what the rows do to a fit.
#pragma once

#include "ep/influence.hpp"
#include "ep/settle.hpp"
#include "glue_common.h"

namespace bayeskernel {
inline EpSettings read_ep_settings(const Rcpp::List& settings) {
  EpSettings out;
  out.tolerance = read<double>(settings, "tol");
  out.max_passes = read<int>(settings, "max_iter");
  return out;
}

// In R's order (`order` empty: the core's).
inline Rcpp::List influence_list(const RowInfluence& from,
                                 const std::vector<Index>& order) {
  const auto by_row = [&](const VectorXd& v) {
    if (order.empty()) return to_r(v);
    Rcpp::NumericVector out(v.size());
    for (Index i = 0; i < v.size(); ++i) out[order[i]] = v[i];
    return out;
  };
  return r_list({{"mean", by_row(from.mean)},
                 {"var", by_row(from.variance)},
                 {"kappa", by_row(from.kappa)},
                 {"gradient", by_row(from.gradient)}});
}
}  // namespace bayeskernel
