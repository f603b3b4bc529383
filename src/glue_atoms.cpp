// Rows with missing values as atoms: a model of the predictors, and completed
// rows.
#include <bayeskernel/missing/mixture.hpp>

#include "glue_common.h"

namespace {

bayeskernel::Mixture read_mixture(const Rcpp::List& model) {
  bayeskernel::Mixture out;
  out.share = map_vector(model["share"]);
  out.mean = map_matrix(model["mean"]);
  const Rcpp::List covariance = model["cov"];
  for (R_xlen_t c = 0; c < covariance.size(); ++c) {
    out.covariance.push_back(map_matrix(covariance[c]));
  }
  return out;
}

}  // namespace

// `predictors`: n x P, NA or NaN where missing, every column with a value;
// `classes`: codes 1 .. C by row, every code in use, or of length 0 for one
// Gaussian. share (C), mean (P x C), cov (a P x P matrix by class).
// [[Rcpp::export(rng = false)]]
Rcpp::List predictor_model_cpp(const Rcpp::NumericMatrix& predictors,
                               const Rcpp::IntegerVector& classes) {
  return guarded([&] {
    const auto x = map_matrix(predictors);
    std::vector<int> component(x.rows(), 0);
    int components = 1;
    for (R_xlen_t i = 0; i < classes.size(); ++i) {
      component[i] = classes[i] - 1;
      components = std::max<int>(components, classes[i]);
    }
    const bayeskernel::Mixture model =
        bayeskernel::MixtureFit().fit(x, component, components);
    return Rcpp::List::create(Rcpp::Named("share") = to_r(model.share),
                              Rcpp::Named("mean") = to_r(model.mean),
                              Rcpp::Named("cov") = to_r(model.covariance));
  });
}

// Every row as its atoms, under a model by predictor_model_cpp(): row (from 1,
// atoms of a row follow each other), log_prior, predictors (atoms x P). A
// complete row is one atom.
// [[Rcpp::export(rng = false)]]
Rcpp::List atoms_cpp(const Rcpp::NumericMatrix& predictors,
                     const Rcpp::List& model) {
  return guarded([&] {
    const auto x = map_matrix(predictors);
    const bayeskernel::Mixture mixture = read_mixture(model);
    bayeskernel::AtomMaker maker(mixture);
    bayeskernel::Atoms atoms;
    for (Eigen::Index i = 0; i < x.rows(); ++i) {
      maker.add(i, x.row(i).transpose(), atoms);
    }
    const int n = static_cast<int>(atoms.row.size()), p = x.cols();
    Rcpp::IntegerVector row(n);
    for (int i = 0; i < n; ++i) row[i] = static_cast<int>(atoms.row[i]) + 1;
    const Eigen::Map<const Eigen::MatrixXd> values(atoms.values.data(), p, n);
    return Rcpp::List::create(
        Rcpp::Named("row") = row, Rcpp::Named("log_prior") = atoms.log_prior,
        Rcpp::Named("predictors") = to_r(Eigen::MatrixXd(values.transpose())));
  });
}
