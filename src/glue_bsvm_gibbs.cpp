#include <bayeskernel/data/wide.hpp>
#include <bayeskernel/draws/missing_averages.hpp>
#include <bayeskernel/draws/model_recorder.hpp>
#include <memory>
#include <numeric>

#include "glue_bsvm_chain.h"

namespace {

using bayeskernel::MissingAverages;
using bayeskernel::MissingPattern;
using bayeskernel::ModelChain;
using bayeskernel::ModelState;
using bayeskernel::RunningMoments;
using bayeskernel::Selection;

Rcpp::List moments_list(const RunningMoments& moments) {
  return Rcpp::List::create(
      Rcpp::Named("count") = moments.count,
      Rcpp::Named("mean") = to_r(VectorXd(moments.mean)),
      Rcpp::Named("squares") = to_r(VectorXd(moments.squares)));
}

void restore_moments(SEXP list, RunningMoments& moments) {
  const CheckedList from(list, kState);
  moments.count = from.number("count", 0.0);
  moments.mean = from.vector("mean", moments.mean.size()).array();
  moments.squares = from.vector("squares", moments.squares.size()).array();
}

// Base state and, where the model has them, selection, missing values and
// averages.
Rcpp::List state_list(const ModelState& state, const Selection& selection,
                      const MissingAverages* averages) {
  Rcpp::List out = base_state_list(state.base);
  if (selection.size() > 0) {
    out["selection"] = Rcpp::List::create(
        Rcpp::Named("in") = to_r(state.selection.in),
        Rcpp::Named("b") = to_r(state.selection.b),
        Rcpp::Named("precision") = state.selection.precision,
        Rcpp::Named("logit_rho") = state.selection.logit_rho,
        Rcpp::Named("probability") = to_r(state.selection.probability));
  }
  if (averages != nullptr) {
    out["holes"] = Rcpp::List::create(
        Rcpp::Named("value") = to_r(state.missing.value),
        Rcpp::Named("mean") = to_r(state.missing.mean),
        Rcpp::Named("covariance") = to_r(state.missing.covariance));
    out["averages"] = Rcpp::List::create(
        Rcpp::Named("value") = moments_list(averages->value),
        Rcpp::Named("f") = moments_list(averages->f),
        Rcpp::Named("probit") = moments_list(averages->probit),
        Rcpp::Named("hinge") = moments_list(averages->hinge));
  }
  return out;
}

ModelState read_state(SEXP list, const bayeskernel::ChainPlan& plan,
                      ModelState state, MissingAverages* averages) {
  const CheckedList from(list, kState);
  restore_base(from, plan, state.base);
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
  if (averages != nullptr) {
    auto& missing = state.missing;
    const CheckedList part(from.element("holes"), kState);
    missing.value = part.vector("value", missing.value.size());
    missing.mean = part.vector("mean", missing.mean.size());
    missing.covariance = part.matrix("covariance", missing.covariance.rows(),
                                     missing.covariance.cols());
    const CheckedList kept(from.element("averages"), kState);
    restore_moments(kept.element("value"), averages->value);
    restore_moments(kept.element("f"), averages->f);
    restore_moments(kept.element("probit"), averages->probit);
    restore_moments(kept.element("hinge"), averages->hinge);
  }
  return state;
}

// Positions of the missing values by the user's row, then by predictor.
std::vector<Index> user_order(const MissingPlaces& places) {
  std::vector<Index> order(places.row.size());
  std::iota(order.begin(), order.end(), Index{0});
  std::sort(order.begin(), order.end(), [&](Index a, Index b) {
    return places.row[a] != places.row[b]
               ? places.row[a] < places.row[b]
               : places.predictor[a] < places.predictor[b];
  });
  return order;
}

Rcpp::NumericVector pick(const Eigen::ArrayXd& from,
                         const std::vector<Index>& order) {
  Rcpp::NumericVector out(order.size());
  for (std::size_t k = 0; k < order.size(); ++k) out[k] = from[order[k]];
  return out;
}

// Averages over the draws of all chains: missing values on the scale of the
// data, and the rows they are in.
Rcpp::List value_list(const MissingAverages& all, const MissingPlaces& places,
                      const bayeskernel::ModelRecorder& recorder) {
  const std::vector<Index> order = user_order(places);
  Eigen::ArrayXd mean = all.value.mean, var = all.value.variance();
  Rcpp::IntegerVector row(order.size()), predictor(order.size());
  for (std::size_t k = 0; k < order.size(); ++k) {
    const Index value = order[k];
    const double scale = recorder.scale_of(value);
    mean[value] = recorder.center_of(value) + scale * mean[value];
    var[value] *= scale * scale;
    row[k] = places.row[value];
    predictor[k] = places.predictor[value];
  }
  return Rcpp::List::create(Rcpp::Named("row") = row,
                            Rcpp::Named("predictor") = predictor,
                            Rcpp::Named("mean") = pick(mean, order),
                            Rcpp::Named("var") = pick(var, order));
}

Rcpp::List fitted_list(const MissingAverages& all,
                       const MissingPattern& missing,
                       const std::vector<Index>& row_order) {
  std::vector<Index> order(missing.rows.size());
  std::iota(order.begin(), order.end(), Index{0});
  const auto user_row = [&](Index k) { return row_order[missing.rows[k].row]; };
  std::sort(order.begin(), order.end(),
            [&](Index a, Index b) { return user_row(a) < user_row(b); });
  Rcpp::IntegerVector row(order.size());
  for (std::size_t k = 0; k < order.size(); ++k) {
    row[k] = static_cast<int>(user_row(order[k])) + 1;
  }
  return Rcpp::List::create(
      Rcpp::Named("row") = row, Rcpp::Named("mean") = pick(all.f.mean, order),
      Rcpp::Named("var") = pick(all.f.variance(), order),
      Rcpp::Named("probit") = pick(all.probit.mean, order),
      Rcpp::Named("probit_sd") = pick(all.probit.variance().sqrt(), order),
      Rcpp::Named("hinge") = pick(all.hinge.mean, order),
      Rcpp::Named("hinge_sd") = pick(all.hinge.variance().sqrt(), order));
}

}  // namespace

