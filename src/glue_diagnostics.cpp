#include <bayeskernel/diagnostics/convergence.hpp>

#include "glue_common.h"

// Rows: variables. Columns: R-hat, bulk ESS, tail ESS, error of the mean.
// `draws` is iterations x chains x variables.
// [[Rcpp::export(rng = false)]]
Rcpp::NumericMatrix convergence_cpp(const Rcpp::NumericVector& draws) {
  const Rcpp::IntegerVector dim = draws.attr("dim");
  const Eigen::Index iterations = dim[0], chains = dim[1];
  Rcpp::NumericMatrix out(dim[2], 4);
  for (int v = 0; v < dim[2]; ++v) {
    const Eigen::Map<const Eigen::MatrixXd> variable(
        draws.begin() + v * iterations * chains, iterations, chains);
    const bayeskernel::Convergence found = bayeskernel::convergence(variable);
    out(v, 0) = found.rhat;
    out(v, 1) = found.ess_bulk;
    out(v, 2) = found.ess_tail;
    out(v, 3) = found.mcse_mean;
  }
  return out;
}

// [[Rcpp::export(rng = false)]]
void remember_process_cpp() { in_forked_child(); }
