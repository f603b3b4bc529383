// What R reads of a mean-field fit of the linear model.
#pragma once

#include "glue_bsvm.h"
#include "glue_workers.h"
#include "linear/mean_field.hpp"
#include "prior/wide_block.hpp"

namespace bayeskernel {
inline Rcpp::List variance_list(const Prior& prior,
                                const std::vector<BlockPosterior>& q) {
  Rcpp::List out(prior.blocks.size());
  for (std::size_t l = 0; l < prior.blocks.size(); ++l) {
    if (prior.blocks[l].kind == Block::Kind::unstructured) {
      out[l] = r_list({{"df", q[l].df}, {"scale", q[l].scale}});
    } else if (prior.blocks[l].kind == Block::Kind::point) {
      out[l] = r_list({{"value", q[l].value}});
    } else {
      out[l] = r_list({{"shape", q[l].shape}, {"rate", q[l].rate}});
    }
  }
  return out;
}

inline Rcpp::List status_list(const MeanFieldResult& result, double jitter,
                              double seconds) {
  Rcpp::List out = pass_status(result);
  out["jitter"] = jitter;
  out["seconds"] = seconds;
  return out;
}

// q of the noise variance of Gaussian rows; NULL for other families.
inline Rcpp::RObject noise_list(const RowModel& model,
                                const NoisePosterior& q) {
  if (model.family != Family::gaussian) return R_NilValue;
  if (model.noise.held) {
    return r_list({{"precision", q.precision}});
  }
  return r_list({{"shape", q.shape}, {"rate", q.rate}});
}

// q(theta, u) and the variances of a fit.
inline Rcpp::List posterior_list(const MeanFieldFit& fit, const Prior& prior,
                                 const WideBlock& wide) {
  return r_list({{"theta_mean", fit.posterior().mean.x},
                 {"theta_cov", fit.posterior().theta_covariance()},
                 {"group_mean", fit.posterior().mean.group},
                 {"group_cov", fit.posterior().group_covariances()},
                 {"loading", fit.system().loading()},
                 {"schur", fit.system().group_inverse()},
                 {"variance", variance_list(prior, fit.variances())},
                 {"precision", fit.precisions()},
                 {"noise", noise_list(fit.model(), fit.noise())},
                 {"basis", wide.basis},
                 {"basis_first", static_cast<int>(wide.first)}});
}

// E f, Var f and, of completions, their responsibilities, by row in R's order;
// where others keep the rows, they are asked.
inline void add_row_moments(const MeanFieldFit& fit,
                            const std::vector<Index>& order,
                            const RemoteRows* remote, Rcpp::List& out) {
  const bool completions = fit.model().completions != nullptr;
  VectorXd mean = fit.mean(), variance = fit.variance(),
           responsibility = fit.accepted().responsibility;
  if (remote != nullptr) {
    const Rcpp::List rows = remote->moments(fit);
    mean = map_vector(rows["mean"]);
    variance = map_vector(rows["variance"]);
    responsibility = map_vector(rows["share"]);
  }
  out["mean"] = to_r(by_row(mean, order));
  out["variance_f"] = to_r(by_row(variance, order));
  if (completions) out["share"] = to_r(by_row(responsibility, order));
}

// By linear response, whose covariance of theta is more of the truth than q's;
// NULL where it does not settle.
inline Rcpp::RObject response_list(const RowSource& rows, const Prior& prior,
                                   Executor& executor, const MeanFieldFit& fit,
                                   const std::vector<Index>& order,
                                   const RemoteRows* remote = nullptr) {
  LinearResponse response(rows, prior, executor);
  if (remote != nullptr) response.delegate(remote->response());
  if (!response.run(fit.posterior(), fit.precisions())) return R_NilValue;
  if (remote != nullptr) remote->fetch(response.influence);
  Rcpp::List out = influence_list(response.influence, order);
  out["cov"] = to_r(response.posterior().theta_covariance());
  return out;
}
}  // namespace bayeskernel
