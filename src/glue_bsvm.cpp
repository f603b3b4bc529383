#include "glue_bsvm.h"

#include <bayeskernel/bsvm/draw_moments.hpp>
#include <bayeskernel/bsvm/linear_moments.hpp>
#include <bayeskernel/bsvm/recorder.hpp>
#include <bayeskernel/hinge/probability.hpp>

// [[Rcpp::export(rng = false)]]
Rcpp::List bsvm_vb_cpp(const Rcpp::List& data, const Rcpp::List& prior,
                       const Rcpp::List& settings) {
  return guarded([&] {
    const auto start = std::chrono::steady_clock::now();
    const bayeskernel::BsvmData input = read_data(data);
    bayeskernel::Prior blocks = read_prior(prior);
    bayeskernel::PackedRows rows = bayeskernel::pack_rows(input);
    const bayeskernel::WideBlock wide = bayeskernel::reduce_wide(rows, blocks);
    rows.finish(input.group_begin);
    RcppParallelExecutor executor(
        useful_threads(rows, Rcpp::as<int>(settings["threads"])));
    UserCallback user(Rcpp::as<bool>(settings["progress"]));
    bayeskernel::MeanFieldFit fit(rows, blocks, executor);
    const bayeskernel::MeanFieldResult result =
        fit.run(read_mean_field_settings(settings), user.keep_going());
    Rcpp::List out = posterior_list(fit, rows, blocks, wide);
    out["mean"] = to_r(restore_order(fit.mean(), input.order));
    out["variance_f"] = to_r(restore_order(fit.variance(), input.order));
    out["status"] =
        status_list(result, fit.system().jitter(), seconds_since(start));
    return out;
  });
}

// [[Rcpp::export(rng = false)]]
Rcpp::List bsvm_gibbs_cpp(const Rcpp::List& data, const Rcpp::List& prior,
                          const Rcpp::List& settings) {
  return guarded([&] {
    const auto start = std::chrono::steady_clock::now();
    const bayeskernel::BsvmData input = read_data(data);
    bayeskernel::Prior blocks = read_prior(prior);
    bayeskernel::PackedRows rows = bayeskernel::pack_rows(input);
    const bayeskernel::WideBlock wide = bayeskernel::reduce_wide(rows, blocks);
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
    std::vector<std::unique_ptr<bayeskernel::GibbsChain>> chains;
    std::vector<bayeskernel::GibbsChain*> pointers;
    const Rcpp::List resume = settings["states"];
    for (int c = 0; c < n_chains; ++c) {
      chains.push_back(std::make_unique<bayeskernel::GibbsChain>(
          rows, blocks, inner, seed, static_cast<std::uint64_t>(chain_id[c])));
      if (resume.size() > 0) restore_state(resume[c], chains.back()->state);
      pointers.push_back(chains.back().get());
    }

    const bayeskernel::Recorder recorder(
        input.center, input.scale, Rcpp::as<bool>(settings["intercept"]),
        blocks, read_transforms(prior), wide, seed,
        Rcpp::as<bool>(settings["keep_ranef"]));
    const Index variables = recorder.variables();
    Rcpp::NumericVector draws(Rcpp::Dimension(plan.draws, n_chains, variables));
    double* out = draws.begin();
    const auto record = [&](Index c, Index k) {
      recorder.write(chains[c]->state, chains[c]->chain(),
                     out + k + plan.draws * c, plan.draws * n_chains);
    };
    UserCallback user(Rcpp::as<bool>(settings["progress"]));
    const bayeskernel::ChainStatus status = bayeskernel::run_chains(
        pointers, plan, outer, user.keep_going(), record);
    Rcpp::List states(n_chains);
    for (int c = 0; c < n_chains; ++c) states[c] = state_list(chains[c]->state);
    return Rcpp::List::create(
        Rcpp::Named("draws") = draws, Rcpp::Named("states") = states,
        Rcpp::Named("status") = chain_status(status, start));
  });
}

// E g(f) for f ~ N(m, s2), by row (svm.md section 8).
// [[Rcpp::export(rng = false)]]
Rcpp::NumericVector hinge_probability_cpp(const Rcpp::NumericVector& m,
                                          const Rcpp::NumericVector& s2) {
  const bayeskernel::HingeProbability probability;
  Rcpp::NumericVector out(m.size());
  for (R_xlen_t i = 0; i < m.size(); ++i) {
    out[i] = Rcpp::NumericVector::is_na(m[i])
                 ? NA_REAL
                 : probability(m[i], std::sqrt(s2[i]));
  }
  return out;
}

// Mean and variance of f, mean and sd of the class probability, by row.
// [[Rcpp::export(rng = false)]]
Rcpp::List draw_moments_cpp(const Rcpp::NumericMatrix& x,
                            const Rcpp::NumericVector& offset,
                            const Rcpp::NumericMatrix& beta,
                            const Rcpp::List& terms, bool hinge, int threads) {
  return guarded([&] {
    std::vector<bayeskernel::TermDraws> draws;
    for (R_xlen_t t = 0; t < terms.size(); ++t) {
      const Rcpp::List term = terms[t];
      draws.push_back(
          {map_matrix(term["z"]), Rcpp::as<std::vector<int>>(term["group"]),
           map_matrix(term["effects"]), map_matrix(term["covariance"])});
    }
    RcppParallelExecutor executor(threads);
    const bayeskernel::DrawMoments moments =
        bayeskernel::draw_moments(map_matrix(x), map_vector(offset),
                                  map_matrix(beta), draws, hinge, executor);
    return Rcpp::List::create(to_r(moments.mean), to_r(moments.var),
                              to_r(moments.probability),
                              to_r(moments.probability_sd));
  });
}

// [[Rcpp::export(rng = false)]]
Rcpp::List linear_moments_cpp(const Rcpp::NumericMatrix& x,
                              const Rcpp::NumericVector& center,
                              const Rcpp::NumericVector& scale,
                              const Rcpp::NumericVector& offset,
                              const Rcpp::NumericVector& mean,
                              const Rcpp::NumericMatrix& covariance,
                              int threads) {
  return guarded([&] {
    RcppParallelExecutor executor(threads);
    const bayeskernel::LinearMoments moments = bayeskernel::linear_moments(
        map_matrix(x), map_vector(center), map_vector(scale),
        map_vector(offset), map_vector(mean), map_matrix(covariance), executor);
    return Rcpp::List::create(Rcpp::Named("mean") = to_r(moments.mean),
                              Rcpp::Named("var") = to_r(moments.var));
  });
}
