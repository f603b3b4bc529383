// Stochastic epochs as R's lists say.
#ifndef BAYESKERNEL_GLUE_EPOCHS_H
#define BAYESKERNEL_GLUE_EPOCHS_H

#include "glue_common.h"
#include "linear/epochs.hpp"

// `usual`: rows of a minibatch where settings$batch_size is empty.
inline bayeskernel::StochasticSettings read_stochastic(
    const Rcpp::List& settings, Eigen::Index usual) {
  using bayeskernel::StochasticSettings;
  StochasticSettings out;
  const Rcpp::NumericVector batch = settings["batch_size"];
  out.batch_rows =
      batch.size() > 0 ? static_cast<Eigen::Index>(batch[0]) : usual;
  out.epochs = read<int>(settings, "epochs");
  out.seed = read<std::uint64_t>(settings, "seed");
  if (read_or<std::string>(settings, "rate", "") == "adaptive") {
    out.rate = StochasticSettings::Rate::adaptive;
  }
  out.tolerance = read_or(settings, "epoch_tol", out.tolerance);
  return out;
}

#endif
