#include "glue_kernel.h"

#include <bayeskernel/kernel/matrix.hpp>

// k(x_j, z_i), ncol(x) x ncol(z); rows of the data in the columns of x and z.
// [[Rcpp::export(rng = false)]]
Rcpp::List kernel_matrix_cpp(const Rcpp::List& kernel,
                             const Rcpp::NumericMatrix& x,
                             const Rcpp::NumericMatrix& z, int threads) {
  return guarded([&] {
    RcppParallelExecutor executor(threads);
    Rcpp::NumericMatrix out = Rcpp::no_init(x.ncol(), z.ncol());
    bayeskernel::kernel_matrix(
        read_kernel(kernel), map_matrix(x), map_matrix(z), executor,
        Eigen::Map<Eigen::MatrixXd>(out.begin(), out.nrow(), out.ncol()));
    return Rcpp::List::create(Rcpp::Named("values") = out);
  });
}
