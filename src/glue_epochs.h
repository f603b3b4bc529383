// Stochastic epochs as R's lists say.
#pragma once

#include "glue_common.h"
#include "linear/epochs.hpp"

namespace bayeskernel {
// `usual`: rows of a minibatch where settings$batch_size is empty.
inline StochasticSettings read_stochastic(const Rcpp::List& settings,
                                          Index usual) {
  StochasticSettings out;
  const Rcpp::NumericVector batch = settings["batch_size"];
  out.batch_rows = batch.size() > 0 ? static_cast<Index>(batch[0]) : usual;
  out.epochs = read<int>(settings, "epochs");
  out.seed = read<std::uint64_t>(settings, "seed");
  if (read_or<std::string>(settings, "rate", "") == "adaptive") {
    out.rate = StochasticSettings::Rate::adaptive;
  }
  out.tolerance = read_or(settings, "epoch_tol", out.tolerance);
  return out;
}
}  // namespace bayeskernel
