#include "glue_mkprobit.h"
#include "multinomial/left_out.hpp"

using namespace bayeskernel;

// How well the others predict each row under the process prior. `features`:
// regressors x rows, with coefficients of unit precision. A column of
// `log_prob` for each of settings$sharpness. `latent`: E Y, classes x rows, from
// which another search may begin as settings$latent.
// [[Rcpp::export(rng = false)]]
Rcpp::List mkprobit_left_out_cpp(const Rcpp::NumericMatrix& features,
                                 const Rcpp::IntegerVector& y, int classes,
                                 const Rcpp::List& settings) {
  return guarded([&] {
    RcppParallelExecutor executor(read<int>(settings, "threads"));
    executor.ask();
    UserCallback user(false);
    MultinomialSettings control;
    control.scales = LatentScales::fixed;
    control.nodes = read<int>(settings, "nodes");
    control.tolerance = read<double>(settings, "tol");
    control.max_passes = read<int>(settings, "max_iter");
    control.power = read_power(settings);
    const Composite composite({Source::given(map_matrix(features))},
                              Combination::sum, false);
    const Design design(composite, VectorXd::Ones(1), executor);
    MultinomialFit fit(read_classes(y, composite.rows(), classes), classes,
                       control, executor);
    MultinomialStart start;
    const bool known = settings.containsElementNamed("latent");
    if (known) start.y = map_matrix(settings["latent"]);
    const MultinomialResult result =
        fit.run(design, user.keep_going(), known ? &start : nullptr);
    if (result.interrupted || user.interrupted()) {
      return r_list({{"interrupted", true}});
    }
    const auto sharpness = map_vector(settings["sharpness"]);
    const ClassMoments at = left_out_moments(fit, design, false, executor);
    return r_list(
        {{"interrupted", false},
         {"latent", to_r(fit.y())},
         {"passes", result.passes},
         {"log_prob", class_log_probabilities(at, fit.labels(), control.nodes,
                                              sharpness, executor)}});
  });
}

// log P(y) of rows whose latent responses have these moments, classes x rows: a
// column for each of settings$sharpness.
// [[Rcpp::export(rng = false)]]
Rcpp::List mkprobit_log_prob_cpp(const Rcpp::NumericMatrix& mean,
                                 const Rcpp::NumericMatrix& sd,
                                 const Rcpp::IntegerVector& y,
                                 const Rcpp::List& settings) {
  return guarded([&] {
    RcppParallelExecutor executor(read<int>(settings, "threads"));
    executor.ask();
    const ClassMoments at{map_matrix(mean), map_matrix(sd)};
    const std::vector<Index> labels =
        read_classes(y, at.mean.cols(), static_cast<int>(at.mean.rows()));
    return r_list(
        {{"log_prob", class_log_probabilities(
                          at, labels, read<int>(settings, "nodes"),
                          map_vector(settings["sharpness"]), executor)}});
  });
}
