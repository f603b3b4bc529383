// One sweep over the rows: moments, a rule, and the sums of what it sets. Every
// engine is a pass with its own rule. Cost per row: two quadratic forms of size
// p, one more for second derivatives. Memory beside the rows: slots of p^2 or
// 2 p^2 numbers, as many as Sweep::slots() says.
#pragma once

#include <functional>

#include "eigen.hpp"
#include "likelihood/rules.hpp"
#include "linear/gaussian.hpp"
#include "linear/moments.hpp"
#include "linear/newton_curvature.hpp"
#include "parallel/executor.hpp"
#include "parallel/scratch_pool.hpp"
#include "rows/rows.hpp"
#include "rows/sums.hpp"
#include "rows/sweep.hpp"

namespace bayeskernel {
// A pass that is run elsewhere: adds the sums at q (null: the start), with
// second derivatives or without, and fills what is to be kept by row.
using RemotePass =
    std::function<void(const GaussianPosterior*, bool, Sums&, const RowStore&)>;

class Pass {
 public:
  Pass(const RowSource& rows, Executor& executor)
      : sweep_{rows, executor, nullptr} {}

  // `go_on(share of the rows done)` is asked between chunks; false gives the
  // pass up with PassInterrupted.
  void watch(std::function<bool(double)> go_on) {
    sweep_.go_on = std::move(go_on);
  }
  // Hands run() to somebody else.
  void delegate(RemotePass remote) { remote_ = std::move(remote); }

  void run(const Moments& at, const Rule& rule, Second second, Sums& out,
           const RowStore& store = RowStore(), Gather what = Gather::all);

  // The sums of the chunks begin .. end - 1; sums of groups go to `groups`.
  void run_shard(Index begin, Index end, const Moments& at, const Rule& rule,
                 Second second, Sums& sums, Sums& groups,
                 const RowStore& store = RowStore(), Gather what = Gather::all);

 private:
  struct Job {
    const Moments& at;
    const Rule& rule;
    Second second;
    const RowStore& store;
    Gather what;
    Sums& groups;
  };

  // Sums of a block. A block of a group that has more than one holds the
  // group's part as well.
  struct Slot {
    Sums sums;
    Index group = -1;
    bool first = false;

    void clear(const RowSource& rows, Index block, bool with_newton,
               Gather what);

    void give_group(bool with_newton, Gather what, Sums& to) const;

   private:
    static void clear(Index p, Index r, Curvature& c);
    void give(const Curvature& from, Curvature& to) const;
  };

  struct Scratch {
    VectorXd m, s, kappa, linear;
    NewtonScratch newton;
    Moments::Scratch moments;
    MatrixXd tile, work;
  };

  void tile(const TileSpan& span, const Job& job, Scratch& scratch,
            Slot& slot) const;

  static void keep(const double* from, Index n, const TileSpan& span,
                   double* to) {
    if (to != nullptr) std::copy_n(from, n, to + span.row_begin);
  }

  Sweep sweep_;
  RemotePass remote_;
  Sums shard_;
  std::vector<Slot> slots_;
  ScratchPool<Scratch> pool_;
};
}  // namespace bayeskernel
