#include <bayeskernel/hinge/gibbs.hpp>

#include "glue_gpsvm.h"
#include "glue_state.h"

namespace {

using bayeskernel::GibbsChain;

Rcpp::List chain_state(const bayeskernel::GibbsState& state) {
  return Rcpp::List::create(
      Rcpp::Named("x") = to_r(state.point.x),
      Rcpp::Named("latent") = to_r(state.latent),
      Rcpp::Named("sweep") = static_cast<double>(state.sweep));
}

void restore_chain(SEXP from, const bayeskernel::ChainPlan& plan,
                   bayeskernel::GibbsState& state) {
  const CheckedList list(from, "the state to go on from");
  state.point.x = list.vector("x", state.point.x.size());
  state.latent = list.vector("latent", state.latent.size());
  state.sweep = static_cast<std::uint64_t>(
      list.index("sweep", 0.0, static_cast<double>(plan.sweeps())));
}

}  // namespace

// Draws of the process at the inducing points: draws x chains x m. One label,
// settings$classes, is positive; the streams are those of machine `machine`.
// [[Rcpp::export(rng = false)]]
Rcpp::List gpsvm_gibbs_cpp(const Rcpp::List& data, const Rcpp::List& kernel,
                           const Rcpp::NumericMatrix& inducing,
                           const Rcpp::List& settings, int label, int machine) {
  return guarded([&] {
    const auto began = std::chrono::steady_clock::now();
    const int threads = Rcpp::as<int>(settings["threads"]);
    const Rcpp::IntegerVector chain_id = settings["chain_id"];
    const int n_chains = chain_id.size();
    const bool by_chain = n_chains >= threads;
    RcppParallelExecutor outer(by_chain ? threads : 1);
    FeatureData input(data, kernel, inducing,
                      Rcpp::as<double>(settings["nugget"]), label,
                      by_chain ? 1 : threads);
    const bayeskernel::Features& features = input.features;
    const Index m = features.columns();
    bayeskernel::PackedRows rows;
    if (Rcpp::as<bool>(settings["exact"])) {
      bayeskernel::exact_features(features, rows);
      bayeskernel::keep_labels(*input.base, rows);
      if (features.nugget() == 0.0) rows.residual.resize(0);
    } else {
      bayeskernel::keep_features(input.rows, rows);
    }
    const bayeskernel::Prior prior = bayeskernel::unit_prior(m);
    const std::uint64_t seed =
        static_cast<std::uint64_t>(Rcpp::as<double>(settings["seed"])) +
        (static_cast<std::uint64_t>(machine) << 32);
    const bayeskernel::ChainPlan plan = read_plan(settings);

    std::vector<std::unique_ptr<GibbsChain>> chains;
    std::vector<GibbsChain*> pointers;
    const Rcpp::List resume = read_states(settings["states"], n_chains);
    UserCallback user(Rcpp::as<bool>(settings["progress"]));
    const auto make = [&](R_xlen_t c) {
      chains.push_back(std::make_unique<GibbsChain>(
          rows, prior, input.executor, seed,
          static_cast<std::uint64_t>(chain_id[c])));
      if (resume.size() > 0) {
        restore_chain(resume[c], plan, chains.back()->state);
      }
      pointers.push_back(chains.back().get());
    };
    if (!make_chains(n_chains, user, make)) return interrupted_before(began);
    Rcpp::NumericVector draws(Rcpp::Dimension(plan.draws, n_chains, m));
    double* out = draws.begin();
    const auto record = [&](Index c, Index k) {
      const VectorXd u = features.factor().triangularView<Eigen::Lower>() *
                         chains[c]->state.point.x;
      for (Index j = 0; j < m; ++j) {
        out[k + plan.draws * (c + n_chains * j)] = u[j];
      }
    };
    const bayeskernel::ChainStatus status = bayeskernel::run_chains(
        pointers, plan, outer, user.keep_going(), record);
    Rcpp::List states(n_chains);
    for (int c = 0; c < n_chains; ++c)
      states[c] = chain_state(chains[c]->state);
    return Rcpp::List::create(
        Rcpp::Named("draws") = draws, Rcpp::Named("states") = states,
        Rcpp::Named("factor") = to_r(features.factor()),
        Rcpp::Named("jitter") = features.jitter(),
        Rcpp::Named("status") = chain_status(status, began));
  });
}
