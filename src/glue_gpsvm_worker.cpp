// A cluster worker's part of the rows of gpsvm(): it keeps them, and their
// messages; sums travel.
#include "glue_gpsvm.h"
#include "glue_workers.h"

using namespace bayeskernel;

namespace {
class ProcessWorker final : public WorkerRows {
 public:
  // `first`: of these rows among all. `powers`: of each machine, where these
  // differ.
  ProcessWorker(const Rcpp::List& data, const Rcpp::List& kernel,
                const Rcpp::NumericMatrix& inducing, double nugget, int threads,
                double first, const Rcpp::List& powers)
      : input_(data, kernel, inducing, nugget, 1, threads),
        powers_(powers),
        worker_(input_.rows, input_.executor, RowModel(),
                static_cast<Index>(first)) {}

  Rcpp::List run(const Rcpp::List& task, const Rcpp::List& own,
                 const Rcpp::IntegerVector& begin) override {
    input_.base->set_positive(read<int>(task, "label"));
    if (powers_.size() > 0) {
      const int machine = task["machine"];
      input_.base->set_weights(map_vector(powers_[machine]));
    }
    return run_task(worker_, task, own, begin);
  }

 private:
  FeatureData input_;
  Rcpp::List powers_;
  RowWorker worker_;
};
}  // namespace

// What n rows of m features are cut into: the chunk, the row and the group
// (none) that each shard begins with, counted from 0, then their numbers.
// [[Rcpp::export(rng = false)]]
Rcpp::List gpsvm_shards_cpp(double n, int m) {
  return table_list(
      shard_table(static_cast<Index>(n), RowSource::chunk_rows(m)));
}

// `first`: the rows before these. `powers`: of each machine, or empty.
// [[Rcpp::export(rng = false)]]
SEXP gpsvm_worker_cpp(const Rcpp::List& data, const Rcpp::List& kernel,
                      const Rcpp::NumericMatrix& inducing, double nugget,
                      int threads, double first, const Rcpp::List& powers) {
  return guarded([&] {
    return to_r(std::make_unique<ProcessWorker>(data, kernel, inducing, nugget,
                                                threads, first, powers));
  });
}
