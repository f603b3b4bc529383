#include "multinomial/left_out.hpp"

#include "glue_mkprobit.h"

namespace {

MatrixXd class_log_probabilities(const bayeskernel::ClassMoments& at,
                                 const std::vector<Index>& labels, Index nodes,
                                 const VectorXd& sharpness,
                                 bayeskernel::Executor& executor) {
  MatrixXd out(at.mean.cols(), sharpness.size());
  for (Index k = 0; k < sharpness.size(); ++k) {
    out.col(k) = bayeskernel::class_log_probability(at, labels, nodes,
                                                    sharpness[k], executor);
  }
  return out;
}

}  // namespace

// How well the others predict each row under the process prior. `features`:
// regressors x rows, with coefficients of unit precision. A column of `log_prob`
// for each of settings$sharpness.
// [[Rcpp::export(rng = false)]]
Rcpp::List mkprobit_left_out_cpp(const Rcpp::NumericMatrix& features,
                                 const Rcpp::IntegerVector& y, int classes,
                                 const Rcpp::List& settings) {
  return guarded([&] {
    RcppParallelExecutor executor(Rcpp::as<int>(settings["threads"]));
    executor.ask();
    UserCallback user(false);
    bayeskernel::MultinomialSettings control;
    control.scales = bayeskernel::LatentScales::fixed;
    control.nodes = Rcpp::as<int>(settings["nodes"]);
    control.tolerance = Rcpp::as<double>(settings["tol"]);
    control.max_passes = Rcpp::as<int>(settings["max_iter"]);
    control.power = read_power(settings);
    const Composite composite({Source::given(map_matrix(features))},
                              Combination::sum, false);
    const bayeskernel::Design design(composite, VectorXd::Ones(1), executor);
    bayeskernel::MultinomialFit fit(read_classes(y, composite.rows(), classes),
                                    classes, control, executor);
    const bayeskernel::MultinomialResult result =
        fit.run(design, user.keep_going());
    if (result.interrupted || user.interrupted()) {
      return Rcpp::List::create(Rcpp::Named("interrupted") = true);
    }
    const auto sharpness = map_vector(settings["sharpness"]);
    const bayeskernel::ClassMoments at =
        bayeskernel::left_out_moments(fit, design, false, executor);
    return Rcpp::List::create(
        Rcpp::Named("interrupted") = false,
        Rcpp::Named("log_prob") = to_r(class_log_probabilities(
            at, fit.labels(), control.nodes, sharpness, executor)));
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
    RcppParallelExecutor executor(Rcpp::as<int>(settings["threads"]));
    executor.ask();
    const bayeskernel::ClassMoments at{map_matrix(mean), map_matrix(sd)};
    const std::vector<Index> labels =
        read_classes(y, at.mean.cols(), static_cast<int>(at.mean.rows()));
    return Rcpp::List::create(Rcpp::Named("log_prob") =
                                  to_r(class_log_probabilities(
        at, labels, Rcpp::as<int>(settings["nodes"]),
        map_vector(settings["sharpness"]), executor)));
  });
}
