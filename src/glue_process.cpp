#include "glue_bsvm.h"
#include "glue_kernel.h"
#include "gp/terms.hpp"

using namespace bayeskernel;

namespace {
// A term is list(first, x, z, by, centre_weight, kernel, free): its first
// column among those of the model, counted from 0; rows (n x d) and inducing
// points (m x d); numbers by row, or none; the learned parameters of the
// kernel, counted from 1. Rows go into the order of the core.
std::vector<ProcessTerm> read_processes(SEXP from,
                                        const std::vector<Index>& order) {
  std::vector<ProcessTerm> out;
  if (Rf_isNull(from)) return out;
  const Rcpp::List list(from);
  const Index n = count_of(order);
  const auto numbers = [&](SEXP values) {
    const auto given = map_vector(values);
    return given.size() == 0 ? VectorXd() : by_position(given, order);
  };
  for (const Rcpp::List one : list) {
    const auto x = map_matrix(one["x"]);
    const auto z = map_matrix(one["z"]);
    if (x.rows() != n || x.cols() != z.cols()) {
      throw ArgumentError("a process of other rows or columns");
    }
    ProcessTerm term{read_kernel(one["kernel"]),
                     z.transpose(),
                     MatrixXd(x.cols(), n),
                     numbers(one["by"]),
                     numbers(one["centre_weight"]),
                     read<int>(one, "first"),
                     {}};
    for (Index i = 0; i < n; ++i) term.x.col(i) = x.row(order[i]).transpose();
    const Rcpp::IntegerVector free = one["free"];
    for (const int k : free) {
      if (k < 1 || k > term.kernel.parameters()) {
        throw ArgumentError("a kernel has no such parameter");
      }
      term.free.push_back(k - 1);
    }
    out.push_back(std::move(term));
  }
  return out;
}
}  // namespace

// Features of a process for rows x (n x d), inducing points z (m x d): `x`, n x
// m, and `open`, what they leave of the variance 1.
// [[Rcpp::export(rng = false)]]
Rcpp::List process_features_cpp(const Rcpp::List& kernel,
                                const Rcpp::NumericMatrix& z,
                                const Rcpp::NumericMatrix& x, int threads) {
  return guarded([&] {
    if (x.ncol() != z.ncol() || z.nrow() < 1) {
      throw ArgumentError("rows and inducing points differ");
    }
    const Features features(read_kernel(kernel), map_matrix(z).transpose(),
                            0.0);
    RcppParallelExecutor executor(x.nrow() < 2000 ? 1 : threads);
    executor.ask();
    MatrixXd phi;
    VectorXd open;
    process_features(features, map_matrix(x).transpose(), executor, phi, open);
    return r_list({{"x", MatrixXd(phi.transpose())}, {"open", open}});
  });
}

// The same into columns of `design` (n x p), the first of them `first` (from
// 0), which were made to be written: multiples `by` (n numbers, or none) of
// features less their means with `weight` (n numbers that sum to 1; none: not
// centred). Gives these means as `centre`; as `open` what the features leave,
// times the squared multiples; and the mean of what they leave as `left`.
// [[Rcpp::export(rng = false)]]
Rcpp::List process_fill_cpp(const Rcpp::List& kernel,
                            const Rcpp::NumericMatrix& z,
                            const Rcpp::NumericMatrix& x,
                            const Rcpp::NumericVector& by,
                            const Rcpp::NumericVector& weight,
                            Rcpp::NumericMatrix design, int first,
                            int threads) {
  return guarded([&] {
    const Index n = x.nrow(), m = z.nrow();
    if (x.ncol() != z.ncol() || m < 1 || design.nrow() != n || first < 0 ||
        first + m > design.ncol() || (by.size() != 0 && by.size() != n) ||
        (weight.size() != 0 && weight.size() != n)) {
      throw ArgumentError("a process of other rows or columns");
    }
    const Features features(read_kernel(kernel), map_matrix(z).transpose(),
                            0.0);
    RcppParallelExecutor executor(n < 2000 ? 1 : threads);
    executor.ask();
    VectorXd open;
    const VectorXd centre = process_columns(
        features, map_matrix(x), map_vector(by), map_vector(weight), executor,
        Eigen::Map<MatrixXd>(design.begin() + first * n, n, m), open);
    const double left = open.mean();
    if (by.size() > 0) open.array() *= map_vector(by).array().square();
    return r_list({{"centre", centre}, {"open", open}, {"left", left}});
  });
}

// Log parameters of every kernel where the bound of the mean field is largest.
// [[Rcpp::export(rng = false)]]
Rcpp::List process_learn_cpp(const Rcpp::List& data, const Rcpp::List& prior,
                             const Rcpp::List& settings) {
  return guarded([&] {
    const LinearInput in(data, prior, settings);
    PackedRows rows = pack_rows(in.data);
    rows.finish(in.data.group_begin, in.units.unit);
    RcppParallelExecutor executor(
        useful_threads(rows, read<int>(settings, "threads")));
    ProcessTerms terms(read_processes(data["processes"], in.data.order),
                       executor);
    UserCallback user(read<bool>(settings, "progress"));
    ProcessLearning learning(rows, in.prior, in.model, terms, executor);
    const ProcessLearning::Result result = learning.run(
        read_mean_field_settings(settings), read<int>(settings, "most"),
        read<std::vector<double>>(settings, "factors"), user.keep_going());
    Rcpp::List found(terms.size());
    for (Index c = 0; c < terms.size(); ++c) {
      found[c] = to_r(terms.term(c).kernel.log_parameters());
    }
    return r_list({{"log_parameters", found},
                   {"bound", result.bound},
                   {"slope", result.slope},
                   {"evaluations", result.evaluations},
                   {"passes", result.passes},
                   {"converged", result.converged},
                   {"interrupted", result.interrupted}});
  });
}
