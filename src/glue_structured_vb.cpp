#include <bayeskernel/bsvm/structured_mean_field.hpp>

#include "glue_bsvm.h"

namespace {

using bayeskernel::Holes;
using bayeskernel::Selection;
using bayeskernel::StructuredMeanFieldFit;

SEXP selection_list(const StructuredMeanFieldFit& fit,
                    const Selection& selection) {
  if (selection.size() == 0) return R_NilValue;
  const bayeskernel::SelectionPosterior& q = fit.selection();
  return Rcpp::List::create(
      Rcpp::Named("inclusion") = to_r(fit.inclusion()),
      Rcpp::Named("log_odds") = to_r(fit.log_odds()),
      Rcpp::Named("expected_b") = to_r(fit.expected_b()),
      Rcpp::Named("shape") = q.shape, Rcpp::Named("rate") = q.rate,
      Rcpp::Named("rho") = selection.learn_rho
                               ? Rcpp::NumericVector::create(q.rho_in, q.rho_out)
                               : Rcpp::NumericVector());
}

SEXP holes_list(const StructuredMeanFieldFit& fit, const Holes& holes,
                const HolePlaces& places) {
  if (holes.predictors() == 0) return R_NilValue;
  const bayeskernel::HolesPosterior& q = fit.holes();
  return Rcpp::List::create(
      Rcpp::Named("row") = places.row,
      Rcpp::Named("predictor") = places.predictor,
      Rcpp::Named("mean") = to_r(q.mean),
      Rcpp::Named("var") = to_r(fit.hole_variance()),
      Rcpp::Named("x_mean") = to_r(q.center),
      Rcpp::Named("x_mean_cov") = to_r(q.center_cov),
      Rcpp::Named("df") = q.df, Rcpp::Named("scale") = to_r(q.scale));
}

}  // namespace

// [[Rcpp::export(rng = false)]]
Rcpp::List bsvm_structured_vb_cpp(const Rcpp::List& data,
                                  const Rcpp::List& prior,
                                  const Rcpp::List& settings) {
  return guarded([&] {
    const auto start = std::chrono::steady_clock::now();
    const bayeskernel::BsvmData input = read_data(data);
    const bayeskernel::Prior blocks = read_prior(prior);
    const Selection selection = read_selection(data["selection"]);
    HolePlaces places;
    const Holes holes = read_holes(data["holes"], input.order, &places);
    const double inclusion =
        selection.size() == 0
            ? 1.0
            : Rcpp::as<double>(Rcpp::List(data["selection"])["start"]);
    bayeskernel::PackedRows rows = bayeskernel::pack_rows(input);
    rows.finish(input.group_begin);
    const Index groups = rows.groups(), r = rows.z_columns();
    RcppParallelExecutor executor(
        useful_threads(rows, Rcpp::as<int>(settings["threads"])));
    UserCallback user(Rcpp::as<bool>(settings["progress"]));
    StructuredMeanFieldFit fit(std::move(rows), blocks, selection, holes,
                               executor);
    const bayeskernel::MeanFieldResult result = fit.run(
        read_mean_field_settings(settings), user.keep_going(), inclusion);
    const MatrixXd covariance = group_covariances(
        groups, r, [&](Index g) { return fit.group_covariance(g); });
    const bayeskernel::ArrowVector mean = fit.mean();
    return Rcpp::List::create(
        Rcpp::Named("theta_mean") = to_r(mean.x),
        Rcpp::Named("theta_cov") = to_r(fit.theta_covariance()),
        Rcpp::Named("group_mean") = to_r(mean.group),
        Rcpp::Named("group_cov") = to_r(covariance),
        Rcpp::Named("loading") = to_r(fit.loading()),
        Rcpp::Named("schur") = to_r(fit.group_inverse()),
        Rcpp::Named("variance") = variance_list(blocks, fit.variances()),
        Rcpp::Named("precision") = to_r(fit.precisions()),
        Rcpp::Named("basis") = to_r(MatrixXd()),
        Rcpp::Named("basis_first") = 0,
        Rcpp::Named("mean") = to_r(restore_order(fit.fitted_mean(), input.order)),
        Rcpp::Named("variance_f") =
            to_r(restore_order(fit.fitted_variance(), input.order)),
        Rcpp::Named("selection") = selection_list(fit, selection),
        Rcpp::Named("holes") = holes_list(fit, holes, places),
        Rcpp::Named("status") =
            status_list(result, fit.jitter(), seconds_since(start)));
  });
}
