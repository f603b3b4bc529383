// A cluster worker's share of the rows: it keeps them, sums travel.
#include "glue_gpsvm.h"

namespace {

using bayeskernel::Second;
using bayeskernel::Sums;

struct Worker {
  Worker(const Rcpp::List& data, const Rcpp::List& kernel,
         const Rcpp::NumericMatrix& inducing, double nugget, int threads)
      : input(data, kernel, inducing, nugget, 1, threads),
        pass(input.rows, input.executor),
        q(input.features.columns(), 0, 0),
        unused(0, 0, 0) {
    at.q = &q;
  }

  FeatureData input;
  bayeskernel::Pass pass;
  bayeskernel::GaussianPosterior q;
  bayeskernel::Moments at;
  Sums unused;
};

}  // namespace

// Rows of a chunk of m features, and the chunk (from 0) that each shard of n
// rows begins with, then their number.
// [[Rcpp::export(rng = false)]]
Rcpp::List gpsvm_shards_cpp(double n, int m) {
  using bayeskernel::RowSource;
  const Index chunk = RowSource::chunk_rows(m);
  const Index chunks = (static_cast<Index>(n) + chunk - 1) / chunk;
  const Index shards = RowSource::shards(chunks);
  Rcpp::IntegerVector begin(shards + 1);
  for (Index s = 0; s <= shards; ++s) {
    begin[s] = static_cast<int>(RowSource::shard_begin(s, chunks));
  }
  return Rcpp::List::create(
      Rcpp::Named("chunk_rows") = static_cast<double>(chunk),
      Rcpp::Named("begin") = begin);
}

// [[Rcpp::export(rng = false)]]
SEXP gpsvm_worker_cpp(const Rcpp::List& data, const Rcpp::List& kernel,
                      const Rcpp::NumericMatrix& inducing, double nugget,
                      int threads) {
  return guarded([&] {
    const Rcpp::XPtr<Worker> out(
        new Worker(data, kernel, inducing, nugget, threads));
    return Rcpp::RObject(static_cast<SEXP>(out));
  });
}

// Sums of the worker's shards, which begin at the chunks `begin` (from 0; the
// last is their number), at q(v), or at the start when `point` is empty.
// [[Rcpp::export(rng = false)]]
Rcpp::List gpsvm_worker_pass_cpp(SEXP worker, const Rcpp::List& point,
                                 bool with_newton, int label,
                                 const Rcpp::IntegerVector& begin) {
  return guarded([&] {
    Rcpp::XPtr<Worker> at(worker);
    at->input.base->set_positive(label);
    const bool start = point.size() == 0;
    if (!start) {
      at->q.mean.x = map_vector(point["mean"]);
      at->q.set_whitener(map_matrix(point["whitener"]));
    }
    Rcpp::List out(begin.size() - 1);
    Sums sums;
    const bayeskernel::StartRule first;
    const bayeskernel::MeanFieldRule later;
    const bayeskernel::Rule& rule =
        start ? static_cast<const bayeskernel::Rule&>(first) : later;
    for (R_xlen_t s = 0; s + 1 < begin.size(); ++s) {
      at->pass.run_shard(begin[s], begin[s + 1],
                         start ? bayeskernel::Moments() : at->at, rule,
                         with_newton ? Second::step : Second::none, sums,
                         at->unused);
      out[s] = Rcpp::List::create(
          Rcpp::Named("curvature") = to_r(sums.curvature.gram),
          Rcpp::Named("newton") = to_r(sums.newton.gram),
          Rcpp::Named("gradient") = to_r(sums.linear.x),
                                  Rcpp::Named("bound") = sums.bound,
                                  Rcpp::Named("margin") = sums.margin);
    }
    return out;
  });
}
