#include "ep/check.hpp"
#include "ep/linear.hpp"
#include "ep/selection.hpp"
#include "glue_bsvm_posterior.h"
#include "glue_stream.h"

using namespace bayeskernel;

namespace {
const char* engine_name(EpEngine engine) {
  switch (engine) {
    case EpEngine::grid:
      return "ep-grid";
    case EpEngine::variational:
      return "ep-vb";
    default:
      return "ep";
  }
}

Rcpp::List linear_moments_list(const LinearMoments& from) {
  return r_list({{"theta_mean", from.theta_mean},
                 {"theta_cov", from.theta_cov},
                 {"group_mean", from.group_mean},
                 {"group_cov", from.group_cov},
                 {"loading", from.loading},
                 {"schur", from.schur}});
}

// What is large of a point is left out where the core left it out.
Rcpp::List point_list(const EpPoint& point, double weight, bool grid) {
  Rcpp::List list = linear_moments_list(point.moments);
  list["weight"] = weight;
  list["x"] = to_r(point.x);
  if (grid) {
    list["place"] = Rcpp::IntegerVector(point.place.begin(),
                                        point.place.begin() + point.x.size());
  }
  list["log_z"] = point.log_z;
  list["precision"] = to_r(point.precision);
  list["noise"] = point.noise_variance;
  return list;
}

// Without what there is of each row.
Rcpp::List outcome_list(const EpOutcome& out, const Prior& prior,
                        const WideBlock& wide, const RowModel& model) {
  Rcpp::List list = linear_moments_list(out.moments);
  list["variance"] = variance_list(prior, out.variances.blocks);
  list["precision"] = to_r(out.precision);
  list["basis"] = to_r(wide.basis);
  list["basis_first"] = static_cast<int>(wide.first);
  NoisePosterior noise;
  noise.shape = out.variances.noise.shape;
  noise.rate = out.variances.noise.rate;
  noise.precision = model.noise.precision;
  list["noise"] = noise_list(model, noise);
  list["log_evidence"] = out.log_evidence;
  list["log_z"] = out.log_z;
  list["passes"] = out.result.passes;
  list["change"] = out.result.change;
  list["engine"] = engine_name(out.engine);
  list["by_group"] = out.by_group;
  list["pareto_k"] = R_NaReal;
  // The mode of scattered points weighs nothing.
  const std::size_t first = out.points.empty() || out.grid ? 0 : 1;
  Rcpp::List points(out.points.size() - first);
  for (std::size_t j = first; j < out.points.size(); ++j) {
    points[j - first] = point_list(out.points[j], out.weight[j], out.grid);
  }
  list["points"] = points;
  list["effective"] = out.effective;
  list["missed_shift"] = out.missed_shift;
  Rcpp::IntegerVector index(out.x_owner.size());
  for (std::size_t k = 0; k < out.x_owner.size(); ++k) {
    index[k] = out.x_owner[k] + 1;
  }
  list["log_variance"] =
      r_list({{"mean", out.x_mean}, {"sd", out.x_sd}, {"index", index}});
  return list;
}

void add_rows(const EpOutcome& out, const RowModel& model,
              const std::vector<Index>& order, Rcpp::List& list) {
  const auto rows = [&](const VectorXd& v) { return to_r(by_row(v, order)); };
  list["mean"] = rows(out.rows.mean);
  list["variance_f"] = rows(out.rows.variance);
  list["loo"] = rows(out.rows.leave_one_out);
  if (out.rows.expected.size() > 0) {
    list["expected"] = rows(out.rows.expected);
  }
  if (model.completions != nullptr) {
    list["loo_atom"] = list["loo"];
    list["loo"] =
        to_r(unit_leave_one_out(*model.completions, out.rows.leave_one_out));
    list["share"] = rows(out.sites.responsibility);
  }
  list["sites"] =
      r_list({{"kappa", rows(out.sites.kappa)}, {"b", rows(out.sites.b)}});
  list["cavity"] = r_list({{"mean", rows(out.sites.cavity_mean)},
                           {"var", rows(out.sites.cavity_variance)}});
  list["left_out"] = r_list({{"mean", rows(out.rows.left_out.mean)},
                             {"var", rows(out.rows.left_out.variance)}});
}

// The covariance of theta over samples, and what the rows imply of the learning
// rate.
Rcpp::List jackknife_list(const Jackknife& from) {
  return r_list({{"cov", from.cov},
                 {"rate", from.total.curvature / from.total.variation}});
}

Rcpp::List ep_status(const EpOutcome& outcome, bool interrupted, double jitter,
                     double seconds) {
  return r_list({{"passes", outcome.result.passes},
                 {"converged", outcome.result.converged},
                 {"interrupted", interrupted},
                 {"change", outcome.result.change},
                 {"jitter", interrupted ? 0.0 : jitter},
                 {"seconds", seconds}});
}

// Messages of an earlier fit to the same rows, `sites` of its answer.
void start_from(const Rcpp::List& messages, const std::vector<Index>& order,
                EpFit& fit) {
  fit.start_from(by_position(map_vector(messages["kappa"]), order),
                 by_position(map_vector(messages["b"]), order));
}
}  // namespace

