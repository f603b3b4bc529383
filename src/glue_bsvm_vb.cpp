#include <memory>

#include "gibbs/missing_summary.hpp"
#include "glue_bsvm_posterior.h"
#include "glue_process_rows.h"
#include "selection/screen.hpp"
#include "selection/search.hpp"

namespace {

using bayeskernel::ColumnSearch;
using bayeskernel::MeanFieldFit;
using bayeskernel::MissingPattern;
using bayeskernel::MissingValues;
using bayeskernel::Selection;

Rcpp::List selection_list(const ColumnSearch& search,
                          const Selection& selection) {
  const bayeskernel::IndicatorPosterior& q = search.indicators();
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
  const bayeskernel::MissingPosterior& q = fit.accepted().missing;
  const bayeskernel::MissingPlaces places(missing, order);
  return r_list({{"row", places.row},
                 {"predictor", places.predictor},
                 {"mean", q.mean},
                 {"var", bayeskernel::value_variances(missing, q)},
                 {"x_mean", q.center},
                 {"x_mean_cov", q.center_cov},
                 {"df", q.df},
                 {"scale", q.scale}});
}

}  // namespace

// Interrupted before its first step a fit has no posterior: `status` alone.
// [[Rcpp::export(rng = false)]]
Rcpp::List bsvm_vb_cpp(const Rcpp::List& data, const Rcpp::List& prior,
                       const Rcpp::List& settings) {
  return guarded([&] {
    const auto start = std::chrono::steady_clock::now();
    LinearInput in(data, prior, settings);
    const bayeskernel::ColumnData& input = in.data;
    bayeskernel::Prior& blocks = in.prior;
    bayeskernel::RowModel& model = in.model;
    const SEXP selected = element(data, "selection");
    const Selection selection = read_selection(selected);
    const MissingPattern missing =
        read_missing(element(data, "holes"), input.order);
    const bool complete = missing.predictors() == 0;
    const SEXP open = element(data, "open");
    const bool fixed = complete && selection.size() == 0;
    const std::unique_ptr<RemoteRows> remote = read_remote(settings);
    ModelRows kept(input, fixed, in.units.unit, blocks,
                   fixed && Rf_isNull(open), ProcessInput::width(data),
                   remote != nullptr);
    const bayeskernel::WideBlock& wide = kept.wide;
    RcppParallelExecutor executor(
        useful_threads(kept.source(), read<int>(settings, "threads")));
    const ProcessInput processes(data, kept.source(), executor, blocks);
    const bayeskernel::RowSource& rows = processes.rows();
    const std::unique_ptr<bayeskernel::ConditionalVariance> residuals =
        read_open(open, input.order, kept.residual(), blocks);
    model.open = residuals ? residuals.get() : processes.open();
    UserCallback user(read<bool>(settings, "progress"));
    const bayeskernel::MeanFieldSettings control =
        read_mean_field_settings(settings);
    std::unique_ptr<ColumnSearch> search;
    std::unique_ptr<MissingValues> values;
    std::unique_ptr<MeanFieldFit> plain;
    bayeskernel::MeanFieldResult result;
    const bool gradients = !Rf_isNull(element(settings, "pulls"));
    bayeskernel::PackedRows seen;
    if (selection.size() > 0) {
      if (gradients) seen = kept.packed;
      search = std::make_unique<ColumnSearch>(
          std::move(kept.packed), blocks, selection, missing, executor, model);
      const Rcpp::NumericVector at = Rcpp::List(selected)["start"];
      result = at.size() == 1 ? search->run(control, user.keep_going(), at[0])
                              : search->run(control, user.keep_going(),
                                            VectorXd(map_vector(at)));
    } else {
      if (!complete) {
        values = std::make_unique<MissingValues>(missing, std::vector<Index>(),
                                                 kept.packed, executor);
      }
      plain = std::make_unique<MeanFieldFit>(rows, blocks, executor, nullptr,
                                             values.get(), remote == nullptr,
                                             model);
      if (remote) {
        remote->set_centres(processes.centres());
        plain->delegate(remote->mean_field());
      }
      result = plain->run(control, user.keep_going());
    }
    const MeanFieldFit& fit = search ? search->fit() : *plain;
    Rcpp::List out;
    if (!result.bound.empty()) {
      out = posterior_list(fit, blocks, wide);
      if (search) {
        out["theta_mean"] = to_r(search->mean().x);
        out["theta_cov"] = to_r(search->theta_covariance());
        out["loading"] = to_r(search->loading());
        out["selection"] = selection_list(*search, selection);
      }
      if (!complete) out["holes"] = missing_list(fit, missing, input.order);
      const bool hinge = model.family == bayeskernel::Family::hinge;
      if (hinge && plain && complete && model.completions == nullptr &&
          model.open == nullptr && !result.interrupted) {
        result.interrupted = !finished(executor, [&] {
          out["influence"] = response_list(rows, blocks, executor, fit,
                                           input.order, remote.get());
        });
      }
      add_row_moments(fit, input.order, remote.get(), out);
      if (search) {
        out["mean"] = to_r(by_row(search->row_mean(), input.order));
        out["variance_f"] = to_r(by_row(search->row_variance(), input.order));
      }
    }
    if (gradients && !result.bound.empty()) {
      // Of complete rows in memory alone.
      const bayeskernel::RowGradient at(
          search ? seen : kept.packed, model, fit.accepted().noise.noise(),
          search ? search->row_mean() : fit.mean(),
          search ? search->row_variance() : fit.variance());
      out["kappa"] = to_r(by_row(at.kappa, input.order));
      out["pull"] = to_r(by_row(at.gradient, input.order));
    }
    out["usable"] = !result.bound.empty();
    out["processes"] = processes.answer();
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
    const bayeskernel::ColumnSums sums(
        map_matrix(x), {columns.begin(), columns.end()}, map_vector(center),
        map_vector(scale), map_vector(weight), map_matrix(gradients));
    return r_list({{"products", sums.products}, {"squares", sums.squares}});
  });
}
