#include "linear/pass.hpp"

#include "linear/accumulate.hpp"

namespace bayeskernel {
void Pass::run(const Moments& at, const Rule& rule, Second second, Sums& out,
               const RowStore& store, Gather what) {
  const Index p = sweep_.rows.x_columns();
  const bool with_newton = second != Second::none;
  out.clear(p, with_newton, what);
  if (remote_) {
    remote_(at.q, with_newton, out, store);
    return;
  }
  if (sweep_.rows.shards() == 1) {
    run_shard(0, sweep_.rows.chunks(), at, rule, second, out, out, store, what);
    return;
  }
  for (Index s = 0; s < sweep_.rows.shards(); ++s) {
    run_shard(sweep_.rows.shard_begin(s), sweep_.rows.shard_begin(s + 1), at,
              rule, second, shard_, out, store, what);
    out.add(shard_, with_newton, what);
  }
}

void Pass::run_shard(Index begin, Index end, const Moments& at,
                     const Rule& rule, Second second, Sums& sums, Sums& groups,
                     const RowStore& store, Gather what) {
  const RowSource& rows = sweep_.rows;
  const bool with_newton = second != Second::none;
  const Index p = rows.x_columns();
  sums.clear(p, with_newton, what);
  const Job job{at, rule, second, store, what, groups};
  const Index matrices = (what == Gather::all) + with_newton;
  const Index most = sweep_.slots(begin, end, matrices * p * p);
  if (count_of(slots_) < most) slots_.resize(most);
  sweep_.run(
      begin, end,
      [&](Index block, Index slot) {
        auto loan = pool_.borrow();
        slots_[slot].clear(rows, block, with_newton, what);
        for (const TileSpan& span : rows.block_tiles(block)) {
          tile(span, job, *loan, slots_[slot]);
        }
      },
      [&](Index count) {
        for (Index s = 0; s < count; ++s) {
          sums.add(slots_[s].sums, with_newton, what);
          slots_[s].give_group(with_newton, what, groups);
        }
      },
      most);
}

void Pass::Slot::clear(const RowSource& rows, Index block, bool with_newton,
                       Gather what) {
  const Index p = rows.x_columns(), r = rows.z_columns();
  sums.clear(p, with_newton, what);
  const TileSpan& span = *rows.block_tiles(block).begin();
  group = -1;
  if (!rows.is_part(span)) return;
  group = span.group_begin;
  first = rows.group_begin(group) == span.row_begin;
  if (what == Gather::all) clear(p, r, sums.curvature);
  if (with_newton) clear(p, r, sums.newton);
  sums.linear.group.setZero(r, 1);
}

void Pass::Slot::give_group(bool with_newton, Gather what, Sums& to) const {
  if (group < 0) return;
  if (what == Gather::all) give(sums.curvature, to.curvature);
  if (with_newton) give(sums.newton, to.newton);
  if (what == Gather::nothing) return;
  if (first) to.linear.group.col(group).setZero();
  to.linear.group.col(group) += sums.linear.group;
}

void Pass::Slot::clear(Index p, Index r, Curvature& c) {
  c.cross.setZero(p, r);
  c.group_gram.setZero(r, r);
}

void Pass::Slot::give(const Curvature& from, Curvature& to) const {
  const Index r = from.group_gram.rows();
  auto cross = to.cross.middleCols(group * r, r);
  auto gram = to.group_gram.middleCols(group * r, r);
  if (first) {
    cross.setZero();
    gram.setZero();
  }
  cross += from.cross;
  gram += from.group_gram;
}

void Pass::tile(const TileSpan& span, const Job& job, Scratch& scratch,
                Slot& slot) const {
  const RowSource& rows = sweep_.rows;
  const Index n = span.rows();
  if (scratch.m.size() < n) {
    for (VectorXd* v : {&scratch.m, &scratch.s, &scratch.kappa,
                        &scratch.newton.weight, &scratch.linear}) {
      v->setZero(n);
    }
  }
  const Tile tile = rows.tile(span, scratch.tile);
  double* m = scratch.m.data();
  double* s = scratch.s.data();
  double* kappa = scratch.kappa.data();
  double* linear = scratch.linear.data();
  NonzeroColumns& active = scratch.moments.active;
  active.find(tile.x);
  job.at.tile(rows, span, tile, scratch.moments, m, s);
  slot.sums.bound += job.rule.tile(
      span, tile, m, s, {kappa, linear, scratch.newton.weight.data()});
  if (job.rule.gaussian()) {
    for (Index i = 0; i < n; ++i) {
      const double gap = tile.y[i] - m[i];
      slot.sums.power += kappa[i];
      slot.sums.squares += kappa[i] * (gap * gap + s[i]);
    }
  } else {
    for (Index i = 0; i < n; ++i) {
      slot.sums.margin = std::min(slot.sums.margin, tile.y[i] * m[i]);
    }
  }
  Sums& groups = slot.group < 0 ? job.groups : slot.sums;
  if (job.what == Gather::all) {
    accumulate_curvature(rows, span, tile, active, kappa, scratch.work,
                         slot.sums.curvature.gram, groups.curvature);
  }
  if (job.what != Gather::nothing) {
    accumulate_linear(rows, span, tile, active, linear, slot.sums.linear.x,
                      groups.linear);
  }
  if (job.second != Second::none) {
    accumulate_newton(rows, span, tile, active, m, s, job.second,
                      scratch.newton, scratch.work, slot.sums.newton.gram,
                      groups.newton);
  }
  keep(m, n, span, job.store.mean);
  keep(s, n, span, job.store.variance);
  keep(kappa, n, span, job.store.kappa);
  keep(linear, n, span, job.store.linear);
}
}  // namespace bayeskernel
