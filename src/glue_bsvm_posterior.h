// What R reads of a mean-field fit of the linear model.
#ifndef BAYESKERNEL_GLUE_BSVM_POSTERIOR_H
#define BAYESKERNEL_GLUE_BSVM_POSTERIOR_H

#include <bayeskernel/data/wide.hpp>
#include <bayeskernel/hinge/mean_field.hpp>

#include "glue_bsvm.h"

inline Rcpp::List variance_list(
    const bayeskernel::Prior& prior,
    const std::vector<bayeskernel::BlockPosterior>& q) {
  Rcpp::List out(prior.blocks.size());
  for (std::size_t l = 0; l < prior.blocks.size(); ++l) {
    if (prior.blocks[l].kind == Block::Kind::unstructured) {
      out[l] = Rcpp::List::create(Rcpp::Named("df") = q[l].df,
                                  Rcpp::Named("scale") = to_r(q[l].scale));
    } else {
      out[l] = Rcpp::List::create(Rcpp::Named("shape") = q[l].shape,
                                  Rcpp::Named("rate") = q[l].rate);
    }
  }
  return out;
}

inline Rcpp::List status_list(const bayeskernel::MeanFieldResult& result,
                              double jitter, double seconds) {
  Rcpp::List out = pass_status(result);
  out["jitter"] = jitter;
  out["seconds"] = seconds;
  return out;
}

// D_g^-1 + H_g Sigma H_g' of every group, r x (r G).
inline MatrixXd group_covariances(const bayeskernel::MeanFieldFit& fit) {
  const MatrixXd& mean = fit.posterior().mean.group;
  const Index r = mean.rows(), groups = mean.cols();
  MatrixXd out(r, r * groups);
  for (Index g = 0; g < groups; ++g) {
    out.middleCols(g * r, r) = fit.posterior().group_covariance(g);
  }
  return out;
}

// q(theta, u) and the variances of a fit.
inline Rcpp::List posterior_list(const bayeskernel::MeanFieldFit& fit,
                                 const bayeskernel::Prior& prior,
                                 const bayeskernel::WideBlock& wide) {
  return Rcpp::List::create(
      Rcpp::Named("theta_mean") = to_r(fit.posterior().mean.x),
      Rcpp::Named("theta_cov") = to_r(fit.posterior().theta_covariance()),
      Rcpp::Named("group_mean") = to_r(fit.posterior().mean.group),
      Rcpp::Named("group_cov") = to_r(group_covariances(fit)),
      Rcpp::Named("loading") = to_r(fit.system().loading()),
      Rcpp::Named("schur") = to_r(fit.system().group_inverse()),
      Rcpp::Named("variance") = variance_list(prior, fit.variances()),
      Rcpp::Named("precision") = to_r(fit.precisions()),
      Rcpp::Named("basis") = to_r(wide.basis),
      Rcpp::Named("basis_first") = static_cast<int>(wide.first));
}

#endif
