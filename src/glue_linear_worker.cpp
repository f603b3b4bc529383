// A cluster worker's share of the rows of the linear model, whole groups of
// these: it keeps them, and their messages; sums travel.
#include <memory>

#include "glue_process_rows.h"
#include "glue_workers.h"

namespace {

class LinearWorker {
 public:
  // `first`: of these rows among all.
  LinearWorker(const Rcpp::List& data, const Rcpp::List& prior,
               const Rcpp::List& settings, double first)
      : data_(data),
        input_(read_data(data_)),
        prior_(read_prior(prior)),
        units_(read_atoms(element(data_, "atoms"), input_.order)),
        kept_(input_, units_.unit, ProcessInput::width(data_),
              read<bool>(settings, "many"), static_cast<Index>(first)),
        executor_(
            useful_threads(kept_.source(), read<int>(settings, "threads"))),
        processes_(data_, kept_.source(), executor_, prior_),
        residuals_(read_open(element(data_, "open"), input_.order,
                             kept_.residual(), prior_)),
        worker_(processes_.rows(), executor_, model(settings),
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
  bayeskernel::RowModel model(const Rcpp::List& settings) {
    bayeskernel::RowModel out = read_row_model(settings);
    if (!units_.unit.empty()) out.atoms = &units_;
    out.open = residuals_ ? residuals_.get() : processes_.open();
    return out;
  }

  Rcpp::List data_;  // R's memory, of which there are views
  bayeskernel::ColumnData input_;
  bayeskernel::Prior prior_;
  bayeskernel::AtomUnits units_;
  ModelRows kept_;
  RcppParallelExecutor executor_;
  ProcessInput processes_;
  std::unique_ptr<bayeskernel::OpenResiduals> residuals_;
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
    const bayeskernel::AtomUnits units =
        read_atoms(element(data, "atoms"), input.order);
    const ModelRows kept(input, true, units.unit, blocks, false,
                         ProcessInput::width(data), true);
    const bayeskernel::RowSource& rows = kept.source();
    Rcpp::NumericVector chunk, row, group;
    for (Index s = 0; s <= rows.shards(); ++s) {
      const Index begin = rows.shard_begin(s);
      const bool end = s == rows.shards();
      const bayeskernel::TileSpan span =
          rows.chunk_span(end ? begin - 1 : begin);
      chunk.push_back(static_cast<double>(begin));
      row.push_back(static_cast<double>(end ? rows.rows() : span.row_begin));
      group.push_back(
          static_cast<double>(end ? rows.groups() : span.group_begin));
    }
    Rcpp::RObject order = R_NilValue;
    if (rows.groups() > 0) {
      Rcpp::IntegerVector by_group(input.order.size());
      for (std::size_t i = 0; i < input.order.size(); ++i) {
        by_group[i] = static_cast<int>(input.order[i]) + 1;
      }
      order = by_group;
    }
    return r_list({{"chunk", chunk},
                   {"row", row},
                   {"group", group},
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
