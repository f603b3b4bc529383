// A cluster worker's own file of rows of the linear model, whole groups of
// these: it streams them; sums travel.
#include "glue_stream.h"
#include "glue_workers.h"

using namespace bayeskernel;

namespace {
class StreamWorker final : public WorkerRows {
 public:
  // `first`: the rows of other workers before these.
  StreamWorker(const Rcpp::List& stream, const Rcpp::List& settings,
               double first)
      : input_(stream, read<int>(settings, "threads")),
        worker_(input_.rows, input_.executor, read_row_model(settings),
                static_cast<Index>(first),
                read_or(settings, "row_moments", false)) {}

  Rcpp::List run(const Rcpp::List& task, const Rcpp::List& own,
                 const Rcpp::IntegerVector& begin) override {
    return run_task(worker_, task, own, begin);
  }

 private:
  StreamInput input_;
  RowWorker worker_;
};
}  // namespace

// What the rows are cut into, see linear_shards_cpp(); of rows that are absent,
// too.
// [[Rcpp::export(rng = false)]]
Rcpp::List stream_shards_cpp(const Rcpp::List& stream) {
  return guarded([&] {
    const StreamInput input(stream, 1);
    return table_list(shard_table(input.rows));
  });
}

// `stream`: see StreamInput.
// [[Rcpp::export(rng = false)]]
SEXP stream_worker_cpp(const Rcpp::List& stream, const Rcpp::List& settings,
                       double first) {
  return guarded([&] {
    return to_r(std::make_unique<StreamWorker>(stream, settings, first));
  });
}
