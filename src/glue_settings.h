// Settings of engines as R's lists name them, and how a run went as R reads it.
#ifndef BAYESKERNEL_GLUE_SETTINGS_H
#define BAYESKERNEL_GLUE_SETTINGS_H

#include <chrono>

#include "mcmc/runner.hpp"
#include "optim/ascent.hpp"

#include "glue_common.h"

inline double seconds_since(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start)
      .count();
}

inline bayeskernel::MeanFieldSettings read_mean_field_settings(
    const Rcpp::List& settings) {
  bayeskernel::MeanFieldSettings out;
  out.tolerance = Rcpp::as<double>(settings["tol"]);
  out.max_passes = Rcpp::as<int>(settings["max_iter"]);
  out.accelerate = Rcpp::as<bool>(settings["accelerate"]);
  return out;
}

inline Rcpp::List pass_status(const bayeskernel::MeanFieldResult& result) {
  return Rcpp::List::create(Rcpp::Named("bound") = result.bound,
                            Rcpp::Named("passes") = result.passes,
                            Rcpp::Named("rejected") = result.rejected,
                            Rcpp::Named("converged") = result.converged,
                            Rcpp::Named("interrupted") = result.interrupted,
                            Rcpp::Named("largest_fall") = result.largest_fall);
}

inline bayeskernel::ChainPlan read_plan(const Rcpp::List& settings) {
  bayeskernel::ChainPlan out;
  out.warmup = static_cast<Eigen::Index>(Rcpp::as<double>(settings["warmup"]));
  out.draws = static_cast<Eigen::Index>(Rcpp::as<double>(settings["draws"]));
  out.thin = static_cast<Eigen::Index>(Rcpp::as<double>(settings["thin"]));
  return out;
}

inline Rcpp::List chain_status(const bayeskernel::ChainStatus& status,
                               std::chrono::steady_clock::time_point began) {
  return Rcpp::List::create(
      Rcpp::Named("sweeps") = static_cast<double>(status.sweeps),
      Rcpp::Named("kept") = static_cast<double>(status.kept),
      Rcpp::Named("interrupted") = status.interrupted,
      Rcpp::Named("failure") = status.failure,
      Rcpp::Named("seconds") = seconds_since(began));
}

#endif