// Interrupted it has no posterior: `status` alone. Rows that are completions
// have `loo` by unit, the rest by completion. Of a grid, `log_variance` is of
// its coordinates, with the number of the block of each, 0 for the noise.
// [[Rcpp::export(rng = false)]]
Rcpp::List linear_ep_cpp(const Rcpp::List& data, const Rcpp::List& prior,
                         const Rcpp::List& settings) {
  return guarded([&] {
    const auto start = std::chrono::steady_clock::now();
    LinearInput in(data, prior, settings);
    const std::vector<Index>& order = in.data.order;
    const RowModel& model = in.model;
    const std::unique_ptr<RemoteRows> remote = read_remote(settings);
    // Evidence by group reads the rows here, again and again.
    FitRows kept(in, data, settings, true,
                 remote != nullptr && in.data.group_begin.empty());
    const RowSource& rows = kept.rows();
    UserCallback user(read<bool>(settings, "progress"));
    const EpSettings control = read_ep_settings(settings);
    const bool grid =
        read_or<std::string>(settings, "variances", "grid") == "grid";
    EpFit fit(rows, in.prior, kept.executor, model.family, model.completions,
              true, kept.open());
    // Of what comes between and after the passes; leaves as they do.
    kept.executor.ask();
    fit.watch(user.keep_going());
    // Numbers by row, or none.
    const auto numbers = [&](SEXP from) {
      return Rf_isNull(from) ? VectorXd()
                             : by_position(map_vector(from), order);
    };
    const VectorXd units = numbers(element(data, "units"));
    fit.units.assign(units.data(), units.data() + units.size());
    if (remote) {
      remote->set_centres(kept.processes.centres());
      fit.delegate(remote->sites(fit), remote->mirror());
    }
    Rcpp::List out;
    EpOutcome outcome;
    const bool whole = finished([&] {
      const SEXP messages = element(settings, "messages");
      if (!Rf_isNull(messages)) start_from(messages, order, fit);
      outcome = fit_linear_ep(fit, model.noise, grid, control,
                              read_or(settings, "by_group", false),
                              numbers(element(settings, "copies")));
      out = outcome_list(outcome, in.prior, kept.kept.wide, model);
      add_rows(outcome, model, order, out);
      if (model.completions == nullptr) {
        // At the mode of a grid, where the fit is.
        Rcpp::List influence =
            influence_list(site_influence(outcome.sites), order);
        influence["cov"] = to_r(fit.posterior().theta_covariance());
        if (outcome.jackknife.size() > 0) {
          influence["jackknife"] = to_r(outcome.jackknife);
        }
        out["influence"] = influence;
      }
      if (kept.processes.open() != nullptr && rows.groups() == 0 &&
          model.family == Family::hinge) {
        out["jackknife"] = jackknife_list(
            jackknife(rows, kept.executor, fit.posterior(), fit.sites));
      }
      if (read_or(settings, "check", true)) {
        const double k = importance_k(
            fit, kept.executor, read_or<std::uint64_t>(settings, "seed", 0));
        if (!std::isnan(k)) out["pareto_k"] = k;
      }
    });
    out["usable"] = whole;
    out["processes"] = kept.processes.answer();
    out["status"] =
        ep_status(outcome, !whole, fit.system().jitter(), seconds_since(start));
    return out;
  });
}

