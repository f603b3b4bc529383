// The posterior with missing values and the effects of groups integrated out.
#include "glue_bsvm.h"
#include "missing/group_likelihood.hpp"
#include "missing/marginal_posterior.hpp"

using namespace bayeskernel;

namespace {
// From 1.
std::vector<int> read_places(SEXP from) {
  const Rcpp::IntegerVector code(from);
  std::vector<int> out(code.begin(), code.end());
  for (int& k : out) --k;
  return out;
}

GroupLikelihood::Data read_averaged(const Rcpp::List& rows) {
  return {read_family(rows),
          map_matrix(rows["x"]),
          map_vector(rows["y"]),
          map_vector(rows["offset"]),
          map_vector(rows["z"]),
          map_vector(rows["weight"]),
          map_vector(rows["log_prior"]),
          read_places(rows["row"]),
          read_places(rows["group"]),
          read<int>(rows, "groups")};
}

SharedLikelihood::Data read_shared(const Rcpp::List& rows) {
  SharedLikelihood::Data out{map_vector(rows["y"]),
                             map_vector(rows["weight"]),
                             map_matrix(rows["x"]),
                             map_matrix(rows["z"]),
                             read_places(rows["group"]),
                             read<int>(rows, "groups"),
                             {},
                             {},
                             map_matrix(rows["open"]),
                             map_matrix(rows["mean"]),
                             map_matrix(rows["toward"]),
                             map_matrix(rows["apart"])};
  const Rcpp::List patterns = rows["patterns"];
  for (R_xlen_t k = 0; k < patterns.size(); ++k) {
    const Rcpp::List one = patterns[k];
    out.patterns.push_back({read_places(one["at"]), map_matrix(one["move"]),
                            map_matrix(one["left"]), map_matrix(one["bare"])});
  }
  const Rcpp::List use = rows["use"];
  const std::vector<int> row = read_places(use["row"]),
                         column = read_places(use["column"]),
                         place = read_places(use["place"]);
  const VectorMap slope = map_vector(use["slope"]),
                  value = map_vector(use["value"]);
  for (std::size_t k = 0; k < row.size(); ++k) {
    out.uses.push_back({row[k], column[k], place[k], slope[k], value[k]});
  }
  return out;
}

// Rows with missing levels are completions, and have their prior probability.
std::unique_ptr<MarginalLikelihood> read_likelihood(const Rcpp::List& rows) {
  if (rows.containsElementNamed("log_prior")) {
    return std::make_unique<GroupLikelihood>(read_averaged(rows));
  }
  return std::make_unique<SharedLikelihood>(read_shared(rows));
}

std::optional<VariancePrior> read_variance_prior(SEXP from) {
  if (Rf_isNull(from)) return std::nullopt;
  const Rcpp::List list(from);
  return VariancePrior(read_or<double>(list, "shape", 0.0),
                       read_or<double>(list, "rate", 0.0), read_half_t(list));
}

Rcpp::List known_of(const MarginalLikelihood& likelihood,
                    const VectorRef& theta, const MatrixRef& precision,
                    double noise) {
  if (const auto* own = dynamic_cast<const SharedLikelihood*>(&likelihood)) {
    const auto missing = own->completions(theta, precision, noise);
    return r_list({{"mean", missing.mean}, {"var", missing.variance}});
  }
  const auto& averaged = static_cast<const GroupLikelihood&>(likelihood);
  const auto found = averaged.at(theta, precision(0, 0), noise, false);
  return r_list({{"share", found.share}, {"variance", found.variance}});
}

MarginalPosterior::Settings read_marginal(const Rcpp::List& from) {
  return {map_matrix(from["prior_precision"]),
          map_vector(from["prior_mean"]),
          map_matrix(from["precision"]),
          read<double>(from, "noise"),
          read<double>(from, "rest"),
          read_variance_prior(element(from, "effects_prior")),
          read_variance_prior(element(from, "noise_prior")),
          read<bool>(from, "leans")};
}
}  // namespace

// Where it is largest: `phi`, the covariance of what is free there, the effects
// (r x groups), and of rows with missing levels the probabilities of their
// completions, of others mean and variance of what is missing. Empty where it
// is not found.
// [[Rcpp::export(rng = false)]]
Rcpp::List marginal_peak_cpp(const Rcpp::List& rows, const Rcpp::List& settings,
                             const Rcpp::NumericVector& theta) {
  return guarded([&] {
    const auto likelihood = read_likelihood(rows);
    const MarginalPosterior target(*likelihood, read_marginal(settings));
    const auto peak = target.peak(map_vector(theta));
    if (!peak) return Rcpp::List();
    const VectorXd at = target.theta(peak->phi);
    const MatrixXd precision = target.precision(peak->phi);
    const double noise = target.noise(peak->phi);
    return r_list({{"phi", peak->phi},
                   {"cov", peak->covariance},
                   {"theta", at},
                   {"precision", precision},
                   {"noise", noise},
                   {"effects", target.look(peak->phi, false).effects},
                   {"known", known_of(*likelihood, at, precision, noise)}});
  });
}

// One point a row of `moves`, of the variances that are free from the peak on.
// [[Rcpp::export(rng = false)]]
Rcpp::List marginal_points_cpp(const Rcpp::List& rows,
                               const Rcpp::List& settings,
                               const Rcpp::List& peak,
                               const Rcpp::NumericMatrix& moves) {
  return guarded([&] {
    const auto likelihood = read_likelihood(rows);
    const MarginalPosterior target(*likelihood, read_marginal(settings));
    MatrixXd within;
    const auto points =
        target.points({map_vector(peak["phi"]), map_matrix(peak["cov"])},
                      map_matrix(moves), within);
    Rcpp::List each(points.size());
    for (std::size_t k = 0; k < points.size(); ++k) {
      each[k] = r_list({{"log_density", points[k].log_density},
                        {"theta", points[k].theta},
                        {"step", points[k].step},
                        {"effects", points[k].effects}});
    }
    return r_list({{"each", each}, {"within", within}});
  });
}

// One step from `theta` by what rows share; how far the effects and what is
// missing go. Empty where there is none.
// [[Rcpp::export(rng = false)]]
Rcpp::List marginal_step_cpp(const Rcpp::List& rows, const Rcpp::List& settings,
                             const Rcpp::NumericVector& theta) {
  return guarded([&] {
    const SharedLikelihood likelihood(read_shared(rows));
    const MarginalPosterior target(likelihood, read_marginal(settings));
    const auto step = target.step(likelihood, map_vector(theta));
    if (!step) return Rcpp::List();
    return r_list({{"theta", step->theta},
                   {"scale", step->scale},
                   {"effects", step->effects},
                   {"completed", step->completed}});
  });
}

// The likelihood at coefficients, the precision of the effects and the variance
// of the noise; `known` as in marginal_peak_cpp().
// [[Rcpp::export(rng = false)]]
Rcpp::List marginal_likelihood_cpp(const Rcpp::List& rows,
                                   const Rcpp::NumericVector& theta,
                                   const Rcpp::NumericMatrix& precision,
                                   double noise) {
  return guarded([&] {
    const auto likelihood = read_likelihood(rows);
    const VectorMap at = map_vector(theta);
    const MatrixMap psi = map_matrix(precision);
    const auto found = likelihood->look(at, psi, noise, true);
    return r_list({{"value", found.value},
                   {"theta", found.theta},
                   {"scale", found.scale},
                   {"noise", found.noise},
                   {"effects", found.effects},
                   {"information", found.information},
                   {"known", known_of(*likelihood, at, psi, noise)}});
  });
}
