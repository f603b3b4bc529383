// Stochastic epochs, then full passes from where they end.
#pragma once

#include "linear/mean_field.hpp"
#include "linear/stochastic.hpp"

namespace bayeskernel {
// How stochastic epochs went.
struct Epochs {
  std::optional<MeanFieldStart> start;  // where they ended
  VectorXd mean;                        // of theta, and its whitener
  MatrixXd whitener;
  std::vector<double> bound;
  Index steps = 0;
  bool interrupted = false, settled = false;
};

// None where settings.epochs is 0. `tolerant`: a step that fails is no error.
// `remote`: who has the rows; null: they are here.
// Without a start full passes find their own.
Epochs run_epochs(const RowSource& rows, const Prior& prior, Executor& executor,
                  const StochasticSettings& settings,
                  const StochasticFit::RowMap& map, const RowModel& model,
                  bool tolerant, const KeepGoing& keep_going,
                  const RemoteMinibatches* remote,
                  const StochasticFit::Visit& visit = nullptr);

// Full passes; after an interrupt of the epochs a single one, for what there is
// of each row.
MeanFieldResult run_passes(MeanFieldFit& fit, const Epochs& epochs,
                           MeanFieldSettings settings,
                           const KeepGoing& keep_going);
}  // namespace bayeskernel
