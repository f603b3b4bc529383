#include "glue_stream.h"

#include "glue_bsvm_posterior.h"
#include "glue_epochs.h"

using namespace bayeskernel;

namespace {
RowModel read_open_model(const Rcpp::List& settings,
                         ConditionalVariance* open) {
  RowModel out = read_row_model(settings);
  out.open = open;
  return out;
}

// Stochastic epochs, then full passes from where they end.
struct SviFit {
  // `remote`: who runs full passes; null: they are run here.
  SviFit(const RowSource& rows, const Prior& prior, Executor& executor,
         const Rcpp::List& settings, bool row_moments,
         ConditionalVariance* open, const RemoteRows* remote = nullptr)
      : fit(rows, prior, executor, nullptr, nullptr,
            row_moments && remote == nullptr, read_open_model(settings, open)),
        stochastic(read_stochastic(
            settings, std::max<Index>(256, 4 * rows.x_columns()))) {
    if (remote != nullptr) fit.delegate(remote->mean_field());
    const auto batches = remote_minibatches(remote, rows.x_columns());
    UserCallback user(read<bool>(settings, "progress"));
    const Epochs epochs =
        run_epochs(rows, prior, executor, stochastic, nullptr, fit.model(),
                   true, user.keep_going(), batches ? &*batches : nullptr);
    steps = epochs.steps;
    result.interrupted = epochs.interrupted;
    if (epochs.interrupted && !epochs.start) return;
    if (epochs.interrupted && !row_moments) {
      fit.adopt(*epochs.start);
      usable = true;
      return;
    }
    result = run_passes(fit, epochs, read_mean_field_settings(settings),
                        user.keep_going());
    usable = !result.bound.empty();
  }

  MeanFieldFit fit;
  StochasticSettings stochastic;
  MeanFieldResult result;
  Index steps = 0;
  bool usable = false;  // whether there is a posterior
};

// What bsvm_vb_cpp() returns, and how the stochastic steps went.
Rcpp::List svi_list(const SviFit& svi, const Prior& prior,
                    const WideBlock& wide, double seconds) {
  Rcpp::List status =
      status_list(svi.result, svi.fit.system().jitter(), seconds);
  status["margin"] = svi.fit.margin();
  status["epochs"] = svi.stochastic.epochs;
  status["steps"] = static_cast<double>(svi.steps);
  status["batch_size"] = static_cast<double>(svi.stochastic.batch_rows);
  Rcpp::List out;
  if (svi.usable) out = posterior_list(svi.fit, prior, wide);
  out["usable"] = svi.usable;
  out["status"] = status;
  return out;
}
}  // namespace

// [[Rcpp::export(rng = false)]]
Rcpp::List append_rows_cpp(const std::string& path,
                           const Rcpp::NumericMatrix& x,
                           const Rcpp::NumericVector& labels) {
  return guarded([&] {
    RowFile::append(path, map_matrix(x), map_vector(labels));
    return Rcpp::List();
  });
}

// The rows of a file by append_rows_cpp() into another, those of group 1 first;
// `group` has a number from 1 for each row.
// [[Rcpp::export(rng = false)]]
Rcpp::List sort_rows_cpp(const std::string& path, const std::string& to,
                         int columns, const Rcpp::IntegerVector& group,
                         int groups) {
  return guarded([&] {
    RowFile file(path, group.size(), columns);
    const Eigen::Map<const Eigen::VectorXi> from(group.begin(), group.size());
    RowSort().run(file, from.array() - 1, groups, to);
    return Rcpp::List();
  });
}

// `data`, `prior`: as of bsvm_vb_cpp().
// [[Rcpp::export(rng = false)]]
Rcpp::List bsvm_svi_cpp(const Rcpp::List& data, const Rcpp::List& prior,
                        const Rcpp::List& settings) {
  return guarded([&] {
    const auto start = std::chrono::steady_clock::now();
    const ColumnData input = read_data(data);
    if (!Rf_isNull(element(data, "atoms"))) {
      throw ArgumentError("minibatches split the completions of a row");
    }
    Prior blocks = read_prior(prior);
    PackedRows rows = pack_rows(input);
    WideBlock wide;
    if (Rf_isNull(element(data, "open"))) {
      wide = reduce_wide(rows, blocks);
    }
    rows.finish(input.group_begin);
    RcppParallelExecutor executor(
        useful_threads(rows, read<int>(settings, "threads")));
    const std::unique_ptr<ConditionalVariance> residuals =
        read_open(element(data, "open"), input.order, rows.residual, blocks);
    const std::unique_ptr<RemoteRows> remote = read_remote(settings);
    const SviFit svi(rows, blocks, executor, settings, true, residuals.get(),
                     remote.get());
    Rcpp::List out = svi_list(svi, blocks, wide, seconds_since(start));
    if (svi.usable) {
      if (read_family(settings) == Family::hinge && residuals == nullptr &&
          !svi.result.interrupted) {
        const bool whole = finished(executor, [&] {
          out["influence"] = response_list(rows, blocks, executor, svi.fit,
                                           input.order, remote.get());
        });
        if (!whole) {
          Rcpp::List status = out["status"];
          status["interrupted"] = true;
        }
      }
      add_row_moments(svi.fit, input.order, remote.get(), out);
    }
    return out;
  });
}

// `stream`: see StreamInput.
// [[Rcpp::export(rng = false)]]
Rcpp::List bsvm_stream_cpp(const Rcpp::List& stream, const Rcpp::List& prior,
                           const Rcpp::List& settings) {
  return guarded([&] {
    const auto start = std::chrono::steady_clock::now();
    StreamInput input(stream, read<int>(settings, "threads"));
    const Prior blocks = read_prior(prior);
    const ProcessInput processes(stream, input.rows, input.executor, blocks);
    const std::unique_ptr<RemoteRows> remote = read_remote(settings);
    const SviFit svi(processes.rows(), blocks, input.executor, settings, false,
                     processes.open(), remote.get());
    Rcpp::List out = svi_list(svi, blocks, WideBlock(), seconds_since(start));
    out["processes"] = processes.answer();
    return out;
  });
}
