// A cluster worker's own file of rows of the linear model, whole groups of
// these: it streams them; sums travel.
#include "glue_stream.h"
#include "glue_workers.h"
#include "rows/shard_table.hpp"

namespace {

class StreamWorker {
 public:
  // `first`: the rows of other workers before these.
  StreamWorker(const Rcpp::List& stream, const Rcpp::List& settings,
               double first)
      : input_(stream, read<int>(settings, "threads")),
        worker_(input_.rows, input_.executor, read_row_model(settings),
                static_cast<Index>(first), false) {}

  Rcpp::List run(const Rcpp::List& task, const Rcpp::List& own,
                 const Rcpp::IntegerVector& begin) {
    return run_task(worker_, task, own, begin);
  }

 private:
  StreamInput input_;
  bayeskernel::RowWorker worker_;
};

}  // namespace

// What the rows are cut into, see linear_shards_cpp(); of rows that are absent,
// too.
// [[Rcpp::export(rng = false)]]
Rcpp::List stream_shards_cpp(const Rcpp::List& stream) {
  return guarded([&] {
    const StreamInput input(stream, 1);
    const bayeskernel::ShardTable table =
        bayeskernel::shard_table(input.rows);
    return r_list(
        {{"chunk", table.chunk}, {"row", table.row}, {"group", table.group}});
  });
}

// `stream`: see StreamInput.
// [[Rcpp::export(rng = false)]]
SEXP stream_worker_cpp(const Rcpp::List& stream, const Rcpp::List& settings,
                       double first) {
  return guarded([&] {
    const Rcpp::XPtr<StreamWorker> out(
        new StreamWorker(stream, settings, first));
    return Rcpp::RObject(static_cast<SEXP>(out));
  });
}

// See gpsvm_worker_pass_cpp().
// [[Rcpp::export(rng = false)]]
Rcpp::List stream_worker_pass_cpp(SEXP worker, const Rcpp::List& task,
                                  const Rcpp::List& own,
                                  const Rcpp::IntegerVector& begin) {
  return guarded([&] {
    Rcpp::XPtr<StreamWorker> at(worker);
    return at->run(task, own, begin);
  });
}