// Of rows in a file (StreamInput) the messages stay with the core, 16 bytes a
// row, with terms gp() 24 and 8 for each term more, and with groups of labels
// 40 more; moments of rows are not answered. Variances are on a grid as in
// memory (settings$variances), without groups only one or two: each point reads
// the rows anew. Where workers have the rows and their messages there are no
// `rows` here, and none in the groups.
// [[Rcpp::export(rng = false)]]
Rcpp::List linear_ep_stream_cpp(const Rcpp::List& stream,
                                const Rcpp::List& prior,
                                const Rcpp::List& settings) {
  return guarded([&] {
    const auto start = std::chrono::steady_clock::now();
    StreamInput input(stream, read<int>(settings, "threads"));
    const Prior blocks = read_prior(prior);
    const RowModel model = read_row_model(settings);
    UserCallback user(read<bool>(settings, "progress"));
    const ProcessInput processes(stream, input.rows, input.executor, blocks);
    const RowSource& rows = processes.rows();
    const bool labels =
        model.family == Family::logit || model.family == Family::probit;
    const bool few = Hyperparameters(blocks, model.noise).size() <= 2;
    const bool grid =
        (few || rows.groups() > 0) &&
        read_or<std::string>(settings, "variances", "grid") == "grid";
    EpFit fit(rows, blocks, input.executor, model.family, nullptr,
              grid && labels, processes.open());
    const std::unique_ptr<RemoteRows> remote = read_remote(settings);
    if (remote) fit.delegate(remote->sites(fit), remote->messages(fit));
    input.executor.ask();
    fit.watch(user.keep_going());
    Rcpp::List out;
    EpOutcome outcome;
    double margin = R_NaReal;
    const bool whole = finished([&] {
      outcome =
          fit_linear_ep(fit, model.noise, grid, read_ep_settings(settings),
                        true, VectorXd(), false);
      out = outcome_list(outcome, blocks, WideBlock(), model);
      const Jackknife found =
          remote ? remote->jackknife(fit)
                 : jackknife(rows, input.executor, fit.posterior(), fit.sites);
      margin = found.total.margin;
      out["jackknife"] = jackknife_list(found);
    });
    out["usable"] = whole;
    out["processes"] = processes.answer();
    Rcpp::List status =
        ep_status(outcome, !whole, fit.system().jitter(), seconds_since(start));
    status["margin"] = margin;
    out["status"] = status;
    return out;
  });
}

// Selection by sites of rows and of columns. `settings$slab_scale` holds the
// scale of the slab, `settings$from` is the logarithm of its square where a
// grid begins, `settings$inclusion` further probabilities to start from.
// Interrupted there is `status` alone.
// [[Rcpp::export(rng = false)]]
Rcpp::List selection_ep_cpp(const Rcpp::List& data, const Rcpp::List& prior,
                            const Rcpp::List& settings) {
  return guarded([&] {
    const auto start = std::chrono::steady_clock::now();
    const ColumnData input = read_data(data);
    const Prior blocks = read_prior(prior);
    const Selection selection = read_selection(element(data, "selection"));
    const RowModel model = read_row_model(settings);
    PackedRows rows = pack_rows(input);
    rows.finish(input.group_begin);
    RcppParallelExecutor executor(
        useful_threads(rows, read<int>(settings, "threads")));
    UserCallback user(read<bool>(settings, "progress"));
    SelectionEpSettings control;
    control.passes.tolerance = read<double>(settings, "tol");
    control.passes.max_passes = read<int>(settings, "max_iter");
    control.scale = read_or(settings, "slab_scale", control.scale);
    control.from = read_or(settings, "from", control.from);
    const SEXP inclusion = element(settings, "inclusion");
    if (!Rf_isNull(inclusion)) control.inclusion = map_vector(inclusion);
    SelectionEp fit(rows, blocks, selection, executor, model.family,
                    model.noise, user.keep_going());
    Rcpp::List out;
    SelectionEpOutcome found;
    const bool whole = finished([&] {
      found = fit.run(control);
      out = r_list({{"inclusion", found.inclusion},
                    {"effect_mean", found.effect_mean},
                    {"effect_var", found.effect_variance},
                    {"theta_mean", found.theta_mean},
                    {"theta_var", found.theta_variance},
                    {"loo", by_row(found.leave_one_out, input.order)},
                    {"log_evidence", found.log_evidence},
                    {"log_variance", found.x},
                    {"logit_rho", found.logit_rho},
                    {"weight", found.weight},
                    {"start", found.start}});
    });
    out["status"] = r_list({{"passes", found.result.passes},
                            {"converged", found.result.converged},
                            {"interrupted", !whole},
                            {"change", found.result.change},
                            {"seconds", seconds_since(start)}});
    return out;
  });
}
