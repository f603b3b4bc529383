#include "linear/epochs.hpp"

#include "error.hpp"

namespace bayeskernel {
Epochs run_epochs(const RowSource& rows, const Prior& prior, Executor& executor,
                  const StochasticSettings& settings,
                  const StochasticFit::RowMap& map, const RowModel& model,
                  bool tolerant, const KeepGoing& keep_going,
                  const RemoteMinibatches* remote,
                  const StochasticFit::Visit& visit) {
  Epochs out;
  if (settings.epochs == 0) return out;
  StochasticFit fit(rows, prior, executor, settings, map, model, remote);
  bool ran = false;
  try {
    out.interrupted = !fit.run(keep_going, visit);
    ran = true;
    out.start = fit.state();
  } catch (const NumericError&) {
    if (!ran && !tolerant) throw;
  }
  out.steps = fit.steps();
  out.settled = fit.settled();
  out.bound = fit.bound();
  out.mean = fit.posterior().mean.x;
  out.whitener = fit.posterior().whitener();
  return out;
}

MeanFieldResult run_passes(MeanFieldFit& fit, const Epochs& epochs,
                           MeanFieldSettings settings,
                           const KeepGoing& keep_going) {
  if (epochs.interrupted) settings.max_passes = 1;
  MeanFieldResult out = fit.run(
      settings,
      epochs.interrupted ? [](const Progress&) { return true; } : keep_going,
      epochs.start ? &*epochs.start : nullptr);
  out.interrupted = out.interrupted || epochs.interrupted;
  return out;
}
}  // namespace bayeskernel
