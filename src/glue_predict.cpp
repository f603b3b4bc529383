// R's lists of new rows and posteriors to the core's predictors.
#include "glue_predict.h"

#include "predict/gaussian_moments.hpp"
#include "predict/link_moments.hpp"

using namespace bayeskernel;

namespace {
MissingUses read_uses(const Rcpp::List& from, Index rows) {
  const auto row = read<std::vector<int>>(from, "row");
  const Rcpp::IntegerVector column = from["column"];
  const Rcpp::IntegerVector predictor = from["predictor"];
  const Rcpp::NumericVector base = from["base"], slope = from["slope"];
  const R_xlen_t count = static_cast<R_xlen_t>(row.size());
  for (const R_xlen_t size :
       {column.size(), predictor.size(), base.size(), slope.size()}) {
    demand(size == count, "a use of a missing predictor");
  }
  std::vector<MissingUses::Use> uses;
  for (R_xlen_t u = 0; u < count; ++u) {
    uses.push_back({column[u], predictor[u], base[u], slope[u]});
  }
  return MissingUses::of(row, std::move(uses), rows);
}

LinearRows read_rows(const Rcpp::List& from) {
  LinearRows out{map_matrix(from["x"]),
                 map_vector(from["offset"]),
                 {},
                 {},
                 map_matrix(from["predictors"]),
                 {}};
  const Index n = out.x.rows();
  const bool some = out.predictors.cols() > 0;
  const Rcpp::List terms = from["terms"], patterns = from["patterns"];
  for (R_xlen_t t = 0; t < terms.size(); ++t) {
    const Rcpp::List term = terms[t];
    out.terms.push_back({map_matrix(term["z"]),
                         read<std::vector<int>>(term, "group"),
                         some ? read_uses(term["uses"], n) : MissingUses()});
  }
  if (some) out.missing = read_uses(from["uses"], n);
  for (R_xlen_t k = 0; k < patterns.size(); ++k) {
    const Rcpp::List pattern = patterns[k];
    out.patterns.push_back({read<std::vector<int>>(pattern, "predictors"),
                            read<std::vector<int>>(pattern, "rows")});
  }
  return out;
}

LinearDraws read_draws(const Rcpp::List& from) {
  LinearDraws out{map_matrix(from["theta"]),
                  {},
                  map_matrix(from["x_mean"]),
                  map_matrix(from["x_cov"])};
  const Rcpp::List terms = from["terms"];
  for (R_xlen_t t = 0; t < terms.size(); ++t) {
    const Rcpp::List term = terms[t];
    out.terms.push_back(
        {map_matrix(term["effects"]), map_matrix(term["covariance"])});
  }
  return out;
}

LinearPosterior read_posterior(const Rcpp::List& from) {
  using Term = LinearPosterior::Term;
  LinearPosterior out{
      map_vector(from["center"]),       map_vector(from["scale"]),
      map_vector(from["mean"]),         map_matrix(from["covariance"]),
      map_vector(from["gamma"]),        map_vector(from["indicator_var"]),
      map_matrix(from["basis"]),        read<Index>(from, "first"),
      read<double>(from, "hidden_var"), {},
      map_matrix(from["precision"]),    map_vector(from["x_mean"]),
      map_matrix(from["x_mean_cov"])};
  const Rcpp::List terms = from["terms"];
  for (R_xlen_t t = 0; t < terms.size(); ++t) {
    const Rcpp::List term = terms[t];
    const std::string kind = read<std::string>(term, "kind");
    out.terms.push_back({kind == "dense"        ? Term::Kind::dense
                         : kind == "eliminated" ? Term::Kind::eliminated
                                                : Term::Kind::apart,
                         map_matrix(term["mean"]), map_matrix(term["loading"]),
                         map_matrix(term["covariance"]),
                         read<std::vector<int>>(term, "index"),
                         map_matrix(term["unseen"])});
  }
  return out;
}
}  // namespace

// Mean and variance of f under q(theta, u).
// [[Rcpp::export(rng = false)]]
Rcpp::List linear_moments_cpp(const Rcpp::List& rows,
                              const Rcpp::List& posterior, int threads) {
  return guarded([&] {
    const LinearRows at = read_rows(rows);
    const LinearPosterior q = read_posterior(posterior);
    RcppParallelExecutor executor(threads);
    executor.ask();
    const GaussianMoments out = LinearPredictor(at, q).run(executor);
    return r_list({{"mean", out.mean}, {"var", out.var}});
  });
}

// Moments of f and of the class probability by each link, over draws; `robust`:
// also those of a normal law of the same quantiles.
// [[Rcpp::export(rng = false)]]
Rcpp::List draw_moments_cpp(const Rcpp::List& rows, const Rcpp::List& draws,
                            const Rcpp::CharacterVector& links, int threads,
                            bool robust = false) {
  return guarded([&] {
    const LinearRows at = read_rows(rows);
    const LinearDraws from = read_draws(draws);
    RcppParallelExecutor executor(threads);
    executor.ask();
    return moments_list(LinearDrawPredictor(at, from).moments(
        read_links(links), executor, robust));
  });
}

// f itself, draws x rows; every group is known.
// [[Rcpp::export(rng = false)]]
Rcpp::List draw_values_cpp(const Rcpp::List& rows, const Rcpp::List& draws,
                           const Rcpp::NumericVector& noise, int threads) {
  return guarded([&] {
    const LinearRows at = read_rows(rows);
    const LinearDraws from = read_draws(draws);
    demand(noise.size() == from.beta.rows() * at.missing_values(),
           "the noise of missing predictors");
    RcppParallelExecutor executor(threads);
    executor.ask();
    return r_list(
        {{"f", LinearDrawPredictor(at, from).values(noise.begin(), executor)}});
  });
}

// E g(f) for f ~ N(m, s2), by row.
// [[Rcpp::export(rng = false)]]
Rcpp::NumericVector link_probability_cpp(const Rcpp::NumericVector& m,
                                         const Rcpp::NumericVector& s2,
                                         const std::string& link) {
  const LinkCurve curve(read_link(link));
  Rcpp::NumericVector out(m.size());
  for (R_xlen_t i = 0; i < m.size(); ++i) {
    out[i] =
        Rcpp::NumericVector::is_na(m[i]) ? NA_REAL : curve.mean(m[i], s2[i]);
  }
  return out;
}

// The same, and the standard deviation of g(f).
// [[Rcpp::export(rng = false)]]
Rcpp::List link_moments_cpp(const Rcpp::NumericVector& m,
                            const Rcpp::NumericVector& s2,
                            const std::string& link, int threads) {
  return guarded([&] {
    Rcpp::NumericVector mean(m.size()), deviation(m.size());
    RcppParallelExecutor executor(threads);
    executor.ask();
    LinkMoments(read_link(link))
        .run(map_vector(m).array(), map_vector(s2).array(), mean.begin(),
             deviation.begin(), executor);
    return r_list({{"prob", mean}, {"prob_sd", deviation}});
  });
}
