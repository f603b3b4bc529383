// Links by name, and moments of predictions for R.
#ifndef BAYESKERNEL_GLUE_PREDICT_H
#define BAYESKERNEL_GLUE_PREDICT_H

#include <string>
#include <vector>

#include "predict/draw_moments.hpp"

#include "glue_common.h"

inline bayeskernel::Link read_link(const std::string& name) {
  return name == "hinge"   ? bayeskernel::Link::hinge
         : name == "logit" ? bayeskernel::Link::logit
         : name == "identity" ? bayeskernel::Link::identity
                              : bayeskernel::Link::probit;
}

inline std::vector<bayeskernel::LinkCurve> read_links(
    const Rcpp::CharacterVector& names) {
  std::vector<bayeskernel::LinkCurve> out;
  for (const char* name : names) out.emplace_back(read_link(name));
  return out;
}

inline Rcpp::List moments_list(const bayeskernel::DrawMoments& from) {
  return Rcpp::List::create(Rcpp::Named("mean") = to_r(from.mean),
                            Rcpp::Named("var") = to_r(from.var),
                            Rcpp::Named("middle") = to_r(from.middle),
                            Rcpp::Named("spread") = to_r(from.spread),
                            Rcpp::Named("prob") = to_r(from.probability),
                            Rcpp::Named("prob_sd") = to_r(from.probability_sd));
}

#endif
