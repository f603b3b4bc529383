#include "glue_gpsvm.h"
#include "gp/inducing.hpp"
#include "rows/sample_rows.hpp"

using namespace bayeskernel;

namespace {
// What evaluations share. R's data are held so that they stay.
struct Tuner {
  Tuner(const Rcpp::List& data, Index width, bool exact,
        const std::vector<int>& classes, int threads)
      : data(data),
        input(data),
        executor(feature_threads(input.reader->rows(), width, threads)),
        base(input.stream(classes[0], executor.threads(), width)),
        problem(*base, classes, exact, executor) {}

  Rcpp::List data;
  GpsvmRows input;
  RcppParallelExecutor executor;
  std::unique_ptr<StreamedRows> base;
  TuneProblem problem;
};

TunePoint tune_point(const Rcpp::List& kernel,
                     const Rcpp::NumericVector& log_parameters, double nugget,
                     const Rcpp::NumericMatrix& inducing) {
  TunePoint out{read_kernel(kernel), nugget, map_matrix(inducing)};
  if (log_parameters.size() > 0) {
    out.kernel.set_log_parameters(map_vector(log_parameters));
  }
  return out;
}

// What ask(problem, whether to go on) answers, and whether it was interrupted.
template <class Ask>
Rcpp::List ask_tuner(SEXP tuner, Ask&& ask) {
  Rcpp::XPtr<Tuner> at(tuner);
  UserCallback user(false);
  Rcpp::List out;
  const bool whole =
      finished([&] { out = ask(at->problem, user.keep_going()); });
  out["interrupted"] = !whole;
  return out;
}
}  // namespace

// Rows of a sample: x (columns of the model x rows), labels, numbers from 1.
// [[Rcpp::export(rng = false)]]
Rcpp::List gpsvm_sample_cpp(const Rcpp::List& data, double size, double seed) {
  return guarded([&] {
    GpsvmRows input(data);
    const RowSample sample =
        sample_rows(*input.reader, input.columns, static_cast<Index>(size),
                    static_cast<std::uint64_t>(seed));
    return r_list({{"x", sample.x},
                   {"labels", sample.labels},
                   {"row", VectorXd(sample.number.array() + 1.0)}});
  });
}

// The rows, from 1, that gpsvm_sample_cpp() has of so many.
// [[Rcpp::export(rng = false)]]
Rcpp::List sample_numbers_cpp(double rows, double size, double seed) {
  return guarded([&] {
    const std::vector<Index> from =
        sample_numbers(static_cast<Index>(rows), static_cast<Index>(size),
                       static_cast<std::uint64_t>(seed));
    VectorXd numbers(count_of(from));
    std::copy(from.begin(), from.end(), numbers.data());
    return r_list({{"row", VectorXd(numbers.array() + 1.0)}});
  });
}

// x, rows of the data in its columns.
// [[Rcpp::export(rng = false)]]
Rcpp::List gpsvm_inducing_cpp(const Rcpp::NumericMatrix& x, int count,
                              const std::string& method, double seed,
                              int threads) {
  return guarded([&] {
    InducingSettings settings;
    settings.count = count;
    settings.method =
        method == "random" ? InducingMethod::random : InducingMethod::kmeans;
    settings.seed = static_cast<std::uint64_t>(seed);
    RcppParallelExecutor executor(feature_threads(x.ncol(), count, threads));
    executor.ask();
    return r_list({{"z", inducing_points(map_matrix(x), settings, executor)}});
  });
}

// [[Rcpp::export(rng = false)]]
double median_distance_cpp(const Rcpp::NumericMatrix& x) {
  return median_distance(map_matrix(x));
}

// `width`: number of inducing points, of rows when `exact`.
// [[Rcpp::export(rng = false)]]
SEXP gpsvm_tuner_cpp(const Rcpp::List& data, int width, bool exact,
                     const Rcpp::IntegerVector& classes, int threads) {
  return guarded([&] {
    const Rcpp::XPtr<Tuner> out(new Tuner(
        data, width, exact, Rcpp::as<std::vector<int>>(classes), threads));
    return Rcpp::RObject(static_cast<SEXP>(out));
  });
}

