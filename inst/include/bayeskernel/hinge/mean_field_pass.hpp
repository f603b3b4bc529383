// One sweep over the tiles under q(theta, u): moments, the mean-field rule,
// the data part of the bound and the sums for the next step. Cost per row:
// two quadratic forms of size p, one more for rows near the margin. Memory
// beside the rows: a slot of 2 p^2 for each block of a chunk.
#ifndef BAYESKERNEL_HINGE_MEAN_FIELD_PASS_HPP
#define BAYESKERNEL_HINGE_MEAN_FIELD_PASS_HPP

#include <Eigen/Core>
#include <algorithm>
#include <functional>
#include <limits>
#include <vector>

#include "../data/rows.hpp"
#include "../parallel/executor.hpp"
#include "../parallel/scratch_pool.hpp"
#include "accumulate.hpp"
#include "gaussian.hpp"
#include "newton_curvature.hpp"
#include "rules.hpp"

namespace bayeskernel {

// What a pass leaves behind.
struct MeanFieldSums {
  Curvature em;          // kappa = omega / c: the conditional precision
  Curvature newton;      // second derivative of the bound at fixed variances
  ArrowVector gradient;  // derivative of the data part in the mean
  double bound = 0.0;    // data part of the bound
  double margin = 0.0;   // smallest y E f

  MeanFieldSums(Index p, Index r, Index groups)
      : em(p, r, groups), newton(p, r, groups), gradient(p, r, groups) {}

  void clear() {
    em.gram.setZero();
    newton.gram.setZero();
    gradient.x.setZero();
    bound = 0.0;
    margin = std::numeric_limits<double>::infinity();
  }
};

// The part of these sums that adds up over rows without groups.
struct ShardSums {
  MatrixXd em, newton;
  VectorXd gradient;
  double bound = 0.0;
  double margin = 0.0;

  void clear(Index p) {
    em.setZero(p, p);
    newton.setZero(p, p);
    gradient.setZero(p);
    bound = 0.0;
    margin = std::numeric_limits<double>::infinity();
  }
  void add(const ShardSums& other) {
    em += other.em;
    newton += other.newton;
    gradient += other.gradient;
    bound += other.bound;
    margin = std::min(margin, other.margin);
  }
  void add_to(MeanFieldSums& out) const {
    out.em.gram += em;
    out.newton.gram += newton;
    out.gradient.x += gradient;
    out.bound += bound;
    out.margin = std::min(out.margin, margin);
  }
};

// A pass that is run elsewhere: fills the sums at q (nullptr: the start).
using RemotePass =
    std::function<void(const GaussianPosterior*, bool, MeanFieldSums&)>;

// A pass was given up between two chunks.
struct PassInterrupted {};

class MeanFieldPass {
 public:
  MeanFieldPass(const RowSource& rows, Executor& executor)
      : rows_(rows), executor_(executor) {}

  // `go_on(share of the rows done)` is asked between chunks; false gives the
  // pass up with PassInterrupted.
  void watch(std::function<bool(double)> go_on) { go_on_ = std::move(go_on); }

  // At q, or at c = 1 and f = offset when q is null. `mean` and `variance`,
  // when given, receive E f and Var f of every row.
  void run(const GaussianPosterior* q, bool with_newton, MeanFieldSums& out,
           double* mean = nullptr, double* variance = nullptr) {
    out.clear();
    if (remote_) {
      remote_(q, with_newton, out);
      return;
    }
    for (Index s = 0; s < rows_.shards(); ++s) {
      run_shard(rows_.shard_begin(s), rows_.shard_begin(s + 1), q, with_newton,
                shard_, out, mean, variance);
      shard_.add_to(out);
    }
  }

  // Hands run() to somebody else.
  void delegate(RemotePass remote) { remote_ = std::move(remote); }

