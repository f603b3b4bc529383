#include "gibbs/missing_averages.hpp"
#include "gibbs/missing_summary.hpp"
#include "gibbs/model_recorder.hpp"
#include "glue_bsvm_chain.h"
#include "glue_influence.h"
#include "prior/wide_block.hpp"

using namespace bayeskernel;

namespace {
Rcpp::List moments_list(const RunningMoments& moments) {
  return r_list({{"count", moments.count},
                 {"mean", VectorXd(moments.mean)},
                 {"squares", VectorXd(moments.squares)}});
}

void restore_moments(SEXP list, RunningMoments& moments) {
  const CheckedList from(list, kState);
  moments.count = from.number("count", 0.0);
  moments.mean = from.vector("mean", moments.mean.size()).array();
  moments.squares = from.vector("squares", moments.squares.size()).array();
}

// Base state and, where the model has them, selection, missing values and
// averages.
Rcpp::List state_list(const ModelState& state, const RowModel& model,
                      const Selection& selection, const ModelAverages& all) {
  const MissingAverages& averages = all.missing;
  Rcpp::List out = base_state_list(state.base, model);
  if (selection.size() > 0) {
    out["selection"] = r_list({{"in", state.selection.in},
                               {"b", state.selection.b},
                               {"precision", state.selection.precision},
                               {"logit_rho", state.selection.logit_rho},
                               {"probability", state.selection.probability}});
  }
  if (model.completions != nullptr) {
    out["share"] = moments_list(all.responsibility);
  }
  if (all.incomplete) {
    Rcpp::List holes = r_list({{"value", state.missing.value},
                               {"mean", state.missing.mean},
                               {"covariance", state.missing.covariance}});
    if (!state.missing.effect.empty()) {
      holes["effect"] = to_r(state.missing.effect);
      holes["between"] = to_r(state.missing.between);
    }
    out["holes"] = holes;
    Rcpp::List kept = r_list({{"value", moments_list(averages.value)},
                              {"f", moments_list(averages.f)},
                              {"probit", moments_list(averages.probit)},
                              {"hinge", moments_list(averages.hinge)}});
    if (averages.logit.mean.size() > 0) {
      kept["logit"] = moments_list(averages.logit);
    }
    out["averages"] = kept;
  }
  return out;
}

ModelState read_state(SEXP list, const ChainPlan& plan, const RowModel& model,
                      ModelState state, ModelAverages& all) {
  const CheckedList from(list, kState);
  restore_base(from, plan, model, state.base);
  if (model.completions != nullptr) {
    restore_moments(from.element("share"), all.responsibility);
  }
  auto& selection = state.selection;
  if (selection.in.size() > 0) {
    const CheckedList part(from.element("selection"), kState);
    selection.in = part.vector("in", selection.in.size());
    selection.b = part.vector("b", selection.b.size());
    selection.precision = part.number("precision", 0.0);
    selection.logit_rho = part.number("logit_rho");
    selection.probability =
        part.vector("probability", selection.probability.size());
    const bool in_range =
        (selection.in.array() * (1.0 - selection.in.array()) == 0.0).all() &&
        (selection.b.array() > 0.0).all() && selection.precision > 0.0;
    if (!in_range) part.refuse("the selection", "out of range");
  }
  if (all.incomplete) {
    MissingAverages& averages = all.missing;
    auto& missing = state.missing;
    const CheckedList part(from.element("holes"), kState);
    missing.value = part.vector("value", missing.value.size());
    missing.mean = part.vector("mean", missing.mean.size());
    missing.covariance = part.matrix("covariance", missing.covariance.rows(),
                                     missing.covariance.cols());
    // States of versions without effects of groups start these anew.
    const bool effects = part.has("effect") && part.has("between");
    for (std::size_t f = 0; effects && f < missing.effect.size(); ++f) {
      const Rcpp::List effect(part.element("effect"));
      const Rcpp::List between(part.element("between"));
      missing.effect[f] = map_matrix(effect[f]);
      missing.between[f] = map_matrix(between[f]);
    }
    const CheckedList kept(from.element("averages"), kState);
    restore_moments(kept.element("value"), averages.value);
    restore_moments(kept.element("f"), averages.f);
    restore_moments(kept.element("probit"), averages.probit);
    restore_moments(kept.element("hinge"), averages.hinge);
    if (averages.logit.mean.size() > 0) {
      restore_moments(kept.element("logit"), averages.logit);
    }
  }
  return state;
}

// settings$start may also say list(selection = list(in, precision)).
void start_selection(const Rcpp::List& settings, SelectionState& state) {
  const SEXP start = element(settings, "start");
  if (Rf_isNull(start)) return;
  const SEXP from = element(Rcpp::List(start), "selection");
  if (Rf_isNull(from)) return;
  const Rcpp::List list(from);
  const auto in = map_vector(list["in"]);
  if (in.size() != state.in.size()) {
    throw ArgumentError("a start is not of these columns");
  }
  state.in = in;
  state.precision = read<double>(list, "precision");
}

Rcpp::List value_list(const ValueSummary& from) {
  return r_list({{"row", from.row},
                 {"predictor", from.predictor},
                 {"mean", from.mean},
                 {"var", from.variance}});
}

Rcpp::List fitted_list(const IncompleteRows& from) {
  Rcpp::List out = r_list({{"row", from.row},
                           {"mean", from.mean},
                           {"var", from.variance},
                           {"probit", from.probit},
                           {"probit_sd", from.probit_sd},
                           {"hinge", from.hinge},
                           {"hinge_sd", from.hinge_sd}});
  if (from.logit.size() > 0) {
    out["logit"] = to_r(from.logit);
    out["logit_sd"] = to_r(from.logit_sd);
  }
  return out;
}

// Of the predictors with missing values on the scale of the data; NULL: none.
MissingScale read_scale(const Rcpp::List& settings, SEXP predictors,
                        const MissingPlaces& places) {
  MissingScale out;
  if (Rf_isNull(predictors)) return out;
  const Rcpp::List list(predictors);
  out.center = map_vector(list["center"]);
  out.scale = map_vector(list["scale_x"]);
  if (read<bool>(settings, "keep_imputed")) out.order = places.by_row();
  return out;
}
}  // namespace

