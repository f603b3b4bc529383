// R's lists to the core's structures, for every export of bark().
#pragma once

#include "bark/chain.hpp"
#include "glue_common.h"

namespace bayeskernel {
// Of the rows of a fit; none where all are 1.
inline std::vector<double> read_weights(const Rcpp::List& from) {
  return read_or<std::vector<double>>(from, "weights", {});
}

inline BlockFacts read_block_facts(const Rcpp::List& from) {
  BlockFacts out;
  if (!from.containsElementNamed("blocks")) return out;
  const Rcpp::List blocks = from["blocks"];
  out.linear = read<bool>(blocks, "linear");
  const Rcpp::IntegerVector levels = blocks["levels"];
  out.levels.assign(levels.begin(), levels.end());
  for (const Index size : out.levels) {
    if (size < 0) throw ArgumentError("levels are damaged");
  }
  return out;
}

// Rows x factors, none where there is no such element.
inline Eigen::MatrixXi read_levels(SEXP from) {
  if (Rf_isNull(from)) return {};
  const Rcpp::IntegerMatrix x(from);
  return Eigen::Map<const Eigen::MatrixXi>(x.begin(), x.nrow(), x.ncol());
}

inline Eigen::MatrixXi read_levels(const Rcpp::List& from, const char* name) {
  if (!from.containsElementNamed(name)) return {};
  return read_levels(from[name]);
}

// `phi` of one number: a known precision of the noise.
inline BarkPrior read_bark_prior(const Rcpp::List& prior, bool probit) {
  BarkPrior out;
  out.alpha = read<double>(prior, "alpha");
  out.gamma = read<double>(prior, "gamma");
  out.epsilon = read<double>(prior, "epsilon");
  out.lambda_shape = read<double>(prior, "lambda_shape");
  out.lambda_rate = read<double>(prior, "lambda_rate");
  out.reach = read_or(prior, "reach", out.reach);
  if (prior.containsElementNamed("scale")) {
    const Rcpp::NumericVector scale = prior["scale"];
    out.scale_shape = scale.size() == 2 ? scale[0] : 0.0;
    out.scale_rate = scale.size() == 2 ? scale[1] : 0.0;
  }
  out.max_kernels = read<Index>(prior, "max_kernels");
  out.kill_power = read<int>(prior, "kill_power");
  const Rcpp::NumericVector phi = prior["phi"];
  if (probit) {
    out.phi.kind = PrecisionPrior::Kind::fixed;
  } else if (phi.size() == 1) {
    out.phi.kind = PrecisionPrior::Kind::fixed;
    out.phi.value = phi[0];
  } else if (phi.size() == 2) {
    out.phi.kind = PrecisionPrior::Kind::gamma;
    out.phi.shape = phi[0];
    out.phi.rate = phi[1];
  }
  return out;
}

inline InclusionPrior read_inclusion(const Rcpp::List& prior) {
  const Rcpp::NumericVector beta = prior["inclusion"];
  const Rcpp::NumericVector markov = prior["markov"];
  const Rcpp::NumericVector hyper = prior["markov_beta"];
  if (markov.size() == 2) {
    InclusionPrior out = InclusionPrior::markov(markov[0], markov[1]);
    if (hyper.size() == 4) {
      out.learn_markov({hyper[0], hyper[1], hyper[2], hyper[3]});
    }
    return out;
  }
  if (read<bool>(prior, "sampled_inclusion")) {
    return InclusionPrior::known(beta[0], beta[1],
                                 beta[0] / (beta[0] + beta[1]));
  }
  return InclusionPrior::beta(beta[0], beta[1]);
}

inline ScaleSetting read_setting(const Rcpp::List& settings) {
  ScaleSetting out;
  out.different = read<std::string>(settings, "scales") == "different";
  out.select = read<bool>(settings, "select");
  return out;
}
}  // namespace bayeskernel
