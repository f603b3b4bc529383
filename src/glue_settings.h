// Settings of engines as R's lists name them, and how a run went as R reads it.
#pragma once

#include <chrono>

#include "glue_common.h"
#include "mcmc/runner.hpp"
#include "optim/ascent.hpp"

namespace bayeskernel {
inline double seconds_since(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start)
      .count();
}

inline MeanFieldSettings read_mean_field_settings(const Rcpp::List& settings) {
  MeanFieldSettings out;
  out.tolerance = read<double>(settings, "tol");
  out.max_passes = read<int>(settings, "max_iter");
  out.accelerate = read<bool>(settings, "accelerate");
  return out;
}

inline Rcpp::List pass_status(const MeanFieldResult& result) {
  return r_list({{"bound", result.bound},
                 {"passes", result.passes},
                 {"rejected", result.rejected},
                 {"converged", result.converged},
                 {"interrupted", result.interrupted},
                 {"largest_fall", result.largest_fall}});
}

inline ChainPlan read_plan(const Rcpp::List& settings) {
  ChainPlan out;
  out.warmup = read<Index>(settings, "warmup");
  out.draws = read<Index>(settings, "draws");
  out.thin = read<Index>(settings, "thin");
  return out;
}

inline Rcpp::List chain_status(const ChainStatus& status,
                               std::chrono::steady_clock::time_point began) {
  return r_list({{"sweeps", static_cast<double>(status.sweeps)},
                 {"kept", static_cast<double>(status.kept)},
                 {"interrupted", status.interrupted},
                 {"failure", status.failure},
                 {"seconds", seconds_since(began)}});
}
}  // namespace bayeskernel
