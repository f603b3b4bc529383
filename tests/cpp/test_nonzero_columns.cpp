// Columns of which the rows of a tile see few: levels in which groups lie.
#include "check.hpp"
#include "ep/fit.hpp"
#include "hinge_problem.hpp"
#include "rows/nonzero_columns.hpp"

using namespace bayeskernel;

// Five groups in each of 40 levels, eight rows in each group but of one with
// 600, whose rows are in three tiles. `dense`: all rows have all
// columns, by next to nothing.
static Problem nested(Index width, bool dense) {
  constexpr Index kLevels = 40, kFixed = 2;
  Draw draw(7);
  Problem out;
  PackedRows& rows = out.rows;
  std::vector<Index> level;
  out.group_begin = {0};
  for (Index g = 0; g < 5 * kLevels; ++g) {
    out.group_begin.push_back(out.group_begin.back() + (g == 33 ? 600 : 8));
    level.resize(out.group_begin.back(), g / 5);
  }
  const Index n = out.group_begin.back(), p = kFixed + kLevels;
  rows.x = MatrixXd::Zero(p, n);
  rows.z = draw.matrix(width, n);
  rows.z.row(0).setOnes();
  rows.y.resize(n);
  rows.weight = VectorXd::Ones(n);
  rows.offset = 0.1 * draw.matrix(n, 1);
  for (Index i = 0; i < n; ++i) {
    rows.x.col(i).head(kFixed) << 1.0, draw.normal();
    rows.x(kFixed + level[i], i) = 1.0;
    rows.y[i] = draw.normal() + rows.x(1, i) + level[i] % 3 > 1.0 ? 1.0 : -1.0;
  }
  if (dense) rows.x.array() += 1e-300;
  out.prior.precision = VectorXd::Zero(p);
  out.prior.precision.head(kFixed).setConstant(0.04);
  out.prior.mean = VectorXd::Zero(p);
  out.prior.blocks = {make_block(kFixed, kLevels, 1, draw),
                      make_block(p, 5 * kLevels, width, draw)};
  out.prior.blocks[1].eliminated = true;
  rows.finish(out.group_begin);
  return out;
}

TEST("what few columns give is what all of them do") {
  for (const Index width : {1, 2}) {
    const Problem few = nested(width, false), all = nested(width, true);
    SerialExecutor serial;
    for (const Family family : {Family::logit, Family::hinge}) {
      EpFit fit(few.rows, few.prior, serial, family);
      EpFit same(all.rows, all.prior, serial, family);
      fit.run(EpSettings());
      same.run(EpSettings());
      CHECK_NEAR(fit.log_z(), same.log_z(), 1e-10);
      const VectorXd& mean = fit.posterior().mean.x;
      for (Index k = 0; k < mean.size(); ++k) {
        CHECK_NEAR(mean[k], same.posterior().mean.x[k], 1e-9);
      }
      for (Index i = 0; i < few.rows.rows(); i += 7) {
        CHECK_NEAR(fit.sites.mean[i], same.sites.mean[i], 1e-9);
        CHECK_NEAR(fit.sites.variance[i], same.sites.variance[i], 1e-9);
      }
    }
  }
}

TEST("columns are few where a quarter of them has all that is not 0") {
  MatrixXd x = MatrixXd::Zero(40, 6);
  for (Index i = 0; i < 6; ++i) x(3 + i / 2, i) = x(30, i) = 1.0 + i;
  NonzeroColumns active;
  active.find(x);
  CHECK(active.few());
  CHECK((active.index() == std::vector<Index>{3, 4, 5, 30}));
  for (Index i = 0; i < 6; ++i) {
    for (Index k = 0; k < 4; ++k) {
      CHECK_NEAR(active.x()(k, i), x(active.index()[k], i), 0.0);
    }
  }
  CHECK(active.cover(x.col(1).data(), 40));
  x(20, 1) = 1e-9;
  CHECK(!active.cover(x.col(1).data(), 40));
  x.col(5).setOnes();
  active.find(x);
  CHECK(!active.few());
  x.col(0).setOnes();
  active.find(x);
  CHECK(!active.few());
  active.find(x.topRows(20));
  CHECK(!active.few());
}
