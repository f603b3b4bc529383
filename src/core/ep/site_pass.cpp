#include "ep/site_pass.hpp"

namespace bayeskernel {
void SitePass::delegate(RemoteSites remote) {
  remote_ = true;
  pass_.delegate([this, remote = std::move(remote)](
                     const GaussianPosterior*, bool, Sums& out,
                     const RowStore&) { remote(step_, *q_, rule, out); });
}

void SitePass::run(SiteStep step, const Moments& at, Sums& out) {
  step_ = step;
  q_ = at.q;
  run(step, at, 0, remote_ ? 0 : rows_.rows(),
      [&](const Moments& own, const Rule& by, const RowStore& store) {
        pass_.run(own, by, Second::none, out, store);
      });
}

void SitePass::run_shard(SiteStep step, Index begin, Index end,
                         const Moments& at, Sums& out, Sums& groups) {
  run(step, at, rows_.chunk_span(begin).row_begin,
      rows_.chunk_span(end - 1).row_end,
      [&](const Moments& own, const Rule& by, const RowStore& store) {
        pass_.run_shard(begin, end, own, by, Second::none, out, groups, store);
      });
}
}  // namespace bayeskernel