// [[Rcpp::export(rng = false)]]
Rcpp::List bsvm_gibbs_cpp(const Rcpp::List& data, const Rcpp::List& prior,
                          const Rcpp::List& settings) {
  return guarded([&] {
    const auto start = std::chrono::steady_clock::now();
    const bayeskernel::ColumnData input = read_data(data);
    bayeskernel::Prior blocks = read_prior(prior);
    const Selection selection = read_selection(element(data, "selection"));
    const SEXP predictors = element(data, "holes");
    const MissingPattern missing = read_missing(predictors, input.order);
    const MissingPlaces places(missing, input.order);
    const bool incomplete = missing.predictors() > 0;
    bayeskernel::PackedRows rows = bayeskernel::pack_rows(input);
    bayeskernel::WideBlock wide;
    if (!incomplete && selection.size() == 0) {
      wide = bayeskernel::reduce_wide(rows, blocks);
    }
    rows.finish(input.group_begin);
    const int threads = Rcpp::as<int>(settings["threads"]);
    const Rcpp::IntegerVector chain_id = settings["chain_id"];
    const int n_chains = chain_id.size();
    const std::uint64_t seed =
        static_cast<std::uint64_t>(Rcpp::as<double>(settings["seed"]));
    const bayeskernel::ChainPlan plan = read_plan(settings);

    // Chains first: threads inside a chain only when chains are few.
    const bool by_chain = n_chains >= threads;
    RcppParallelExecutor outer(by_chain ? threads : 1);
    RcppParallelExecutor inner(by_chain ? 1 : useful_threads(rows, threads));
    std::vector<std::unique_ptr<ModelChain>> chains;
    std::vector<ModelChain*> pointers;
    std::vector<MissingAverages> averages;
    const Rcpp::List resume = read_states(settings["states"], n_chains);
    UserCallback user(Rcpp::as<bool>(settings["progress"]));
    const auto make = [&](R_xlen_t c) {
      averages.emplace_back(missing);
      chains.push_back(std::make_unique<ModelChain>(
          rows, blocks, selection, missing, inner, seed,
          static_cast<std::uint64_t>(chain_id[c])));
      pointers.push_back(chains.back().get());
      if (resume.size() == 0) return;
      chains[c]->restore(read_state(resume[c], plan, chains[c]->state(),
                                    incomplete ? &averages[c] : nullptr));
    };
    if (!make_chains(n_chains, user, make)) return interrupted_before(start);

    bayeskernel::MissingScale scale;
    if (incomplete) {
      const Rcpp::List list(predictors);
      scale.center = map_vector(list["center"]);
      scale.scale = map_vector(list["scale_x"]);
      if (Rcpp::as<bool>(settings["keep_imputed"])) {
        scale.order = user_order(places);
      }
    }
    const bayeskernel::ModelRecorder recorder(
        bayeskernel::Recorder(input.center, input.scale,
                              Rcpp::as<bool>(settings["intercept"]), blocks,
                              read_transforms(prior), wide, seed,
                              Rcpp::as<bool>(settings["keep_ranef"])),
        selection, missing, std::move(scale));
    const Index variables = recorder.variables();
    Rcpp::NumericVector draws(Rcpp::Dimension(plan.draws, n_chains, variables));
    double* out = draws.begin();
    const auto record = [&](Index c, Index k) {
      recorder.write(*chains[c], out + k + plan.draws * c,
                     plan.draws * n_chains);
      if (incomplete) averages[c].add(*chains[c]);
    };
    const bayeskernel::ChainStatus status = bayeskernel::run_chains(
        pointers, plan, outer, user.keep_going(), record);
    Rcpp::List states(n_chains);
    MissingAverages all(missing);
    double jitter = 0.0;
    for (int c = 0; c < n_chains; ++c) {
      states[c] = state_list(chains[c]->state(), selection,
                             incomplete ? &averages[c] : nullptr);
      all.merge(averages[c]);
      jitter = std::max(jitter, chains[c]->jitter());
    }
    Rcpp::List how = chain_status(status, start);
    how["jitter"] = jitter;
    return Rcpp::List::create(
        Rcpp::Named("draws") = draws, Rcpp::Named("states") = states,
        Rcpp::Named("holes") =
            incomplete ? SEXP(value_list(all, places, recorder)) : R_NilValue,
        Rcpp::Named("fitted_holes") =
            incomplete ? SEXP(fitted_list(all, missing, input.order))
                       : R_NilValue,
        Rcpp::Named("status") = how);
  });
}
