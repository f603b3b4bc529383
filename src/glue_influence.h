// Expectation propagation as R asks for it, and what the rows do to a fit.
#ifndef BAYESKERNEL_GLUE_INFLUENCE_H
#define BAYESKERNEL_GLUE_INFLUENCE_H

#include "ep/influence.hpp"
#include "ep/settle.hpp"
#include "glue_common.h"

inline bayeskernel::EpSettings read_ep_settings(const Rcpp::List& settings) {
  bayeskernel::EpSettings out;
  out.tolerance = read<double>(settings, "tol");
  out.max_passes = read<int>(settings, "max_iter");
  return out;
}

// In R's order (`order` empty: the core's).
inline Rcpp::List influence_list(const bayeskernel::RowInfluence& from,
                                 const std::vector<Eigen::Index>& order) {
  const auto by_row = [&](const Eigen::VectorXd& v) {
    if (order.empty()) return to_r(v);
    Rcpp::NumericVector out(v.size());
    for (Eigen::Index i = 0; i < v.size(); ++i) out[order[i]] = v[i];
    return out;
  };
  return r_list({{"mean", by_row(from.mean)},
                 {"var", by_row(from.variance)},
                 {"kappa", by_row(from.kappa)},
                 {"gradient", by_row(from.gradient)}});
}

#endif
