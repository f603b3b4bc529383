// Links by name, and moments of predictions for R.
#pragma once

#include <string>

#include "glue_common.h"
#include "predict/draw_moments.hpp"

namespace bayeskernel {
inline Link read_link(const std::string& name) {
  return name == "hinge"      ? Link::hinge
         : name == "logit"    ? Link::logit
         : name == "identity" ? Link::identity
                              : Link::probit;
}

inline std::vector<LinkCurve> read_links(const Rcpp::CharacterVector& names) {
  std::vector<LinkCurve> out;
  for (const char* name : names) out.emplace_back(read_link(name));
  return out;
}

inline Rcpp::List moments_list(const DrawMoments& from) {
  return r_list({{"mean", from.mean},
                 {"var", from.var},
                 {"middle", from.middle},
                 {"spread", from.robust_variance},
                 {"prob", from.probability},
                 {"prob_sd", from.probability_sd}});
}
}  // namespace bayeskernel