// [[Rcpp::export(rng = false)]]
Rcpp::List bsvm_gibbs_cpp(const Rcpp::List& data, const Rcpp::List& prior,
                          const Rcpp::List& settings) {
  return guarded([&] {
    LinearInput in(data, prior, settings);
    const ColumnData& input = in.data;
    Prior& blocks = in.prior;
    const RowModel& model = in.model;
    const Selection selection = read_selection(element(data, "selection"));
    const SEXP predictors = element(data, "holes");
    const MissingPattern missing = read_missing(predictors, input.order);
    const MissingPlaces places(missing, input.order);
    const bool incomplete = missing.predictors() > 0;
    PackedRows rows = pack_rows(input);
    WideBlock wide;
    if (!incomplete && selection.size() == 0) {
      wide = reduce_wide(rows, blocks);
    }
    rows.finish(input.group_begin, in.units.unit);

    ChainRun<ModelChain> run(
        settings, useful_threads(rows, read<int>(settings, "threads")));
    const ModelAverages none(missing, model, rows.rows());
    std::vector<ModelAverages> averages;
    const bool started = run.start(
        [&](std::uint64_t id) {
          averages.push_back(none);
          return std::make_unique<ModelChain>(rows, blocks, selection, missing,
                                              run.executor(), run.seed(), id,
                                              model);
        },
        [&](ModelChain& chain, R_xlen_t c, SEXP from) {
          chain.restore(
              read_state(from, run.plan(), model, chain.state(), averages[c]));
        },
        [&](ModelChain& chain, std::uint64_t) {
          ModelState state = chain.state();
          set_start(settings, state.base);
          start_selection(settings, state.selection);
          chain.restore(state);
        });
    if (!started) return run.interrupted();

    const ModelRecorder recorder(
        read_recorder(settings, prior, input, blocks, wide, model, run),
        selection, missing, read_scale(settings, predictors, places));
    const auto write = [&](Index c, double* out, Index stride) {
      recorder.write(run.chain(c), out, stride);
      averages[c].add(run.chain(c));
    };
    const Rcpp::NumericVector draws = run.run(recorder.variables(), write);
    Rcpp::List states;
    ModelAverages all = none;
    for (Index c = 0; c < run.chains(); ++c) {
      states.push_back(
          state_list(run.chain(c).state(), model, selection, averages[c]));
      all.merge(averages[c]);
    }
    Rcpp::List out = r_list(
        {{"draws", draws}, {"states", states}, {"status", jitter_status(run)}});
    if (incomplete) {
      out["holes"] =
          value_list(summarize_values(all.missing, places, recorder));
      out["fitted_holes"] =
          fitted_list(summarize_rows(all.missing, missing, input.order));
    }
    if (model.completions != nullptr) {
      out["share"] =
          to_r(by_row(VectorXd(all.responsibility.mean), input.order));
    }
    return out;
  });
}

// What the rows do to a sampler's fit, from draws x rows of f.
// [[Rcpp::export(rng = false)]]
Rcpp::List stein_influence_cpp(const Rcpp::NumericMatrix& f,
                               const Rcpp::NumericVector& y,
                               const Rcpp::NumericVector& weight) {
  return guarded([&] {
    return influence_list(
        stein_influence(map_matrix(f), map_vector(y), map_vector(weight)), {});
  });
}
