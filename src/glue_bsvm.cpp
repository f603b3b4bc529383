#include "glue_common.h"

#include <bayeskernel/bsvm/draw_moments.hpp>
#include <bayeskernel/bsvm/linear_moments.hpp>
#include <bayeskernel/hinge/probability.hpp>

// E g(f) for f ~ N(m, s2), by row.
// [[Rcpp::export(rng = false)]]
Rcpp::NumericVector hinge_probability_cpp(const Rcpp::NumericVector& m,
                                          const Rcpp::NumericVector& s2) {
  const bayeskernel::HingeProbability probability;
  Rcpp::NumericVector out(m.size());
  for (R_xlen_t i = 0; i < m.size(); ++i) {
    out[i] = Rcpp::NumericVector::is_na(m[i])
                 ? NA_REAL
                 : probability(m[i], std::sqrt(s2[i]));
  }
  return out;
}

// Mean and variance of f, mean and sd of the class probability, by row.
// [[Rcpp::export(rng = false)]]
Rcpp::List draw_moments_cpp(const Rcpp::NumericMatrix& x,
                            const Rcpp::NumericVector& offset,
                            const Rcpp::NumericMatrix& beta,
                            const Rcpp::List& terms, bool hinge, int threads) {
  return guarded([&] {
    std::vector<bayeskernel::TermDraws> draws;
    for (R_xlen_t t = 0; t < terms.size(); ++t) {
      const Rcpp::List term = terms[t];
      draws.push_back(
          {map_matrix(term["z"]), Rcpp::as<std::vector<int>>(term["group"]),
           map_matrix(term["effects"]), map_matrix(term["covariance"])});
    }
    RcppParallelExecutor executor(threads);
    const bayeskernel::DrawMoments moments =
        bayeskernel::draw_moments(map_matrix(x), map_vector(offset),
                                  map_matrix(beta), draws, hinge, executor);
    return Rcpp::List::create(to_r(moments.mean), to_r(moments.var),
                              to_r(moments.probability),
                              to_r(moments.probability_sd));
  });
}

// [[Rcpp::export(rng = false)]]
Rcpp::List linear_moments_cpp(const Rcpp::NumericMatrix& x,
                              const Rcpp::NumericVector& center,
                              const Rcpp::NumericVector& scale,
                              const Rcpp::NumericVector& offset,
                              const Rcpp::NumericVector& mean,
                              const Rcpp::NumericMatrix& covariance,
                              int threads) {
  return guarded([&] {
    RcppParallelExecutor executor(threads);
    const bayeskernel::LinearMoments moments = bayeskernel::linear_moments(
        map_matrix(x), map_vector(center), map_vector(scale),
        map_vector(offset), map_vector(mean), map_matrix(covariance), executor);
    return Rcpp::List::create(Rcpp::Named("mean") = to_r(moments.mean),
                              Rcpp::Named("var") = to_r(moments.var));
  });
}