  // The sums of the chunks begin .. end - 1; sums of groups go to `groups`.
  void run_shard(Index begin, Index end, const GaussianPosterior* q,
                 bool with_newton, ShardSums& sums, MeanFieldSums& groups,
                 double* mean = nullptr, double* variance = nullptr) {
    const Index chunks = rows_.chunks();
    sums.clear(rows_.x_columns());
    for (Index c = begin; c < end; ++c) {
      if (c > 0 && go_on_ &&
          !go_on_(static_cast<double>(c) / static_cast<double>(chunks))) {
        throw PassInterrupted();
      }
      rows_.load(c, c + 1 < chunks ? c + 1 : (chunks > 1 ? 0 : -1));
      chunk_pass(c, q, with_newton, sums, groups, mean, variance);
    }
  }

 private:
  using Slot = ShardSums;
  struct Scratch {
    VectorXd m, s, kappa, shift;
    NewtonScratch newton;
    MatrixXd tile, work;
  };

  void chunk_pass(Index chunk, const GaussianPosterior* q, bool with_newton,
                  ShardSums& sums, MeanFieldSums& out, double* mean,
                  double* variance) {
    const Index first = rows_.chunk_begin(chunk);
    const Index blocks = rows_.chunk_begin(chunk + 1) - first;
    const Index p = rows_.x_columns();
    if (static_cast<Index>(slots_.size()) < blocks) slots_.resize(blocks);
    executor_.run(blocks, [&](Index b) {
      auto loan = pool_.borrow();
      Slot& slot = slots_[b];
      slot.clear(p);
      for (Index t = rows_.block_begin(first + b);
           t < rows_.block_begin(first + b + 1); ++t) {
        tile_pass(rows_.tiles()[t], q, with_newton, *loan, slot, out, mean,
                  variance);
      }
    });
    for (Index b = 0; b < blocks; ++b) sums.add(slots_[b]);
  }

  void tile_pass(const TileSpan& span, const GaussianPosterior* q,
                 bool with_newton, Scratch& scratch, Slot& slot,
                 MeanFieldSums& out, double* mean, double* variance) {
    const Index n = span.row_end - span.row_begin;
    if (scratch.m.size() < n) {
      for (VectorXd* v : {&scratch.m, &scratch.s, &scratch.kappa,
                          &scratch.newton.weight, &scratch.shift}) {
        v->resize(n);
      }
    }
    const Tile tile = rows_.tile(span, scratch.tile);
    double* m = scratch.m.data();
    double* s = scratch.s.data();
    if (q != nullptr) {
      tile_means(rows_, span, tile, q->mean, m);
      q->tile_variances(rows_, span, tile, scratch.work, s);
    } else {
      Eigen::Map<VectorXd>(m, n) = tile.offset;
    }
    if (q == nullptr) Eigen::Map<VectorXd>(s, n).setZero();
    for (Index i = 0; i < n; ++i) {
      const RowMoments row =
          q != nullptr ? mean_field(tile.y[i], tile.weight[i], m[i], s[i])
                       : unit_scale(tile.y[i], tile.weight[i], m[i]);
      scratch.kappa[i] = row.kappa;
      scratch.shift[i] = row.shift;
      scratch.newton.weight[i] = row.newton;
      slot.bound += row.bound;
      slot.margin = std::min(slot.margin, tile.y[i] * m[i]);
    }
    accumulate_curvature(rows_, span, tile, scratch.kappa.data(), scratch.work,
                         slot.em, out.em);
    accumulate_shift(rows_, span, tile, scratch.shift.data(), slot.gradient,
                     out.gradient);
    if (with_newton) {
      accumulate_newton(rows_, span, tile, m, s, scratch.newton, scratch.work,
                        slot.newton, out.newton);
    }
    if (mean != nullptr) std::copy(m, m + n, mean + span.row_begin);
    if (variance != nullptr) std::copy(s, s + n, variance + span.row_begin);
  }

  const RowSource& rows_;
  Executor& executor_;
  std::function<bool(double)> go_on_;
  RemotePass remote_;
  ShardSums shard_;
  std::vector<Slot> slots_;
  ScratchPool<Scratch> pool_;
};

}  // namespace bayeskernel

#endif
