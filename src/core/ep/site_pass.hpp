// The rows' side of expectation propagation: passes that set the messages of
// rows and sum them up. Who keeps the rows runs them, a part of the rows, say,
// on another machine.
#pragma once

#include <functional>

#include "eigen.hpp"
#include "ep/sites.hpp"
#include "ep/start.hpp"
#include "likelihood/family.hpp"
#include "likelihood/rules.hpp"
#include "linear/gaussian.hpp"
#include "linear/moments.hpp"
#include "linear/pass.hpp"
#include "parallel/executor.hpp"
#include "rows/rows.hpp"
#include "rows/sums.hpp"

namespace bayeskernel {
// The start without q, the start at q, and messages from tilted moments.
enum class SiteStep { cold, warm, update };

// A step that is run elsewhere at q: adds to the sums, and gives the rule its
// totals (SiteRule::adopt). The rule has damping and noise.
using RemoteSites =
    std::function<void(SiteStep, const GaussianPosterior&, SiteRule&, Sums&)>;

class SitePass {
 public:
  SitePass(const RowSource& rows, Executor& executor, Family family,
           SiteRows& sites, const Responsibilities* responsibilities = nullptr)
      : rule(rows, family, sites, responsibilities),
        rows_(rows),
        family_(family),
        sites_(sites),
        responsibilities_(responsibilities),
        pass_(rows, executor) {}
  SitePass(const SitePass&) = delete;
  SitePass& operator=(const SitePass&) = delete;

  SiteRule rule;

  void watch(std::function<bool(double)> go_on) {
    pass_.watch(std::move(go_on));
  }
  void delegate(RemoteSites remote);

  void run(SiteStep step, const Moments& at, Sums& out);

  // The sums of the chunks begin .. end - 1, which hold no groups.
  void run_shard(SiteStep step, Index begin, Index end, const Moments& at,
                 Sums& out, Sums& groups);

  // The sums of the messages as they stand, at zero.
  void send(Sums& out) {
    pass_.run(Moments(), MessageRule(sites_), Second::none, out);
  }

 private:
  template <class Sweep>
  void run(SiteStep step, const Moments& at, Index first, Index last,
           Sweep&& sweep) {
    if (step == SiteStep::update) {
      mean_.resize(0);
      sweep(at, rule, RowStore());
      return;
    }
    StartSites start(family_, responsibilities_, &sites_);
    start.noise_variance = rule.noise_variance;
    start.cold = step == SiteStep::cold;
    if (last > first) mean_.resize(rows_.rows());
    RowStore store;
    store.mean = mean_.data();
    store.kappa = sites_.kappa.data();
    store.linear = sites_.b.data();
    sweep(start.cold ? Moments() : at, start, store);
    const Index n = last - first;
    sites_.b.segment(first, n).array() +=
        sites_.kappa.segment(first, n).array() *
        mean_.segment(first, n).array();
  }

  const RowSource& rows_;
  Family family_;
  SiteRows& sites_;
  const Responsibilities* responsibilities_;
  Pass pass_;
  VectorXd mean_;  // of the rows, at the start
  bool remote_ = false;
  SiteStep step_ = SiteStep::cold;
  const GaussianPosterior* q_ = nullptr;
};
}  // namespace bayeskernel
