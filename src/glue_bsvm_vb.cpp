#include "gibbs/missing_summary.hpp"
#include "glue_bsvm_posterior.h"
#include "glue_process_rows.h"
#include "selection/model_fit.hpp"
#include "selection/screen.hpp"

using namespace bayeskernel;

namespace {
Rcpp::List selection_list(const ColumnSearch& search,
                          const Selection& selection) {
  const IndicatorPosterior& q = search.indicators();
  return r_list({{"inclusion", search.inclusion()},
                 {"log_odds", search.log_odds()},
                 {"expected_b", search.expected_b()},
                 {"shape", q.shape},
                 {"rate", q.rate},
                 {"rho", selection.learn_rho
                             ? Rcpp::NumericVector::create(q.rho_in, q.rho_out)
                             : Rcpp::NumericVector()}});
}

Rcpp::List missing_list(const MeanFieldFit& fit, const MissingPattern& missing,
                        const std::vector<Index>& order) {
  const MissingPosterior& q = fit.accepted().missing;
  const MissingPlaces places(missing, order);
  return r_list({{"row", places.row},
                 {"predictor", places.predictor},
                 {"mean", q.mean},
                 {"var", value_variances(missing, q)},
                 {"x_mean", q.center},
                 {"x_mean_cov", q.center_cov},
                 {"df", q.df},
                 {"scale", q.scale}});
}

// q over all columns, and the moments of the rows.
Rcpp::List model_list(const ModelFit& model, const LinearInput& in,
                      const WideBlock& wide, const Selection& selection,
                      const MissingPattern& missing, const RemoteRows* remote) {
  const MeanFieldFit& fit = model.fit();
  Rcpp::List out = posterior_list(fit, in.prior, wide);
  add_row_moments(fit, in.data.order, remote, out);
  if (missing.predictors() > 0) {
    out["holes"] = missing_list(fit, missing, in.data.order);
  }
  if (model.search() == nullptr) return out;
  out["theta_mean"] = to_r(model.mean().x);
  out["theta_cov"] = to_r(model.theta_covariance());
  out["loading"] = to_r(model.loading());
  out["selection"] = selection_list(*model.search(), selection);
  out["mean"] = to_r(by_row(model.row_mean(), in.data.order));
  out["variance_f"] = to_r(by_row(model.row_variance(), in.data.order));
  return out;
}
}  // namespace

// Interrupted before its first step a fit has no posterior: `status` alone.
// [[Rcpp::export(rng = false)]]
Rcpp::List bsvm_vb_cpp(const Rcpp::List& data, const Rcpp::List& prior,
                       const Rcpp::List& settings) {
  return guarded([&] {
    const auto start = std::chrono::steady_clock::now();
    LinearInput in(data, prior, settings);
    const std::vector<Index>& order = in.data.order;
    const SEXP selected = element(data, "selection");
    const Selection selection = read_selection(selected);
    const MissingPattern missing = read_missing(element(data, "holes"), order);
    const bool fixed = missing.predictors() == 0 && selection.size() == 0;
    const std::unique_ptr<RemoteRows> remote = read_remote(settings);
    FitRows rows(in, data, settings, fixed, remote != nullptr);
    in.model.open = rows.open();
    UserCallback user(read<bool>(settings, "progress"));
    const bool gradients = !Rf_isNull(element(settings, "pulls"));
    PackedRows seen;
    if (gradients && selection.size() > 0) seen = rows.kept.packed;
    ModelFit model(rows.kept.packed, rows.rows(), in.prior, selection, missing,
                   rows.executor, remote == nullptr, in.model);
    if (remote && model.search() == nullptr) {
      remote->set_centres(rows.processes.centres());
      model.plain().delegate(remote->mean_field());
    }
    VectorXd inclusion;
    if (selection.size() > 0) {
      inclusion = map_vector(Rcpp::List(selected)["start"]);
    }
    MeanFieldResult result = model.run(read_mean_field_settings(settings),
                                       user.keep_going(), inclusion);
    const MeanFieldFit& fit = model.fit();
    const bool usable = !result.bound.empty();
    Rcpp::List out;
    if (usable) {
      out = model_list(model, in, rows.kept.wide, selection, missing,
                       remote.get());
      if (in.model.family == Family::hinge && fixed &&
          in.model.completions == nullptr && in.model.open == nullptr &&
          !result.interrupted) {
        result.interrupted = !finished(rows.executor, [&] {
          out["influence"] = response_list(rows.rows(), in.prior, rows.executor,
                                           fit, order, remote.get());
        });
      }
    }
    if (gradients && usable) {
      // Of complete rows in memory alone.
      const RowGradient at(model.search() ? seen : rows.kept.packed, in.model,
                           fit.accepted().noise.noise(), model.row_mean(),
                           model.row_variance());
      out["kappa"] = to_r(by_row(at.kappa, order));
      out["pull"] = to_r(by_row(at.gradient, order));
    }
    out["usable"] = usable;
    out["processes"] = rows.processes.answer();
    out["status"] =
        status_list(result, fit.system().jitter(), seconds_since(start));
    return out;
  });
}

// Sums over rows with columns of x, counted from 0, that a fit does not use.
// [[Rcpp::export(rng = false)]]
Rcpp::List column_sums_cpp(const Rcpp::NumericMatrix& x,
                           const Rcpp::IntegerVector& columns,
                           const Rcpp::NumericVector& center,
                           const Rcpp::NumericVector& scale,
                           const Rcpp::NumericVector& weight,
                           const Rcpp::NumericMatrix& gradients) {
  return guarded([&] {
    const ColumnSums sums(map_matrix(x), {columns.begin(), columns.end()},
                          map_vector(center), map_vector(scale),
                          map_vector(weight), map_matrix(gradients));
    return r_list({{"products", sums.products}, {"squares", sums.squares}});
  });
}
