#include "glue_mkprobit.h"
#include "multinomial/left_out.hpp"

// How well the others predict each row under the process prior. `features`:
// regressors x rows, with coefficients of unit precision. A column of
// `log_prob` for each of settings$sharpness.
// [[Rcpp::export(rng = false)]]
Rcpp::List mkprobit_left_out_cpp(const Rcpp::NumericMatrix& features,
                                 const Rcpp::IntegerVector& y, int classes,
                                 const Rcpp::List& settings) {
  return guarded([&] {
    RcppParallelExecutor executor(read<int>(settings, "threads"));
    executor.ask();
    UserCallback user(false);
    bayeskernel::MultinomialSettings control;
    control.scales = bayeskernel::LatentScales::fixed;
    control.nodes = read<int>(settings, "nodes");
    control.tolerance = read<double>(settings, "tol");
    control.max_passes = read<int>(settings, "max_iter");
    const Composite composite({Source::given(map_matrix(features))},
                              Combination::sum, false);
    const bayeskernel::Design design(composite, VectorXd::Ones(1), executor);
    bayeskernel::MultinomialFit fit(read_classes(y, composite.rows(), classes),
                                    classes, control, executor);
    const bayeskernel::MultinomialResult result =
        fit.run(design, user.keep_going());
    if (result.interrupted || user.interrupted()) {
      return r_list({{"interrupted", true}});
    }
    const auto sharpness = map_vector(settings["sharpness"]);
    const bayeskernel::ClassMoments at =
        bayeskernel::left_out_moments(fit, design, false, executor);
    MatrixXd log_prob(composite.rows(), sharpness.size());
    for (Index k = 0; k < sharpness.size(); ++k) {
      log_prob.col(k) =
          bayeskernel::left_out_probability(fit, at, sharpness[k], executor);
    }
    return r_list({{"interrupted", false}, {"log_prob", log_prob}});
  });
}
