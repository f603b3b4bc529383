#include <bayeskernel/predict/calibrated_link.hpp>

#include "glue_common.h"

// The calibrated link from moments of rows that are without the row, n x
// machines; y, numbers of classes from 0.
// [[Rcpp::export(rng = false)]]
Rcpp::List calibrated_link_cpp(const Rcpp::NumericMatrix& mean,
                               const Rcpp::NumericMatrix& variance,
                               const Rcpp::IntegerVector& y,
                               const Rcpp::NumericVector& weights) {
  return guarded([&] {
    const Eigen::Index n = mean.nrow();
    if (variance.nrow() != n || y.size() != n || weights.size() != n ||
        variance.ncol() != mean.ncol()) {
      throw bayeskernel::ArgumentError("moments of other rows");
    }
    bayeskernel::CalibratedLinkFit fit(
        map_matrix(mean), map_matrix(variance),
        Eigen::Map<const Eigen::VectorXi>(y.begin(), n), map_vector(weights));
    const bayeskernel::CalibratedLink link = fit.run();
    return Rcpp::List::create(Rcpp::Named("intercept") = to_r(link.intercept),
                              Rcpp::Named("slope") = link.slope,
                              Rcpp::Named("spread") = link.spread ? 1.0 : 0.0,
                              Rcpp::Named("value") = fit.value(),
                              Rcpp::Named("smooth") = fit.with_spread());
  });
}
