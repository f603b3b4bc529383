// What expectation propagation says of the rows of a process.
#pragma once

#include "ep/fit.hpp"
#include "glue_influence.h"

namespace bayeskernel {
// By row: of each without itself the log probability of its class, mean and
// variance of f; then as RowInfluence.
inline Rcpp::List left_out_list(const VectorXd& leave_one_out,
                                const LeftOutMoments& left_out,
                                const SiteRows& sites) {
  const RowInfluence own = site_influence(sites);
  return r_list({{"loo", leave_one_out},
                 {"left_out_mean", left_out.mean},
                 {"left_out_var", left_out.variance},
                 {"mean", own.mean},
                 {"var", own.variance},
                 {"kappa", own.kappa},
                 {"gradient", own.gradient}});
}

inline void add_left_out(const Rcpp::List& from, Rcpp::List& out) {
  for (const char* name : {"loo", "left_out_mean", "left_out_var"}) {
    out[name] = from[name];
  }
  Rcpp::List influence;
  for (const char* name : {"mean", "var", "kappa", "gradient"}) {
    influence[name] = from[name];
  }
  out["influence"] = influence;
}
}  // namespace bayeskernel
