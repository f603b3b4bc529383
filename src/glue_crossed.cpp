// bsvm() with crossed random effects.
#include <bayeskernel/draws/recorder.hpp>
#include <bayeskernel/hinge/crossed/gibbs.hpp>
#include <memory>

#include "glue_bsvm_chain.h"
#include "glue_bsvm_posterior.h"

namespace {

using bayeskernel::CrossedRows;
using bayeskernel::CrossedTerm;

// The rows go in the order of the levels of the first term: data.order.
void read_crossed(const Rcpp::List& terms, bayeskernel::ColumnData& data,
                  CrossedRows& out) {
  const Index n = data.x.rows();
  Index per_row = 0, effects = 0;
  for (Index k = 0; k < terms.size(); ++k) {
    const Rcpp::List from = terms[k];
    per_row += map_matrix(from["z"]).cols();
  }
  out.z.resize(per_row, n);
  out.column.resize(per_row, n);
  for (Index k = 0, at = 0; k < terms.size(); ++k) {
    const Rcpp::List from = terms[k];
    const Rcpp::IntegerVector group = from["group"];
    const auto z = map_matrix(from["z"]);
    const Index r = z.cols(), levels = Rcpp::as<int>(from["members"]);
    out.terms.push_back(
        {static_cast<std::size_t>(Rcpp::as<int>(from["block"])), r, levels});
    if (k == 0) {
      std::stable_sort(data.order.begin(), data.order.end(),
                       [&](Index a, Index b) { return group[a] < group[b]; });
    }
    for (Index i = 0; i < n; ++i) {
      const Index row = data.order[i];
      for (Index j = 0; j < r; ++j) {
        out.z(at + j, i) = z(row, j);
        out.column(at + j, i) =
            static_cast<int>(effects + (group[row] - 1) * r + j);
      }
    }
    at += r;
    effects += r * levels;
  }
  out.dense = bayeskernel::pack_rows(data);
  out.dense.finish({});
  out.finish();
}

int crossed_threads(const CrossedRows& rows, int threads) {
  const double width =
      static_cast<double>(rows.x_columns() + 8 * rows.z.rows());
  return static_cast<double>(rows.rows()) * width < 5e5 ? 1 : threads;
}

// By term, as those of a term that is eliminated: mean, covariance, loading on
// theta and the shared directions, covariance given these.
Rcpp::List terms_list(const CrossedRows& rows, const VectorXd& theta,
                      const bayeskernel::CrossedPosterior& q) {
  Rcpp::List out;
  const MatrixXd loading = q.loading();
  for (const CrossedTerm& term : rows.terms) {
    const Index r = term.width;
    MatrixXd covariance(r, term.size()), given(r, term.size());
    for (Index g = 0; g < term.levels; ++g) {
      const Index a = term.first + g * r;
      covariance.middleCols(g * r, r) = q.covariance(a);
      given.middleCols(g * r, r) = rows.block(q.noise(), a, rows.own[a], r);
    }
    out.push_back(Rcpp::List::create(
        Rcpp::Named("mean") = to_r(MatrixXd(Eigen::Map<const MatrixXd>(
            theta.data() + rows.x_columns() + term.first, r, term.levels))),
        Rcpp::Named("cov") = to_r(covariance),
        Rcpp::Named("loading") =
            to_r(MatrixXd(loading.middleCols(term.first, term.size()))),
        Rcpp::Named("schur") = to_r(given)));
  }
  return out;
}

// Cov(u_g, v_h | theta, shared directions) of levels that occur together, by
// outer term.
Rcpp::List pairs_list(const CrossedRows& rows,
                      const bayeskernel::CrossedPosterior& q) {
  Rcpp::List out;
  const Index r0 = rows.terms[0].width;
  for (std::size_t k = 1; k < rows.terms.size(); ++k) {
    const CrossedTerm& term = rows.terms[k];
    std::vector<int> inner, outer;
    std::vector<double> covariance;
    for (Index a = 0; a < rows.inner(); a += r0) {
      const Index count = rows.begin[a + 1] - rows.begin[a];
      for (Index e = r0; e < count; ++e) {
        const Index h = rows.columns[rows.begin[a] + e] - term.first;
        if (h < 0 || h >= term.size() || h % term.width != 0) continue;
        const MatrixXd pair = rows.block(q.noise(), a, e, term.width);
        covariance.insert(covariance.end(), pair.data(),
                          pair.data() + pair.size());
        inner.push_back(static_cast<int>(a / r0) + 1);
        outer.push_back(static_cast<int>(h / term.width) + 1);
      }
    }
    out.push_back(Rcpp::List::create(Rcpp::Named("inner") = inner,
                                     Rcpp::Named("outer") = outer,
                                     Rcpp::Named("cov") = covariance));
  }
  return out;
}

}  // namespace

