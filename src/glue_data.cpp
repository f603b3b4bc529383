#include <bayeskernel/data/moments.hpp>

#include "glue_common.h"

// Mean, sd, range and number of NaN of the columns of a numeric matrix.
// [[Rcpp::export(rng = false)]]
Rcpp::List column_moments_cpp(const Rcpp::NumericMatrix& x) {
  const bayeskernel::ColumnMoments moments =
      bayeskernel::column_moments(map_matrix(x));
  return Rcpp::List::create(Rcpp::Named("mean") = to_r(moments.mean),
                            Rcpp::Named("sd") = to_r(moments.sd),
                            Rcpp::Named("min") = to_r(moments.minimum),
                            Rcpp::Named("max") = to_r(moments.maximum),
                            Rcpp::Named("missing") = to_r(moments.missing));
}
