#include <bayeskernel/bsvm/structured_recorder.hpp>
#include <memory>

#include "glue_bsvm.h"

namespace {

using bayeskernel::HoleAverages;
using bayeskernel::Holes;
using bayeskernel::RunningMoments;
using bayeskernel::Selection;
using bayeskernel::StructuredState;

Rcpp::List moments_list(const RunningMoments& moments) {
  return Rcpp::List::create(
      Rcpp::Named("count") = moments.count,
      Rcpp::Named("mean") = to_r(VectorXd(moments.mean)),
      Rcpp::Named("squares") = to_r(VectorXd(moments.squares)));
}

void restore_moments(const Rcpp::List& from, RunningMoments& moments) {
  moments.count = Rcpp::as<double>(from["count"]);
  moments.mean = map_vector(from["mean"]).array();
  moments.squares = map_vector(from["squares"]).array();
}

// Base state and, where the model has them, selection, holes and averages.
Rcpp::List structured_state_list(const StructuredState& state,
                                 const Selection& selection,
                                 const HoleAverages* averages) {
  Rcpp::List out = state_list(state.base);
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
        Rcpp::Named("value") = to_r(state.holes.value),
        Rcpp::Named("mean") = to_r(state.holes.mean),
        Rcpp::Named("covariance") = to_r(state.holes.covariance));
    out["averages"] = Rcpp::List::create(
        Rcpp::Named("value") = moments_list(averages->value),
        Rcpp::Named("f") = moments_list(averages->f),
        Rcpp::Named("probit") = moments_list(averages->probit),
        Rcpp::Named("hinge") = moments_list(averages->hinge));
  }
  return out;
}

StructuredState read_structured_state(const Rcpp::List& from,
                                      StructuredState state,
                                      HoleAverages* averages) {
  restore_state(from, state.base);
  if (from.containsElementNamed("selection")) {
    const Rcpp::List part = from["selection"];
    state.selection.in = map_vector(part["in"]);
    state.selection.b = map_vector(part["b"]);
    state.selection.precision = Rcpp::as<double>(part["precision"]);
    state.selection.logit_rho = Rcpp::as<double>(part["logit_rho"]);
    state.selection.probability = map_vector(part["probability"]);
  }
  if (averages != nullptr) {
    const Rcpp::List part = from["holes"];
    state.holes.value = map_vector(part["value"]);
    state.holes.mean = map_vector(part["mean"]);
    state.holes.covariance = map_matrix(part["covariance"]);
    const Rcpp::List kept = from["averages"];
    restore_moments(kept["value"], averages->value);
    restore_moments(kept["f"], averages->f);
    restore_moments(kept["probit"], averages->probit);
    restore_moments(kept["hinge"], averages->hinge);
  }
  return state;
}

// Positions of the holes by the user's row, then by predictor.
std::vector<Index> user_order(const HolePlaces& places) {
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

// Averages over the draws of all chains: holes on the scale of the data, and
// the rows they are in.
Rcpp::List hole_list(const HoleAverages& all, const HolePlaces& places,
                     const bayeskernel::StructuredRecorder& recorder) {
  const std::vector<Index> order = user_order(places);
  Eigen::ArrayXd mean = all.value.mean, var = all.value.variance();
  Rcpp::IntegerVector row(order.size()), predictor(order.size());
  for (std::size_t k = 0; k < order.size(); ++k) {
    const Index hole = order[k];
    const double scale = recorder.scale_of(hole);
    mean[hole] = recorder.center_of(hole) + scale * mean[hole];
    var[hole] *= scale * scale;
    row[k] = places.row[hole];
    predictor[k] = places.predictor[hole];
  }
  return Rcpp::List::create(Rcpp::Named("row") = row,
                            Rcpp::Named("predictor") = predictor,
                            Rcpp::Named("mean") = pick(mean, order),
                            Rcpp::Named("var") = pick(var, order));
}

Rcpp::List fitted_hole_list(const HoleAverages& all, const Holes& holes,
                            const std::vector<Index>& row_order) {
  std::vector<Index> order(holes.rows.size());
  std::iota(order.begin(), order.end(), Index{0});
  const auto user_row = [&](Index k) { return row_order[holes.rows[k].row]; };
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
Rcpp::List bsvm_structured_gibbs_cpp(const Rcpp::List& data,
                                     const Rcpp::List& prior,
                                     const Rcpp::List& settings) {
  return guarded([&] {
    const auto start = std::chrono::steady_clock::now();
    const bayeskernel::BsvmData input = read_data(data);
    const bayeskernel::Prior blocks = read_prior(prior);
    const Selection selection = read_selection(data["selection"]);
    HolePlaces places;
    const Holes holes = read_holes(data["holes"], input.order, &places);
    const bool has_holes = holes.predictors() > 0;
    bayeskernel::PackedRows rows = bayeskernel::pack_rows(input);
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
    std::vector<std::unique_ptr<bayeskernel::StructuredGibbs>> chains;
    std::vector<bayeskernel::StructuredGibbs*> pointers;
    std::vector<HoleAverages> averages(n_chains, HoleAverages(holes));
    const Rcpp::List resume = settings["states"];
    for (int c = 0; c < n_chains; ++c) {
      chains.push_back(std::make_unique<bayeskernel::StructuredGibbs>(
          rows, blocks, selection, holes, inner, seed,
          static_cast<std::uint64_t>(chain_id[c])));
      pointers.push_back(chains.back().get());
      if (resume.size() == 0) continue;
      chains[c]->restore(read_structured_state(
          resume[c], chains[c]->state(), has_holes ? &averages[c] : nullptr));
    }

    bayeskernel::HoleScale scale;
    if (has_holes) {
      const Rcpp::List list = data["holes"];
      scale.center = map_vector(list["center"]);
      scale.scale = map_vector(list["scale_x"]);
      if (Rcpp::as<bool>(settings["keep_imputed"])) {
        scale.order = user_order(places);
      }
    }
    const bayeskernel::WideBlock wide;
    const bayeskernel::StructuredRecorder recorder(
        bayeskernel::Recorder(input.center, input.scale,
                              Rcpp::as<bool>(settings["intercept"]), blocks,
                              read_transforms(prior), wide, seed,
                              Rcpp::as<bool>(settings["keep_ranef"])),
        selection, holes, scale);
    const Index variables = recorder.variables();
    Rcpp::NumericVector draws(Rcpp::Dimension(plan.draws, n_chains, variables));
    double* out = draws.begin();
    const auto record = [&](Index c, Index k) {
      recorder.write(*chains[c], out + k + plan.draws * c,
                     plan.draws * n_chains);
      if (has_holes) averages[c].add(*chains[c]);
    };
    UserCallback user(Rcpp::as<bool>(settings["progress"]));
    const bayeskernel::ChainStatus status = bayeskernel::run_chains(
        pointers, plan, outer, user.keep_going(), record);
    Rcpp::List states(n_chains);
    HoleAverages all(holes);
    for (int c = 0; c < n_chains; ++c) {
      states[c] = structured_state_list(chains[c]->state(), selection,
                                        has_holes ? &averages[c] : nullptr);
      all.merge(averages[c]);
    }
    return Rcpp::List::create(
        Rcpp::Named("draws") = draws, Rcpp::Named("states") = states,
        Rcpp::Named("holes") =
            has_holes ? SEXP(hole_list(all, places, recorder)) : R_NilValue,
        Rcpp::Named("fitted_holes") =
            has_holes ? SEXP(fitted_hole_list(all, holes, input.order))
                      : R_NilValue,
        Rcpp::Named("status") = chain_status(status, start));
  });
}
