// A cluster worker's share of the rows: it keeps them, and their messages; sums
// travel.
#include <optional>

#include "glue_gpsvm.h"
#include "glue_gpsvm_sites.h"

namespace {

using bayeskernel::Second;
using bayeskernel::SitePass;
using bayeskernel::SiteRows;
using bayeskernel::SiteStep;
using bayeskernel::Sums;

class Worker {
 public:
  // `first`: of these rows among all. `powers`: of each machine, where these
  // differ.
  Worker(const Rcpp::List& data, const Rcpp::List& kernel,
         const Rcpp::NumericMatrix& inducing, double nugget, int threads,
         double first, const Rcpp::List& powers)
      : input_(data, kernel, inducing, nugget, 1, threads),
        first_(static_cast<Index>(first)),
        powers_(powers),
        pass_(input_.rows, input_.executor),
        q_(input_.features.columns(), 0, 0),
        unused_(0, 0, 0) {
    at_.q = &q_;
  }

  // Sums of the shards of a task.
  Rcpp::List run(const Rcpp::List& task, const Rcpp::IntegerVector& begin) {
    const std::string step = Rcpp::as<std::string>(task["step"]);
    set_labels(Rcpp::as<int>(task["machine"]), Rcpp::as<int>(task["label"]));
    if (step == "rows") return Rcpp::List::create(left_out());
    if (task.containsElementNamed("mean")) {
      q_.mean.x = map_vector(task["mean"]);
      q_.set_whitener(map_matrix(task["whitener"]));
    }
    Rcpp::List out(begin.size() - 1);
    const bool messages = step != "start" && step != "mean field";
    if (messages) open_sites(step, Rcpp::as<double>(task["damping"]));
    for (R_xlen_t s = 0; s + 1 < begin.size(); ++s) {
      out[s] = messages ? sites(step, begin[s], begin[s + 1])
                        : mean_field(step == "start",
                                     Rcpp::as<bool>(task["newton"]), begin[s],
                                     begin[s + 1]);
    }
    return out;
  }

 private:
  void set_labels(int machine, int label) {
    input_.base->set_positive(label);
    if (powers_.size() > 0) {
      input_.base->set_weights(map_vector(powers_[machine]));
    }
  }

  Rcpp::List mean_field(bool start, bool with_newton, Index begin, Index end) {
    const bayeskernel::StartRule first;
    const bayeskernel::MeanFieldRule later;
    Sums sums;
    pass_.run_shard(begin, end, start ? bayeskernel::Moments() : at_,
                    start ? static_cast<const bayeskernel::Rule&>(first)
                          : later,
                    with_newton ? Second::step : Second::none, sums, unused_);
    return sums_list(sums);
  }

  void open_sites(const std::string& step, double damping) {
    if (step == "cold" || !site_pass_) {
      sites_ = SiteRows(input_.rows.rows());
      site_pass_.emplace(input_.rows, input_.executor,
                         bayeskernel::Family::hinge, sites_);
      site_pass_->rule.origin = first_;
    }
    site_pass_->rule.damping = damping;
  }

  Rcpp::List sites(const std::string& step, Index begin, Index end) {
    Sums sums;
    site_pass_->run_shard(step == "cold"   ? SiteStep::cold
                          : step == "warm" ? SiteStep::warm
                                           : SiteStep::update,
                          begin, end, at_, sums, unused_);
    Rcpp::List out = sums_list(sums);
    out["total"] = total_of(site_pass_->rule.shard(begin, end));
    return out;
  }

  Rcpp::List left_out() const {
    if (!site_pass_) throw bayeskernel::ArgumentError("there are no messages");
    return left_out_list(
        bayeskernel::leave_one_out(input_.rows, site_pass_->rule, sites_),
        bayeskernel::left_out_moments(input_.rows, sites_), sites_);
  }

  static Rcpp::List sums_list(const Sums& sums) {
    return Rcpp::List::create(
        Rcpp::Named("curvature") = to_r(sums.curvature.gram),
        Rcpp::Named("newton") = to_r(sums.newton.gram),
        Rcpp::Named("gradient") = to_r(sums.linear.x),
        Rcpp::Named("bound") = sums.bound,
        Rcpp::Named("margin") = sums.margin);
  }

  FeatureData input_;
  Index first_;
  Rcpp::List powers_;
  bayeskernel::Pass pass_;
  bayeskernel::GaussianPosterior q_;
  bayeskernel::Moments at_;
  SiteRows sites_;
  std::optional<SitePass> site_pass_;
  Sums unused_;
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

// `first`: the rows before these. `powers`: of each machine, or empty.
// [[Rcpp::export(rng = false)]]
SEXP gpsvm_worker_cpp(const Rcpp::List& data, const Rcpp::List& kernel,
                      const Rcpp::NumericMatrix& inducing, double nugget,
                      int threads, double first, const Rcpp::List& powers) {
  return guarded([&] {
    const Rcpp::XPtr<Worker> out(
        new Worker(data, kernel, inducing, nugget, threads, first, powers));
    return Rcpp::RObject(static_cast<SEXP>(out));
  });
}

// Sums of the worker's shards, which begin at the chunks `begin` (from 0; the
// last is their number). `task`: what step of which machine, its positive
// label, and q(v) as `mean` and `whitener` but for the steps "start" and "cold"
// without. The step "rows" asks for what there is of each row in the end.
// [[Rcpp::export(rng = false)]]
Rcpp::List gpsvm_worker_pass_cpp(SEXP worker, const Rcpp::List& task,
                                 const Rcpp::IntegerVector& begin) {
  return guarded([&] {
    Rcpp::XPtr<Worker> at(worker);
    return at->run(task, begin);
  });
}
