// Rows with missing values as atoms: a model of the predictors, and completed
// rows.
#include <bayeskernel/family/bounds.hpp>
#include <bayeskernel/missing/atom_maker.hpp>

#include "glue_bsvm.h"

namespace {

bayeskernel::Cells read_cells(const Rcpp::IntegerVector& sizes) {
  return bayeskernel::Cells(std::vector<int>(sizes.begin(), sizes.end()));
}

// Levels from 1, NA missing, to levels from 0, -1 missing.
bayeskernel::Codes read_codes(const Rcpp::IntegerMatrix& code) {
  bayeskernel::Codes out(code.nrow(), code.ncol());
  for (int j = 0; j < code.ncol(); ++j) {
    for (int i = 0; i < code.nrow(); ++i) {
      out(i, j) = code(i, j) == NA_INTEGER ? -1 : code(i, j) - 1;
    }
  }
  return out;
}

bayeskernel::Mixture read_mixture(const Rcpp::List& model) {
  bayeskernel::Mixture out;
  out.share = map_vector(model["share"]);
  out.mean = map_matrix(model["mean"]);
  const Rcpp::List covariance = model["cov"];
  for (R_xlen_t c = 0; c < covariance.size(); ++c) {
    out.covariance.push_back(map_matrix(covariance[c]));
  }
  if (model.containsElementNamed("sizes")) {
    out.cells = read_cells(model["sizes"]);
  }
  return out;
}

}  // namespace

// `predictors`: n x P, NA or NaN where missing, every column with a value;
// `codes`: n x F levels from 1 of factors that have `sizes` levels, NA where
// missing; `classes`: codes 1 .. C by row, every code in use, or of length 0
// for one. share (cells x C, classes change fastest), mean (P x these), cov (a
// P x P matrix by class), sizes.
// [[Rcpp::export(rng = false)]]
Rcpp::List predictor_model_cpp(const Rcpp::NumericMatrix& predictors,
                               const Rcpp::IntegerVector& classes,
                               const Rcpp::IntegerMatrix& codes,
                               const Rcpp::IntegerVector& sizes) {
  return guarded([&] {
    const auto x = map_matrix(predictors);
    std::vector<int> component(x.rows(), 0);
    int components = 1;
    for (R_xlen_t i = 0; i < classes.size(); ++i) {
      component[i] = classes[i] - 1;
      components = std::max<int>(components, classes[i]);
    }
    bayeskernel::MixtureFit fit([] { return !seen_interrupt(); });
    const bayeskernel::Mixture model = fit.fit(
        x, component, components, read_codes(codes), read_cells(sizes));
    return Rcpp::List::create(Rcpp::Named("share") = to_r(model.share),
                              Rcpp::Named("mean") = to_r(model.mean),
                              Rcpp::Named("cov") = to_r(model.covariance),
                              Rcpp::Named("sizes") = sizes);
  });
}

// Every row as its atoms, under a model by predictor_model_cpp(): row (from 1,
// atoms of a row and of a cell follow each other), log_prior, predictors (atoms
// x P), codes (atoms x F). A complete row is one atom.
// [[Rcpp::export(rng = false)]]
Rcpp::List atoms_cpp(const Rcpp::NumericMatrix& predictors,
                     const Rcpp::IntegerMatrix& codes,
                     const Rcpp::List& model) {
  return guarded([&] {
    const auto x = map_matrix(predictors);
    const bayeskernel::Codes code = read_codes(codes);
    const bayeskernel::Mixture mixture = read_mixture(model);
    bayeskernel::AtomMaker maker(mixture);
    bayeskernel::Atoms atoms;
    for (Eigen::Index i = 0; i < x.rows(); ++i) {
      if (i % 1024 == 1023 && seen_interrupt()) {
        throw bayeskernel::PassInterrupted();
      }
      maker.add(i, x.row(i).transpose(), code.row(i).transpose(), atoms);
    }
    const int n = static_cast<int>(atoms.row.size()), p = x.cols();
    Rcpp::IntegerVector row(n);
    for (int i = 0; i < n; ++i) row[i] = static_cast<int>(atoms.row[i]) + 1;
    const int factors = static_cast<int>(code.cols());
    Rcpp::IntegerMatrix levels(n, factors);
    for (int j = 0; j < factors; ++j) {
      for (int i = 0; i < n; ++i) {
        const std::size_t at = static_cast<std::size_t>(i) * factors + j;
        levels(i, j) = atoms.code[at] + 1;
      }
    }
    const Eigen::Map<const Eigen::MatrixXd> values(atoms.values.data(), p, n);
    return Rcpp::List::create(
        Rcpp::Named("row") = row, Rcpp::Named("log_prior") = atoms.log_prior,
        Rcpp::Named("predictors") = to_r(Eigen::MatrixXd(values.transpose())),
        Rcpp::Named("codes") = levels);
  });
}

// By atom: the derivative in E f of E log p(y | f)^w, f ~ N(mean, variance).
// `precision`: of the noise.
// [[Rcpp::export(rng = false)]]
Rcpp::List atom_scores_cpp(const Rcpp::List& settings,
                           const Rcpp::NumericVector& y,
                           const Rcpp::NumericVector& weight,
                           const Rcpp::NumericVector& mean,
                           const Rcpp::NumericVector& variance,
                           double precision) {
  return guarded([&] {
    const bayeskernel::Family family = read_family(settings);
    const bayeskernel::DirectTerms terms;
    const bayeskernel::Noise noise{precision, 0.0};
    const R_xlen_t n = y.size();
    if (weight.size() != n || mean.size() != n || variance.size() != n) {
      throw bayeskernel::ArgumentError("moments of other rows");
    }
    Rcpp::NumericVector score(n);
    for (R_xlen_t i = 0; i < n; ++i) {
      score[i] =
          terms(family, y[i], weight[i], mean[i], variance[i], noise).gradient;
    }
    return Rcpp::List::create(Rcpp::Named("score") = score);
  });
}
