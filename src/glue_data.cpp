#include <RcppEigen.h>

#include <bayeskernel/data/moments.hpp>

// Mean, sd, range and number of NaN of the columns of a numeric matrix.
// [[Rcpp::export(rng = false)]]
Rcpp::List column_moments_cpp(const Eigen::Map<Eigen::MatrixXd> x) {
  const bayeskernel::ColumnMoments moments = bayeskernel::column_moments(x);
  return Rcpp::List::create(Rcpp::Named("mean") = moments.mean,
                            Rcpp::Named("sd") = moments.sd,
                            Rcpp::Named("min") = moments.minimum,
                            Rcpp::Named("max") = moments.maximum,
                            Rcpp::Named("missing") = moments.missing);
}
