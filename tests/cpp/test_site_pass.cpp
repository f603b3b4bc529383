// Passes of expectation propagation that others run, who keep the rows and
// their messages.
#include "rows/pack.hpp"
#include "ep/fit.hpp"
#include "gp/features.hpp"
#include "rng/stream.hpp"
#include <memory>

#include "check.hpp"

using namespace bayeskernel;

namespace {

constexpr Index kColumns = 2;

// Rows first .. last - 1 of many.
PackedRows rows_of(Index first, Index last) {
  PackedRows out;
  const Index n = last - first;
  out.x.resize(kColumns, n);
  out.z.resize(0, n);
  out.y.resize(n);
  out.weight.resize(n);
  out.offset = VectorXd::Zero(n);
  out.residual.resize(n);
  for (Index i = 0; i < n; ++i) {
    Stream stream(5, static_cast<std::uint32_t>(first + i), Purpose::predict, 0,
                  0);
    out.x(0, i) = 1.0;
    out.x(1, i) = stream.normal();
    out.y[i] = out.x(1, i) + stream.normal() > 0.4 ? 1.0 : -1.0;
    out.weight[i] = 0.5 + stream.uniform();
    out.residual[i] = 0.2 * stream.uniform();
  }
  out.finish({});
  return out;
}

// Who keeps the chunks from .. to - 1 of all.
struct Keeper {
  Keeper(const RowSource& all, Family family, Index from, Index to)
      : from(from),
        to(to),
        first(all.chunk_span(from).row_begin),
        rows(rows_of(first, all.chunk_span(to - 1).row_end)),
        sites(rows.rows()),
        pass(rows, serial, family, sites) {
    pass.rule.origin = first;
  }

  Index from, to, first;
  SerialExecutor serial;
  PackedRows rows;
  SiteRows sites;
  SitePass pass;
};

}  // namespace

TEST("messages that others keep are those of one machine, bit by bit") {
  const PackedRows all = rows_of(0, 2 * RowSource::chunk_rows(kColumns) + 900);
  CHECK(all.chunks() == 3);
  const Prior prior = unit_prior(kColumns);
  SerialExecutor serial;
  EpSettings few;
  few.max_passes = 2;
  const Family family = Family::probit;
  EpFit here(all, prior, serial, family);
  const EpResult expected = here.run(few);

  std::vector<std::unique_ptr<Keeper>> keepers;
  keepers.push_back(std::make_unique<Keeper>(all, family, 0, 1));
  keepers.push_back(std::make_unique<Keeper>(all, family, 1, 3));
  EpFit there(all, prior, serial, family);
  there.delegate([&](SiteStep step, const GaussianPosterior& q,
                     SiteRule& rule, Sums& out) {
    Moments at;
    at.q = &q;
    Sums sums, groups(0, 0, 0);
    std::vector<SiteRule::Total> totals;
    for (const auto& keeper : keepers) {
      keeper->pass.rule.damping = rule.damping;
      for (Index c = 0; c < keeper->to - keeper->from; ++c) {
        keeper->pass.run_shard(step, c, c + 1, at, sums, groups);
        out.add(sums, false);
        totals.push_back(keeper->pass.rule.shard(c, c + 1));
      }
    }
    rule.adopt(totals);
  });
  CHECK(there.sites.kappa.size() == 0);
  const EpResult found = there.run(few);

  CHECK(found.passes == expected.passes);
  CHECK(found.change == expected.change);
  CHECK(expected.change > 0.0);
  CHECK(there.log_z() == here.log_z());
  CHECK(there.posterior().mean.x == here.posterior().mean.x);
  CHECK(there.posterior().whitener() == here.posterior().whitener());
  CHECK(there.squares() == here.squares());
  for (const auto& keeper : keepers) {
    const Index n = keeper->rows.rows();
    CHECK(keeper->sites.kappa == here.sites.kappa.segment(keeper->first, n));
    CHECK(keeper->sites.b == here.sites.b.segment(keeper->first, n));
    CHECK(leave_one_out(keeper->rows, keeper->pass.rule, keeper->sites) ==
          here.leave_one_out().segment(keeper->first, n));
  }
}
