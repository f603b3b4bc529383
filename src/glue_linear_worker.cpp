// A cluster worker's part of the rows of the linear model, whole groups of
// these: it keeps them, and their messages; sums travel.

#include "glue_process_rows.h"
#include "glue_workers.h"

using namespace bayeskernel;

namespace {
class LinearWorker final : public WorkerRows {
 public:
  // `first`: of these rows among all.
  LinearWorker(const Rcpp::List& data, const Rcpp::List& prior,
               const Rcpp::List& settings, double first)
      : data_(data),
        in_(data_, prior, settings),
        kept_(in_.data, in_.units.unit, ProcessInput::width(data_),
              read<bool>(settings, "many"), static_cast<Index>(first)),
        executor_(
            useful_threads(kept_.source(), read<int>(settings, "threads"))),
        processes_(data_, kept_.source(), executor_, in_.prior),
        residuals_(read_open(element(data_, "open"), in_.data.order,
                             kept_.residual(), in_.prior)),
        worker_(processes_.rows(), executor_, model(),
                static_cast<Index>(first)) {}
  LinearWorker(const LinearWorker&) = delete;
  LinearWorker& operator=(const LinearWorker&) = delete;

  Rcpp::List run(const Rcpp::List& task, const Rcpp::List& own,
                 const Rcpp::IntegerVector& begin) override {
    if (task.containsElementNamed("centres")) {
      processes_.set_centres(task["centres"]);
      return Rcpp::List();
    }
    return run_task(worker_, task, own, begin);
  }

 private:
  const RowModel& model() {
    in_.model.open = residuals_ ? residuals_.get() : processes_.open();
    return in_.model;
  }

  Rcpp::List data_;  // R's memory, of which there are views
  LinearInput in_;
  ModelRows kept_;
  RcppParallelExecutor executor_;
  ProcessInput processes_;
  std::unique_ptr<ConditionalVariance> residuals_;
  RowWorker worker_;
};
}  // namespace

// What the rows are cut into: the chunk, the row and the group that each shard
// begins with, counted from 0, then their numbers. Rows are counted in `order`,
// by group: their numbers in the data, or NULL, and they are in order. `many`:
// whether passes look at the data, which are not copied.
// [[Rcpp::export(rng = false)]]
Rcpp::List linear_shards_cpp(const Rcpp::List& data, const Rcpp::List& prior) {
  return guarded([&] {
    const ColumnData input = read_data(data);
    Prior blocks = read_prior(prior);
    const Completions units =
        read_completions(element(data, "atoms"), input.order);
    const ModelRows kept(input, true, units.unit, blocks, false,
                         ProcessInput::width(data), true);
    const RowSource& rows = kept.source();
    Rcpp::List out = table_list(shard_table(rows));
    if (rows.groups() > 0) {
      Rcpp::IntegerVector order(input.order.begin(), input.order.end());
      for (int& row : order) ++row;
      out["order"] = order;
    }
    out["many"] = ModelRows::many(input);
    return out;
  });
}

// `data`: of these rows, in groups from 1 where there are any; `prior`: of all.
// `first`: the rows before these.
// [[Rcpp::export(rng = false)]]
SEXP linear_worker_cpp(const Rcpp::List& data, const Rcpp::List& prior,
                       const Rcpp::List& settings, double first) {
  return guarded([&] {
    return to_r(std::make_unique<LinearWorker>(data, prior, settings, first));
  });
}

// The answer of what any of the worker exports made; see WorkerRows.
// [[Rcpp::export(rng = false)]]
Rcpp::List worker_pass_cpp(SEXP worker, const Rcpp::List& task,
                           const Rcpp::List& own,
                           const Rcpp::IntegerVector& begin) {
  return guarded([&] {
    Rcpp::XPtr<WorkerRows> at(worker);
    return at->run(task, own, begin);
  });
}
