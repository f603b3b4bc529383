#include "mcmc/runner.hpp"
#include "linear/gibbs.hpp"
#include <chrono>
#include <thread>

#include "check.hpp"
#include "hinge_problem.hpp"

using bayeskernel::ChainPlan;
using bayeskernel::ChainStatus;
using bayeskernel::GibbsChain;
using bayeskernel::Progress;
using bayeskernel::SerialExecutor;

// A chain whose state is a function of the sweep; it may be slow, or fail.
struct Walk {
  Index done = 0;
  int milliseconds = 0;
  Index fails_at = -1;
  double value = 0.0;
  Index sweeps() const { return done; }
  void sweep() {
    if (milliseconds > 0) {
      std::this_thread::sleep_for(std::chrono::milliseconds(milliseconds));
    }
    if (done == fails_at) throw bayeskernel::NumericError("walked off");
    ++done;
    value = 0.5 * value + std::sin(static_cast<double>(done));
  }
};

struct Recording {
  explicit Recording(Index chains, const ChainPlan& plan)
      : draws(MatrixXd::Constant(plan.draws, chains, std::nan(""))),
        times(MatrixXd::Zero(plan.draws, chains)) {}
  MatrixXd draws, times;
};

template <class KeepGoing>
static ChainStatus run_walks(std::vector<Walk>& walks, const ChainPlan& plan,
                             Recording& out, KeepGoing&& keep_going) {
  std::vector<Walk*> chains;
  for (Walk& walk : walks) chains.push_back(&walk);
  SerialExecutor serial;
  return bayeskernel::run_chains(chains, plan, serial, keep_going,
                                 [&](Index c, Index k) {
                                   out.draws(k, c) = chains[c]->value;
                                   out.times(k, c) += 1.0;
                                 });
}

static const auto always = [](const Progress&) { return true; };

TEST("every kept draw is recorded once, at its sweep") {
  const ChainPlan plan{7, 40, 3};
  std::vector<Walk> walks(2);
  Recording out(2, plan);
  const ChainStatus status = run_walks(walks, plan, out, always);
  CHECK(status.sweeps == 127 && status.kept == 40 && !status.interrupted);
  CHECK(out.times == MatrixXd::Ones(40, 2));
  Walk alone;
  for (Index k = 0; k < 40; ++k) {
    while (alone.done < 7 + 3 * (k + 1)) alone.sweep();
    CHECK(out.draws(k, 0) == alone.value && out.draws(k, 1) == alone.value);
  }
}

TEST("rounds of other lengths leave the same record") {
  const ChainPlan plan{5, 30, 1};
  std::vector<Walk> quick(1), slow(1);
  slow[0].milliseconds = 30;
  Recording a(1, plan), b(1, plan);
  int quick_rounds = 0, slow_rounds = 0;
  run_walks(quick, plan, a,
            [&](const Progress&) { return ++quick_rounds > 0; });
  run_walks(slow, plan, b, [&](const Progress&) { return ++slow_rounds > 0; });
  CHECK(slow_rounds > quick_rounds);
  CHECK(a.draws == b.draws);
}

TEST("the caller is asked within about a fifth of a second") {
  const ChainPlan plan{0, 40, 1};
  std::vector<Walk> walks(1);
  walks[0].milliseconds = 20;
  Recording out(1, plan);
  auto last = std::chrono::steady_clock::now();
  double longest = 0.0;
  run_walks(walks, plan, out, [&](const Progress&) {
    const auto now = std::chrono::steady_clock::now();
    longest =
        std::max(longest, std::chrono::duration<double>(now - last).count());
    last = now;
    return true;
  });
  CHECK(longest < 1.0);
}

TEST("stopped after any round and continued, the record is the same") {
  const ChainPlan plan{6, 50, 2};
  std::vector<Walk> whole(2);
  Recording expected(2, plan);
  run_walks(whole, plan, expected, always);
  for (int stop = 1; stop < 8; ++stop) {
    std::vector<Walk> walks(2);
    Recording out(2, plan);
    int rounds = 0;
    const ChainStatus first = run_walks(
        walks, plan, out, [&](const Progress&) { return ++rounds < stop; });
    if (stop < 6) CHECK(first.interrupted && first.sweeps < plan.sweeps());
    for (Index k = 0; k < first.kept; ++k) {
      CHECK(out.draws.row(k) == expected.draws.row(k));
    }
    const ChainStatus second = run_walks(walks, plan, out, always);
    CHECK(second.kept == 50 && !second.interrupted);
    CHECK(out.draws == expected.draws && out.times == MatrixXd::Ones(50, 2));
  }
}

TEST("a chain that fails keeps the draws that every chain reached before") {
  const ChainPlan plan{10, 100, 1};
  std::vector<Walk> walks(3);
  walks[1].fails_at = 47;
  Recording out(3, plan);
  const ChainStatus status = run_walks(walks, plan, out, always);
  CHECK(status.failure == "walked off");
  CHECK(status.sweeps == 47 && status.kept == 37);
  CHECK(out.draws.topRows(37).allFinite());
}

TEST("a failure in the warmup leaves no draws") {
  const ChainPlan plan{10, 100, 1};
  std::vector<Walk> walks(1);
  walks[0].fails_at = 3;
  Recording out(1, plan);
  const ChainStatus status = run_walks(walks, plan, out, always);
  CHECK(!status.failure.empty() && status.kept == 0 && status.sweeps == 3);
}

TEST("chains that are done already are not advanced") {
  const ChainPlan plan{2, 5, 1};
  std::vector<Walk> walks(1);
  Recording out(1, plan);
  run_walks(walks, plan, out, always);
  const ChainStatus again = run_walks(walks, plan, out, always);
  CHECK(walks[0].done == 7 && again.kept == 5 && !again.interrupted);
}

TEST("progress counts sweeps and tells warmup from sampling") {
  const ChainPlan plan{64, 64, 1};
  std::vector<Walk> walks(1);
  Recording out(1, plan);
  double last = 0.0;
  bool rises = true, phase = true;
  run_walks(walks, plan, out, [&](const Progress& at) {
    rises = rises && at.done > last && at.total == 128.0;
    last = at.done;
    phase = phase && (std::string(at.phase) == "warmup") == (at.done < 64.0);
    return true;
  });
  CHECK(rises && phase && last == 128.0);
}

TEST("what is shown of chains that go on is the share of this run") {
  const ChainPlan plan{0, 400, 1};
  std::vector<Walk> walks(2);
  for (Walk& walk : walks) walk.done = 100;
  Recording out(2, plan);
  std::vector<Progress> seen;
  run_walks(walks, plan, out, [&](const Progress& now) {
    seen.push_back(now);
    return true;
  });
  CHECK(seen.size() > 1 && seen.front().done < 100.0);
  for (const Progress& now : seen) CHECK(now.total == 300.0);
  CHECK(seen.back().done == 300.0);
}
