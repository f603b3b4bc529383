// Links by name, and moments of predictions for R.
#ifndef BAYESKERNEL_GLUE_PREDICT_H
#define BAYESKERNEL_GLUE_PREDICT_H

#include <string>
#include <vector>

#include "glue_common.h"
#include "predict/draw_moments.hpp"

inline bayeskernel::Link read_link(const std::string& name) {
  return name == "hinge"      ? bayeskernel::Link::hinge
         : name == "logit"    ? bayeskernel::Link::logit
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
  return r_list({{"mean", from.mean},
                 {"var", from.var},
                 {"middle", from.middle},
                 {"spread", from.robust_variance},
                 {"prob", from.probability},
                 {"prob_sd", from.probability_sd}});
}

#endif
