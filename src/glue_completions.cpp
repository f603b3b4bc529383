// Rows with missing values as completions: a model of the predictors, and
// completed rows.
#include "glue_bsvm.h"
#include "likelihood/bounds.hpp"
#include "missing/completions/maker.hpp"
#include "missing/grouped_mixture.hpp"

using namespace bayeskernel;

namespace {
Cells read_cells(const Rcpp::IntegerVector& sizes) {
  return Cells(std::vector<int>(sizes.begin(), sizes.end()));
}

// Levels from 1, NA missing, to levels from 0, -1 missing.
Codes read_codes(const Rcpp::IntegerMatrix& code) {
  Codes out(code.nrow(), code.ncol());
  for (int j = 0; j < code.ncol(); ++j) {
    for (int i = 0; i < code.nrow(); ++i) {
      out(i, j) = code(i, j) == NA_INTEGER ? -1 : code(i, j) - 1;
    }
  }
  return out;
}

Mixture read_mixture(const Rcpp::List& model) {
  Mixture out;
  out.mixture_weight = map_vector(model["share"]);
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

// Codes of groups by factor, from 1; 0 or NA for a group that is unknown.
std::vector<std::vector<int>> read_groups(const Rcpp::List& groups,
                                          Index rows) {
  std::vector<std::vector<int>> out;
  for (R_xlen_t f = 0; f < groups.size(); ++f) {
    const Rcpp::IntegerVector code = groups[f];
    if (code.size() != rows) {
      throw ArgumentError("groups of other rows");
    }
    out.emplace_back(rows);
    for (Index i = 0; i < rows; ++i) {
      out.back()[i] = code[i] == NA_INTEGER ? -1 : code[i] - 1;
    }
  }
  return out;
}

// A predictor_model_cpp()'s effects, for rows of these groups.
GroupEffects read_effects(const Rcpp::List& model, const Rcpp::List& groups,
                          Index rows) {
  GroupEffects out;
  if (!model.containsElementNamed("groups")) return out;
  const Rcpp::IntegerVector where = model["where"];
  for (const int j : where) out.where.push_back(j - 1);
  const auto codes = read_groups(groups, rows);
  const Rcpp::List parts = model["groups"];
  if (parts.size() != groups.size()) {
    throw ArgumentError("other groups than the model's");
  }
  for (R_xlen_t f = 0; f < parts.size(); ++f) {
    const Rcpp::List part = parts[f];
    GroupEffects::Factor factor;
    factor.code = codes[f];
    factor.mean = map_matrix(part["mean"]);
    factor.variance = map_matrix(part["var"]);
    factor.covariance = map_matrix(part["cov"]);
    for (int& g : factor.code) {
      if (g >= factor.mean.cols()) g = -1;
    }
    if (part.containsElementNamed("tilt")) {
      const Rcpp::List tilt = part["tilt"];
      for (R_xlen_t k = 0; k < tilt.size(); ++k) {
        factor.tilt.push_back(map_matrix(tilt[k]));
      }
    }
    out.factors.push_back(std::move(factor));
  }
  return out;
}

void put_effects(const GroupEffects& groups, Rcpp::List& out) {
  Rcpp::IntegerVector where(groups.where.size());
  for (R_xlen_t d = 0; d < where.size(); ++d) {
    where[d] = static_cast<int>(groups.where[d]) + 1;
  }
  out["where"] = where;
  Rcpp::List parts;
  for (const GroupEffects::Factor& factor : groups.factors) {
    parts.push_back(r_list({{"mean", factor.mean},
                            {"var", factor.variance},
                            {"cov", factor.covariance}}));
  }
  out["groups"] = parts;
}
}  // namespace

// `predictors`: n x P, NA or NaN where missing, every column with a value;
// `codes`: n x F levels from 1 of factors that have `sizes` levels, NA where
// missing; `classes`: codes 1 .. C by row, every code in use, or of length 0
// for one. `groups`: of grouping factors, if any, codes from 1 by row, every
// code in use, which the predictors `where` (from 1) depend on; `response`: the
// last predictor is the response and is left out of the answer; `weights` of
// rows, or of length 0. share (cells x C, classes change fastest), mean (P x
// these), cov (a P x P matrix by class), sizes; with groups where, groups: by
// factor mean (D x groups), var (D^2 x groups), cov (D x D).
// [[Rcpp::export(rng = false)]]
Rcpp::List predictor_model_cpp(const Rcpp::NumericMatrix& predictors,
                               const Rcpp::IntegerVector& classes,
                               const Rcpp::IntegerMatrix& codes,
                               const Rcpp::IntegerVector& sizes,
                               const Rcpp::List& groups,
                               const Rcpp::IntegerVector& where, bool response,
                               const Rcpp::NumericVector& weights) {
  return guarded([&] {
    const auto x = map_matrix(predictors);
    std::vector<int> component(x.rows(), 0);
    int components = 1;
    for (R_xlen_t i = 0; i < classes.size(); ++i) {
      component[i] = classes[i] - 1;
      components = std::max<int>(components, classes[i]);
    }
    GroupEffects effects;
    for (const int j : where) effects.where.push_back(j - 1);
    for (std::vector<int>& code : read_groups(groups, x.rows())) {
      effects.factors.push_back({std::move(code), {}, {}, {}, {}});
    }
    const VectorXd weight = map_vector(weights);
    const Codes code = read_codes(codes);
    const Cells cells = read_cells(sizes);
    GroupedMixtureFit fit([] { return !seen_interrupt(); });
    const GroupedMixture model =
        fit.fit({x, component, components, code, cells,
                 weight.size() > 0 ? &weight : nullptr},
                std::move(effects), response);
    Rcpp::List out = r_list({{"share", model.rows.mixture_weight},
                             {"mean", model.rows.mean},
                             {"cov", model.rows.covariance},
                             {"sizes", sizes}});
    if (groups.size() == 0) return out;
    put_effects(model.groups, out);
    return out;
  });
}

// The same model with effects of groups anew, those that these rows tell.
// [[Rcpp::export(rng = false)]]
Rcpp::List predictor_effects_cpp(const Rcpp::NumericMatrix& predictors,
                                 const Rcpp::IntegerVector& classes,
                                 const Rcpp::IntegerMatrix& codes,
                                 const Rcpp::List& model,
                                 const Rcpp::List& groups) {
  return guarded([&] {
    const auto x = map_matrix(predictors);
    std::vector<int> component(x.rows(), 0);
    for (R_xlen_t i = 0; i < classes.size(); ++i) component[i] = classes[i] - 1;
    GroupedMixture at{read_mixture(model),
                      read_effects(model, groups, x.rows())};
    const Codes code = read_codes(codes);
    GroupedMixtureFit fit([] { return !seen_interrupt(); });
    fit.effects({x, component, static_cast<int>(at.rows.classes()), code,
                 at.rows.cells, nullptr},
                at);
    Rcpp::List out = Rcpp::clone(model);
    put_effects(at.groups, out);
    return out;
  });
}

// Every row as its completions, under a model by predictor_model_cpp(): row
// (from 1, completions of a row and of a cell follow each other), log_prior,
// predictors (completions x P), codes (completions x F). A complete row is one
// completion. `groups`: by grouping factor of the model the rows' codes, 0 for
// an unknown group.
// [[Rcpp::export(rng = false)]]
Rcpp::List atoms_cpp(const Rcpp::NumericMatrix& predictors,
                     const Rcpp::IntegerMatrix& codes, const Rcpp::List& model,
                     const Rcpp::List& groups) {
  return guarded([&] {
    const auto x = map_matrix(predictors);
    const Codes code = read_codes(codes);
    const Mixture mixture = read_mixture(model);
    const GroupEffects effects = read_effects(model, groups, x.rows());
    CompletionMaker maker(
        mixture, effects.factors.empty() ? nullptr : &effects,
        model.containsElementNamed("nodes") ? read<int>(model, "nodes") : 7);
    CompletedRows completions;
    for (Index i = 0; i < x.rows(); ++i) {
      if (i % 1024 == 1023 && seen_interrupt()) {
        throw PassInterrupted();
      }
      maker.add(i, x.row(i).transpose(), code.row(i).transpose(), completions);
    }
    const int n = static_cast<int>(completions.row.size()), p = x.cols();
    Rcpp::IntegerVector row(n);
    for (int i = 0; i < n; ++i)
      row[i] = static_cast<int>(completions.row[i]) + 1;
    const int factors = static_cast<int>(code.cols());
    Rcpp::IntegerMatrix levels(n, factors);
    for (int j = 0; j < factors; ++j) {
      for (int i = 0; i < n; ++i) {
        const std::size_t at = static_cast<std::size_t>(i) * factors + j;
        levels(i, j) = completions.code[at] + 1;
      }
    }
    const MatrixMap values(completions.values.data(), p, n);
    return r_list({{"row", row},
                   {"log_prior", completions.log_prior},
                   {"predictors", MatrixXd(values.transpose())},
                   {"codes", levels}});
  });
}

// By completion: the derivative in E f of E log p(y | f)^w, f ~ N(mean,
// variance). `precision`: of the noise.
// [[Rcpp::export(rng = false)]]
Rcpp::List atom_scores_cpp(const Rcpp::List& settings,
                           const Rcpp::NumericVector& y,
                           const Rcpp::NumericVector& weight,
                           const Rcpp::NumericVector& mean,
                           const Rcpp::NumericVector& variance,
                           double precision) {
  return guarded([&] {
    const Family family = read_family(settings);
    const DirectTerms terms;
    const Noise noise{precision, 0.0};
    const R_xlen_t n = y.size();
    if (weight.size() != n || mean.size() != n || variance.size() != n) {
      throw ArgumentError("moments of other rows");
    }
    Rcpp::NumericVector score(n);
    for (R_xlen_t i = 0; i < n; ++i) {
      score[i] =
          terms(family, y[i], weight[i], mean[i], variance[i], noise).gradient;
    }
    return r_list({{"score", score}});
  });
}
