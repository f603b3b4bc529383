// bsvm() with crossed random effects.
#include "glue_bsvm_chain.h"
#include "glue_bsvm_posterior.h"
#include "linear/crossed/gibbs.hpp"
#include "linear/crossed/pack.hpp"

using namespace bayeskernel;

namespace {
std::vector<GivenTerm> read_terms(const Rcpp::List& from) {
  std::vector<GivenTerm> out;
  for (const Rcpp::List term : from) {
    out.push_back({static_cast<std::size_t>(read<int>(term, "block")),
                   read<int>(term, "members"),
                   map_integers(term["group"]).data(), map_matrix(term["z"])});
  }
  return out;
}

// What an export was given; rows and model point at parts of it.
struct CrossedInput {
  CrossedInput(const Rcpp::List& lists, const Rcpp::List& priors,
               const Rcpp::List& settings)
      : data(read_data(lists)),
        prior(read_prior(priors)),
        model(read_row_model(settings)) {
    const std::vector<GivenTerm> terms = read_terms(lists["crossed"]);
    sort_by_first(terms, data.order);
    units = read_completions(element(lists, "atoms"), data.order);
    pack_crossed(terms, data, units.unit, rows);
    if (!units.unit.empty()) model.completions = &units;
  }
  CrossedInput(const CrossedInput&) = delete;

  // Threads that pay off.
  int threads(const Rcpp::List& settings) const {
    const double width =
        static_cast<double>(rows.x_columns() + 8 * rows.z.rows());
    return static_cast<double>(rows.rows()) * width < 5e5
               ? 1
               : read<int>(settings, "threads");
  }

  ColumnData data;
  Prior prior;
  RowModel model;
  CrossedRows rows;
  Completions units;
};

Rcpp::List terms_list(const std::vector<LevelMoments>& terms) {
  Rcpp::List out;
  for (const LevelMoments& term : terms) {
    out.push_back(r_list({{"mean", term.mean},
                          {"cov", term.covariance},
                          {"loading", term.loading},
                          {"schur", term.given}}));
  }
  return out;
}

Rcpp::List pairs_list(const std::vector<LevelPairs>& terms) {
  Rcpp::List out;
  for (const LevelPairs& term : terms) {
    out.push_back(r_list({{"inner", term.inner},
                          {"outer", term.outer},
                          {"cov", term.covariance}}));
  }
  return out;
}
}  // namespace

// [[Rcpp::export(rng = false)]]
Rcpp::List bsvm_crossed_vb_cpp(const Rcpp::List& data, const Rcpp::List& prior,
                               const Rcpp::List& settings) {
  return guarded([&] {
    const auto start = std::chrono::steady_clock::now();
    const CrossedInput in(data, prior, settings);
    const CrossedRows& rows = in.rows;
    const std::vector<Index>& order = in.data.order;
    RcppParallelExecutor executor(in.threads(settings));
    UserCallback user(read<bool>(settings, "progress"));
    CrossedMeanField fit(rows, in.prior, executor, in.model);
    const MeanFieldResult result =
        fit.run(read_mean_field_settings(settings), user.keep_going());
    const CrossedPosterior& q = fit.posterior();
    return r_list(
        {{"theta_mean", VectorXd(fit.theta().head(rows.x_columns()))},
         {"theta_cov", MatrixXd(q.whitener().transpose() * q.whitener())},
         {"shared_cov", q.omega()},
         {"crossed", terms_list(level_moments(rows, fit.theta(), q))},
         {"pairs", pairs_list(level_pairs(rows, q))},
         {"variance", variance_list(in.prior, fit.variances())},
         {"precision", fit.precisions()},
         {"noise", noise_list(fit.model(), fit.noise())},
         {"mean", by_row(fit.mean(), order)},
         {"variance_f", by_row(fit.variance(), order)},
         {"share", by_row(fit.responsibility(), order)},
         {"usable", !result.bound.empty()},
         {"status", status_list(result, fit.jitter(), seconds_since(start))}});
  });
}

// [[Rcpp::export(rng = false)]]
Rcpp::List bsvm_crossed_gibbs_cpp(const Rcpp::List& data,
                                  const Rcpp::List& prior,
                                  const Rcpp::List& settings) {
  return guarded([&] {
    using Chain = CrossedGibbs;
    if (!Rf_isNull(element(data, "atoms"))) {
      throw ArgumentError(
          "completions need random effects that are not crossed");
    }
    const CrossedInput in(data, prior, settings);
    ChainRun<Chain> run(settings, in.threads(settings));
    const bool started = run.start(
        [&](std::uint64_t id) {
          return std::make_unique<Chain>(in.rows, in.prior, run.executor(),
                                         run.seed(), id, in.model);
        },
        [&](Chain& chain, R_xlen_t, SEXP from) {
          restore_base(CheckedList(from, kState), run.plan(), in.model,
                       chain.state);
        },
        [&](Chain& chain, std::uint64_t) { set_start(settings, chain.state); });
    if (!started) return run.interrupted();
    const WideBlock none;
    const Recorder recorder =
        read_recorder(settings, prior, in.data, in.prior, none, in.model, run);
    const auto write = [&](Index c, double* out, Index stride) {
      const Chain& chain = run.chain(c);
      recorder.write(chain.state, chain.chain(), out, stride);
    };
    const Rcpp::NumericVector draws = run.run(recorder.variables(), write);
    Rcpp::List states;
    for (Index c = 0; c < run.chains(); ++c) {
      states.push_back(base_state_list(run.chain(c).state, in.model));
    }
    return r_list(
        {{"draws", draws}, {"states", states}, {"status", jitter_status(run)}});
  });
}
