// bsvm() with crossed random effects.
#include "glue_bsvm_chain.h"
#include "glue_bsvm_posterior.h"
#include "linear/crossed/gibbs.hpp"

namespace {

using bayeskernel::CrossedRows;
using bayeskernel::CrossedTerm;

// The rows go in the order of the levels of the first term: data.order.
void read_crossed(const Rcpp::List& lists, bayeskernel::ColumnData& data,
                  CrossedRows& out, bayeskernel::AtomUnits& units) {
  const Rcpp::List terms = lists["crossed"];
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
    const Index r = z.cols(), levels = read<int>(from, "members");
    out.terms.push_back(
        {static_cast<std::size_t>(read<int>(from, "block")), r, levels});
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
  units = read_atoms(element(lists, "atoms"), data.order);
  out.dense.finish({});
  out.finish(units.unit);
}

// What an export was given; rows and model point at parts of it.
struct CrossedInput {
  CrossedInput(const Rcpp::List& lists, const Rcpp::List& priors,
               const Rcpp::List& settings)
      : data(read_data(lists)),
        prior(read_prior(priors)),
        model(read_row_model(settings)) {
    read_crossed(lists, data, rows, units);
    if (!units.unit.empty()) model.atoms = &units;
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

  bayeskernel::ColumnData data;
  bayeskernel::Prior prior;
  bayeskernel::RowModel model;
  CrossedRows rows;
  bayeskernel::AtomUnits units;
};

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
    out.push_back(r_list(
        {{"mean",
          MatrixXd(Eigen::Map<const MatrixXd>(
              theta.data() + rows.x_columns() + term.first, r, term.levels))},
         {"cov", covariance},
         {"loading", MatrixXd(loading.middleCols(term.first, term.size()))},
         {"schur", given}}));
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
    out.push_back(
        r_list({{"inner", inner}, {"outer", outer}, {"cov", covariance}}));
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
    bayeskernel::CrossedMeanField fit(rows, in.prior, executor, in.model);
    const bayeskernel::MeanFieldResult result =
        fit.run(read_mean_field_settings(settings), user.keep_going());
    const bayeskernel::CrossedPosterior& q = fit.posterior();
    return r_list(
        {{"theta_mean", VectorXd(fit.theta().head(rows.x_columns()))},
         {"theta_cov", MatrixXd(q.whitener().transpose() * q.whitener())},
         {"shared_cov", q.omega()},
         {"crossed", terms_list(rows, fit.theta(), q)},
         {"pairs", pairs_list(rows, q)},
         {"variance", variance_list(in.prior, fit.variances())},
         {"precision", fit.precisions()},
         {"noise", noise_list(fit.model(), fit.noise())},
         {"mean", restore_order(fit.mean(), order)},
         {"variance_f", restore_order(fit.variance(), order)},
         {"share", restore_order(fit.share(), order)},
         {"usable", !result.bound.empty()},
         {"status", status_list(result, fit.jitter(), seconds_since(start))}});
  });
}

// [[Rcpp::export(rng = false)]]
Rcpp::List bsvm_crossed_gibbs_cpp(const Rcpp::List& data,
                                  const Rcpp::List& prior,
                                  const Rcpp::List& settings) {
  return guarded([&] {
    using Chain = bayeskernel::CrossedGibbs;
    if (!Rf_isNull(element(data, "atoms"))) {
      throw bayeskernel::ArgumentError(
          "atoms need random effects that are not crossed");
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
    const bayeskernel::WideBlock none;
    const bayeskernel::Recorder recorder =
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
