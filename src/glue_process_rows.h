// Rows with columns of processes, which the core computes tile by tile.
#pragma once

#include <numeric>

#include "glue_bsvm.h"
#include "glue_kernel.h"
#include "gp/process_rows.hpp"

namespace bayeskernel {
// `data` of R with `processes`, a list of list(kernel, z, columns, by, first,
// centred): inducing points (m x d); the columns of the rows, from 1, that hold
// the variables and the multiple (0: none); the first of its columns among
// those of the model, from 0. `variables` columns of the rows, after the first
// `plain`, are of processes alone; the others are columns of the model. Without
// `processes` the rows stay as they are.
class ProcessInput {
 public:
  // Columns of the model, 0 without processes.
  static Index width(const Rcpp::List& data) {
    const SEXP from = element(data, "processes");
    if (Rf_isNull(from)) return 0;
    Index out = read<int>(data, "plain");
    for (const Rcpp::List term : Rcpp::List(from)) {
      out += map_matrix(term["z"]).rows();
    }
    return out;
  }

  ProcessInput(const Rcpp::List& data, const RowSource& base,
               Executor& executor, const Prior& prior)
      : base_(base) {
    const SEXP from = element(data, "processes");
    if (Rf_isNull(from)) return;
    const Index before = read<int>(data, "plain");
    const Index variables = read<int>(data, "variables_count");
    std::vector<Index> plain(
        static_cast<std::size_t>(base.x_columns() - variables));
    std::iota(plain.begin(), plain.end(), Index{0});
    for (Index& k : plain) k += k < before ? 0 : variables;
    std::vector<ProcessRows::Term> terms;
    for (const Rcpp::List one : Rcpp::List(from)) {
      terms.emplace_back(read_kernel(one["kernel"]),
                         map_matrix(one["z"]).transpose());
      ProcessRows::Term& term = terms.back();
      const Rcpp::IntegerVector columns = one["columns"];
      for (const int k : columns) term.variables.push_back(k - 1);
      term.by = read<int>(one, "by") - 1;
      term.first = read<int>(one, "first");
      term.centred = read<bool>(one, "centred");
    }
    rows_ = std::make_unique<ProcessRows>(base, std::move(plain),
                                          std::move(terms), executor);
    open_ = std::make_unique<ConditionalVariance>(
        rows_->residual(), rows_->rows(), prior, rows_->take_relative());
  }

  const RowSource& rows() const {
    return rows_ ? static_cast<const RowSource&>(*rows_) : base_;
  }
  // Null without processes.
  ConditionalVariance* open() const { return open_.get(); }

  // Of these rows, or, where they are part of more, of all: what R has of
  // these.
  std::vector<VectorXd> centres() const {
    std::vector<VectorXd> out;
    if (!rows_) return out;
    for (const ProcessRows::Term& term : rows_->terms()) {
      out.push_back(term.centre);
    }
    return out;
  }
  void set_centres(const Rcpp::List& centres) {
    for (R_xlen_t k = 0; rows_ && k < centres.size(); ++k) {
      rows_->set_centre(static_cast<std::size_t>(k), map_vector(centres[k]));
    }
  }

  // What R keeps of each term: the centre of its columns, and what its inducing
  // points leave of the variance 1 on average.
  Rcpp::RObject answer() const {
    if (!rows_) return R_NilValue;
    Rcpp::List out;
    for (const ProcessRows::Term& term : rows_->terms()) {
      out.push_back(r_list({{"centre", term.centre}, {"left", term.left}}));
    }
    return out;
  }

 private:
  const RowSource& base_;
  std::unique_ptr<ProcessRows> rows_;
  std::unique_ptr<ConditionalVariance> open_;
};

// The rows of an export in memory as its model has them: with what processes
// and residuals of a learned variance (`data$open`) make of them.
class FitRows {
 public:
  // `fixed`: nothing changes the columns; `remote`: others read the rows.
  FitRows(LinearInput& in, const Rcpp::List& data, const Rcpp::List& settings,
          bool fixed, bool remote)
      : kept(in.data, fixed, in.units.unit, in.prior,
             fixed && Rf_isNull(element(data, "open")),
             ProcessInput::width(data), remote),
        executor(useful_threads(kept.source(), read<int>(settings, "threads"))),
        processes(data, kept.source(), executor, in.prior),
        residuals_(read_open(element(data, "open"), in.data.order,
                             kept.residual(), in.prior)) {}

  const RowSource& rows() const { return processes.rows(); }
  // Null where all residuals are known.
  ConditionalVariance* open() const {
    return residuals_ ? residuals_.get() : processes.open();
  }

  ModelRows kept;
  RcppParallelExecutor executor;
  const ProcessInput processes;

 private:
  std::unique_ptr<ConditionalVariance> residuals_;
};
}  // namespace bayeskernel
