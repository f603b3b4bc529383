#include "glue_chains.h"
#include "glue_gpsvm.h"
#include "linear/gibbs.hpp"

using namespace bayeskernel;

namespace {
Rcpp::List chain_state(const GibbsState& state) {
  return r_list({{"x", state.point.x},
                 {"latent", state.latent},
                 {"sweep", static_cast<double>(state.sweep)}});
}

void restore_chain(SEXP from, const ChainPlan& plan, GibbsState& state) {
  const CheckedList list(from, kState);
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
    ChainRun<GibbsChain> run(settings, read<int>(settings, "threads"));
    FeatureData input(data, kernel, inducing, read<double>(settings, "nugget"),
                      label, run.executor().threads());
    const Features& features = input.features;
    const Index m = features.columns();
    PackedRows rows;
    if (read<bool>(settings, "exact")) {
      exact_features(features, rows);
      keep_labels(*input.base, rows);
      if (features.nugget() == 0.0) rows.residual.resize(0);
    } else {
      keep_features(input.rows, rows);
    }
    const Prior prior = unit_prior(m);
    const std::uint64_t seed =
        run.seed() + (static_cast<std::uint64_t>(machine) << 32);
    const bool started = run.start(
        [&](std::uint64_t id) {
          return std::make_unique<GibbsChain>(rows, prior, input.executor, seed,
                                              id);
        },
        [&](GibbsChain& chain, R_xlen_t, SEXP from) {
          restore_chain(from, run.plan(), chain.state);
        },
        [](GibbsChain&, std::uint64_t) {});
    if (!started) return run.interrupted();
    const auto write = [&](Index c, double* out, Index stride) {
      const VectorXd u = features.factor().triangularView<Eigen::Lower>() *
                         run.chain(c).state.point.x;
      for (Index j = 0; j < m; ++j) out[j * stride] = u[j];
    };
    const Rcpp::NumericVector draws = run.run(m, write);
    Rcpp::List states;
    for (Index c = 0; c < run.chains(); ++c) {
      states.push_back(chain_state(run.chain(c).state));
    }
    return r_list({{"draws", draws},
                   {"states", states},
                   {"factor", features.factor()},
                   {"jitter", features.jitter()},
                   {"status", run.status()}});
  });
}
