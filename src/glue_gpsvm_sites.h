// What expectation propagation says of the rows of a process.
#ifndef BAYESKERNEL_GLUE_GPSVM_SITES_H
#define BAYESKERNEL_GLUE_GPSVM_SITES_H

#include "ep/fit.hpp"

#include "glue_influence.h"

// By row: of each without itself the log probability of its class, mean and
// variance of f; then as RowInfluence.
inline Rcpp::List left_out_list(const VectorXd& leave_one_out,
                                const bayeskernel::LeftOutMoments& left_out,
                                const bayeskernel::SiteRows& sites) {
  const bayeskernel::RowInfluence own = bayeskernel::site_influence(sites);
  return Rcpp::List::create(Rcpp::Named("loo") = to_r(leave_one_out),
                            Rcpp::Named("left_out_mean") = to_r(left_out.mean),
                            Rcpp::Named("left_out_var") =
                                to_r(left_out.variance),
                            Rcpp::Named("mean") = to_r(own.mean),
                            Rcpp::Named("var") = to_r(own.variance),
                            Rcpp::Named("kappa") = to_r(own.kappa),
                            Rcpp::Named("gradient") = to_r(own.gradient));
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

#endif