// [[Rcpp::export(rng = false)]]
Rcpp::List bsvm_crossed_vb_cpp(const Rcpp::List& data, const Rcpp::List& prior,
                               const Rcpp::List& settings) {
  return guarded([&] {
    const auto start = std::chrono::steady_clock::now();
    bayeskernel::ColumnData input = read_data(data);
    const bayeskernel::Prior blocks = read_prior(prior);
    CrossedRows rows;
    read_crossed(data["crossed"], input, rows);
    RcppParallelExecutor executor(
        crossed_threads(rows, Rcpp::as<int>(settings["threads"])));
    UserCallback user(Rcpp::as<bool>(settings["progress"]));
    bayeskernel::CrossedMeanField fit(rows, blocks, executor);
    const bayeskernel::MeanFieldResult result =
        fit.run(read_mean_field_settings(settings), user.keep_going());
    const bayeskernel::CrossedPosterior& q = fit.posterior();
    return Rcpp::List::create(
        Rcpp::Named("theta_mean") =
            to_r(VectorXd(fit.theta().head(rows.x_columns()))),
        Rcpp::Named("theta_cov") =
            to_r(MatrixXd(q.whitener().transpose() * q.whitener())),
        Rcpp::Named("shared_cov") = to_r(q.omega()),
        Rcpp::Named("crossed") = terms_list(rows, fit.theta(), q),
        Rcpp::Named("pairs") = pairs_list(rows, q),
        Rcpp::Named("variance") = variance_list(blocks, fit.variances()),
        Rcpp::Named("precision") = to_r(fit.precisions()),
        Rcpp::Named("mean") = to_r(restore_order(fit.mean(), input.order)),
        Rcpp::Named("variance_f") =
            to_r(restore_order(fit.variance(), input.order)),
        Rcpp::Named("usable") = !result.bound.empty(),
        Rcpp::Named("status") =
            status_list(result, fit.jitter(), seconds_since(start)));
  });
}

// [[Rcpp::export(rng = false)]]
Rcpp::List bsvm_crossed_gibbs_cpp(const Rcpp::List& data,
                                  const Rcpp::List& prior,
                                  const Rcpp::List& settings) {
  return guarded([&] {
    const auto start = std::chrono::steady_clock::now();
    bayeskernel::ColumnData input = read_data(data);
    const bayeskernel::Prior blocks = read_prior(prior);
    CrossedRows rows;
    read_crossed(data["crossed"], input, rows);
    const int threads = Rcpp::as<int>(settings["threads"]);
    const Rcpp::IntegerVector chain_id = settings["chain_id"];
    const int n_chains = chain_id.size();
    const std::uint64_t seed =
        static_cast<std::uint64_t>(Rcpp::as<double>(settings["seed"]));
    const bayeskernel::ChainPlan plan = read_plan(settings);

    const bool by_chain = n_chains >= threads;
    RcppParallelExecutor outer(by_chain ? threads : 1);
    RcppParallelExecutor inner(by_chain ? 1 : crossed_threads(rows, threads));
    std::vector<std::unique_ptr<bayeskernel::CrossedGibbs>> chains;
    std::vector<bayeskernel::CrossedGibbs*> pointers;
    const Rcpp::List resume = read_states(settings["states"], n_chains);
    UserCallback user(Rcpp::as<bool>(settings["progress"]));
    const auto make = [&](R_xlen_t c) {
      chains.push_back(std::make_unique<bayeskernel::CrossedGibbs>(
          rows, blocks, inner, seed, static_cast<std::uint64_t>(chain_id[c])));
      pointers.push_back(chains.back().get());
      if (resume.size() == 0) return;
      restore_base(CheckedList(resume[c], kState), plan, chains[c]->state);
    };
    if (!make_chains(n_chains, user, make)) return interrupted_before(start);
    const bayeskernel::WideBlock none;
    const bayeskernel::Recorder recorder(
        input.center, input.scale, Rcpp::as<bool>(settings["intercept"]),
        blocks, read_transforms(prior), none, seed,
        Rcpp::as<bool>(settings["keep_ranef"]));
    Rcpp::NumericVector draws(
        Rcpp::Dimension(plan.draws, n_chains, recorder.variables()));
    double* out = draws.begin();
    const auto record = [&](Index c, Index k) {
      recorder.write(chains[c]->state, chains[c]->chain(),
                     out + k + plan.draws * c, plan.draws * n_chains);
    };
    const bayeskernel::ChainStatus status = bayeskernel::run_chains(
        pointers, plan, outer, user.keep_going(), record);
    Rcpp::List states(n_chains), how = chain_status(status, start);
    double jitter = 0.0;
    for (int c = 0; c < n_chains; ++c) {
      states[c] = base_state_list(chains[c]->state);
      jitter = std::max(jitter, chains[c]->jitter());
    }
    how["jitter"] = jitter;
    return Rcpp::List::create(Rcpp::Named("draws") = draws,
                              Rcpp::Named("states") = states,
                              Rcpp::Named("status") = how);
  });
}