// Bound and gradient in the log parameters, the nugget and the inducing points.
// [[Rcpp::export(rng = false)]]
Rcpp::List gpsvm_bound_cpp(SEXP tuner, const Rcpp::List& kernel,
                           const Rcpp::NumericVector& log_parameters,
                           double nugget, const Rcpp::NumericMatrix& inducing,
                           bool locations, const Rcpp::List& settings) {
  return guarded([&] {
    return ask_tuner(
        tuner, [&](TuneProblem& problem, const KeepGoing& keep_going) {
          const TuneValue value = problem.evaluate(
              tune_point(kernel, log_parameters, nugget, inducing), locations,
              read_mean_field_settings(settings), keep_going);
          return r_list({{"bound", value.bound},
                         {"kernel", value.gradient.kernel},
                         {"nugget", value.gradient.nugget},
                         {"locations", value.gradient.locations},
                         {"passes", value.passes}});
        });
  });
}

// Log parameters with projections along the slopes of a fit without them, and
// its bound.
// [[Rcpp::export(rng = false)]]
Rcpp::List gpsvm_point_cpp(SEXP tuner, const Rcpp::List& kernel,
                           const Rcpp::NumericVector& log_parameters,
                           double nugget, const Rcpp::NumericMatrix& inducing,
                           const Rcpp::List& settings) {
  return guarded([&] {
    return ask_tuner(tuner,
                     [&](TuneProblem& problem, const KeepGoing& keep_going) {
                       const TuneStart found = problem.point_projections(
                           tune_point(kernel, log_parameters, nugget, inducing),
                           read_mean_field_settings(settings), keep_going);
                       return r_list({{"kernel", found.kernel.log_parameters()},
                                      {"bound", found.bound}});
                     });
  });
}

// log p(y_i | other rows) by expectation propagation, and the moments of f
// given these and given all: rows x machines.
// [[Rcpp::export(rng = false)]]
Rcpp::List gpsvm_left_out_cpp(SEXP tuner, const Rcpp::List& kernel,
                              const Rcpp::NumericVector& log_parameters,
                              double nugget,
                              const Rcpp::NumericMatrix& inducing,
                              double tolerance, int max_passes) {
  return guarded([&] {
    return ask_tuner(tuner,
                     [&](TuneProblem& problem, const KeepGoing& keep_going) {
                       const LeftOut found = problem.leave_one_out(
                           tune_point(kernel, log_parameters, nugget, inducing),
                           {tolerance, max_passes}, keep_going);
                       return r_list({{"log_p", found.log_p},
                                      {"mean", found.mean},
                                      {"var", found.variance},
                                      {"all_mean", found.all_mean},
                                      {"all_var", found.all_variance},
                                      {"passes", found.passes},
                                      {"converged", found.converged}});
                     });
  });
}

// The messages that the next gpsvm_left_out_cpp() starts from.
// [[Rcpp::export(rng = false)]]
Rcpp::List gpsvm_messages_cpp(SEXP tuner) {
  return guarded([&] {
    Rcpp::XPtr<Tuner> at(tuner);
    const auto& messages = at->problem.messages();
    if (messages.kappa.size() == 0) return Rcpp::List();
    return r_list({{"kappa", messages.kappa}, {"b", messages.b}});
  });
}

// Does nothing without messages.
// [[Rcpp::export(rng = false)]]
Rcpp::List gpsvm_start_cpp(SEXP tuner, const Rcpp::List& messages) {
  return guarded([&] {
    if (messages.size() > 0) {
      Rcpp::XPtr<Tuner> at(tuner);
      at->problem.start_from(
          {map_matrix(messages["kappa"]), map_matrix(messages["b"])});
    }
    return Rcpp::List();
  });
}
