// Runs chains in rounds of about a tenth of a second. Between rounds every
// chain has done the same number of sweeps and the caller is asked whether to
// go on. Streams are keyed by sweep, so the length of a round changes nothing.
#ifndef BAYESKERNEL_MCMC_RUNNER_HPP
#define BAYESKERNEL_MCMC_RUNNER_HPP

#include <Eigen/Core>
#include <algorithm>
#include <chrono>
#include <string>
#include <vector>

#include "error.hpp"
#include "optim/progress.hpp"
#include "parallel/executor.hpp"

namespace bayeskernel {

struct ChainPlan {
  Eigen::Index warmup = 1000;
  Eigen::Index draws = 1000;  // kept, per chain
  Eigen::Index thin = 1;

  Eigen::Index sweeps() const { return warmup + draws * thin; }
};

struct ChainStatus {
  Eigen::Index sweeps = 0;  // done by every chain
  Eigen::Index kept = 0;    // draws recorded by every chain
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
  const Eigen::Index n_chains = static_cast<Eigen::Index>(chains.size());
  status.sweeps = n_chains > 0 ? chains[0]->sweeps() : 0;
  // What is shown is this run's share, from which the time left follows.
  const Eigen::Index begun = status.sweeps;
  std::vector<std::string> failure(chains.size());
  std::vector<Eigen::Index> reached(chains.size(), status.sweeps);
  Eigen::Index round = 1;
  while (status.sweeps < plan.sweeps() && status.failure.empty()) {
    const Eigen::Index target = std::min(plan.sweeps(), status.sweeps + round);
    const auto before = Clock::now();
    executor.run(n_chains, [&](Eigen::Index c) {
      try {
        while (chains[c]->sweeps() < target) {
          chains[c]->sweep();
          reached[c] = chains[c]->sweeps();
          const Eigen::Index after = reached[c] - plan.warmup;
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
      round = std::max<Eigen::Index>(1, round / 2);
    }
    const char* phase = status.sweeps < plan.warmup ? "warmup" : "sampling";
    if (!keep_going({static_cast<double>(status.sweeps - begun),
                     static_cast<double>(plan.sweeps() - begun), phase})) {
      status.interrupted = status.sweeps < plan.sweeps();
      break;
    }
  }
  status.kept =
      std::max<Eigen::Index>(0, (status.sweeps - plan.warmup) / plan.thin);
  return status;
}

}  // namespace bayeskernel

#endif
