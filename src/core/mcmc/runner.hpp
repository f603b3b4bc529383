// Runs chains in rounds of about a tenth of a second. Between rounds every
// chain has done the same number of sweeps and the caller is asked whether to
// go on. Streams are keyed by sweep, so the length of a round changes nothing.
#pragma once

#include <chrono>
#include <string>

#include "eigen.hpp"
#include "error.hpp"
#include "optim/progress.hpp"
#include "parallel/executor.hpp"

namespace bayeskernel {
struct ChainPlan {
  Index warmup = 1000;
  Index draws = 1000;  // kept, per chain
  Index thin = 1;

  Index sweeps() const { return warmup + draws * thin; }
};

struct ChainStatus {
  Index sweeps = 0;  // done by every chain
  Index kept = 0;    // draws recorded by every chain
  bool interrupted = false;
  std::string failure;  // what a chain failed on, empty if none did
};

// `chains[c]->sweep()` advances chain c; `chains[c]->sweeps()` counts them.
// After sweep warmup + (k + 1) thin, `record(c, k)` is called. Chains may have
// done sweeps already (a resumed run).
template <class Chain, class Record>
ChainStatus run_chains(std::vector<Chain*>& chains, const ChainPlan& plan,
                       Executor& executor, const KeepGoing& keep_going,
                       Record&& record) {
  using Clock = std::chrono::steady_clock;
  ChainStatus status;
  const Index n_chains = count_of(chains);
  status.sweeps = n_chains > 0 ? chains[0]->sweeps() : 0;
  // What is shown is this run's share, from which the time left follows.
  const Index begun = status.sweeps;
  std::vector<std::string> failure(chains.size());
  std::vector<Index> reached(chains.size(), status.sweeps);
  Index round = 1;
  while (status.sweeps < plan.sweeps() && status.failure.empty()) {
    const Index target = std::min(plan.sweeps(), status.sweeps + round);
    const auto before = Clock::now();
    executor.run(n_chains, [&](Index c) {
      try {
        while (chains[c]->sweeps() < target) {
          chains[c]->sweep();
          reached[c] = chains[c]->sweeps();
          const Index after = reached[c] - plan.warmup;
          if (after > 0 && after % plan.thin == 0) {
            record(c, after / plan.thin - 1);
          }
        }
      } catch (const Error& error) {
        failure[c] = error.what();
      }
    });
    status.sweeps = *std::min_element(reached.begin(), reached.end());
    for (const std::string& message : failure) {
      if (!message.empty()) status.failure = message;
    }
    const double seconds =
        std::chrono::duration<double>(Clock::now() - before).count();
    if (seconds < 0.05) {
      round *= 2;
    } else if (seconds > 0.2) {
      round = std::max<Index>(1, round / 2);
    }
    const char* phase = status.sweeps < plan.warmup ? "warmup" : "sampling";
    if (!keep_going({static_cast<double>(status.sweeps - begun),
                     static_cast<double>(plan.sweeps() - begun), phase})) {
      status.interrupted = status.sweeps < plan.sweeps();
      break;
    }
  }
  status.kept = std::max<Index>(0, (status.sweeps - plan.warmup) / plan.thin);
  return status;
}
}  // namespace bayeskernel
