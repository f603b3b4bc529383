// A cluster worker's part of the rows of the linear model, whole groups of
// these: it keeps them, and their messages; sums travel.
#include <memory>

#include "glue_process_rows.h"
#include "glue_workers.h"
#include "rows/shard_table.hpp"

namespace {

class LinearWorker {
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
                 const Rcpp::IntegerVector& begin) {
    if (task.containsElementNamed("centres")) {
      processes_.set_centres(task["centres"]);
      return Rcpp::List();
    }
    return run_task(worker_, task, own, begin);
  }

 private:
  const bayeskernel::RowModel& model() {
    in_.model.open = residuals_ ? residuals_.get() : processes_.open();
    return in_.model;
  }

  Rcpp::List data_;  // R's memory, of which there are views
  LinearInput in_;
  ModelRows kept_;
  RcppParallelExecutor executor_;
  ProcessInput processes_;
  std::unique_ptr<bayeskernel::ConditionalVariance> residuals_;
  bayeskernel::RowWorker worker_;
};

}  // namespace

// What the rows are cut into: the chunk, the row and the group that each shard
// begins with, counted from 0, then their numbers. Rows are counted in `order`,
// by group: their numbers in the data, or NULL, and they are in order. `many`:
// whether passes look at the data, which are not copied.
// [[Rcpp::export(rng = false)]]
Rcpp::List linear_shards_cpp(const Rcpp::List& data, const Rcpp::List& prior) {
  return guarded([&] {
    const bayeskernel::ColumnData input = read_data(data);
    bayeskernel::Prior blocks = read_prior(prior);
    const bayeskernel::Completions units =
        read_completions(element(data, "atoms"), input.order);
    const ModelRows kept(input, true, units.unit, blocks, false,
                         ProcessInput::width(data), true);
    const bayeskernel::RowSource& rows = kept.source();
    const bayeskernel::ShardTable table = bayeskernel::shard_table(rows);
    Rcpp::RObject order = R_NilValue;
    if (rows.groups() > 0) {
      Rcpp::IntegerVector by_group(input.order.size());
      for (std::size_t i = 0; i < input.order.size(); ++i) {
        by_group[i] = static_cast<int>(input.order[i]) + 1;
      }
      order = by_group;
    }
    return r_list({{"chunk", table.chunk},
                   {"row", table.row},
                   {"group", table.group},
                   {"order", order},
                   {"many", ModelRows::many(input)}});
  });
}

// `data`: of these rows, in groups from 1 where there are any; `prior`: of all.
// `first`: the rows before these.
// [[Rcpp::export(rng = false)]]
SEXP linear_worker_cpp(const Rcpp::List& data, const Rcpp::List& prior,
                       const Rcpp::List& settings, double first) {
  return guarded([&] {
    const Rcpp::XPtr<LinearWorker> out(
        new LinearWorker(data, prior, settings, first));
    return Rcpp::RObject(static_cast<SEXP>(out));
  });
}

// See gpsvm_worker_pass_cpp().
// [[Rcpp::export(rng = false)]]
Rcpp::List linear_worker_pass_cpp(SEXP worker, const Rcpp::List& task,
                                  const Rcpp::List& own,
                                  const Rcpp::IntegerVector& begin) {
  return guarded([&] {
    Rcpp::XPtr<LinearWorker> at(worker);
    return at->run(task, own, begin);
  });
}
