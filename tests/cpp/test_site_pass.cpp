// Passes of expectation propagation that others run, who keep the rows and
// their messages.
#include "rows/pack.hpp"
#include "ep/fit.hpp"
#include "ep/row_worker.hpp"
#include "linear/mean_field.hpp"
#include "linear/stochastic.hpp"
#include "gp/features.hpp"
#include "rng/stream.hpp"
#include <memory>
#include <string>

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
      : first(all.chunk_span(from).row_begin),
        rows(rows_of(first, all.chunk_span(to - 1).row_end)),
        worker(rows, serial, model_of(family), first) {
    for (Index c = 0; c <= to - from; ++c) begin.push_back(c);
  }

  static RowModel model_of(Family family) {
    RowModel out;
    out.family = family;
    return out;
  }
  RowReply ask(const RowRequest& request) { return worker.run(request, begin); }
  VectorXd numbers(RowStep step, const std::string& name) {
    RowRequest request;
    request.step = step;
    for (const auto& [own, values] : ask(request).rows) {
      if (own == name) return values;
    }
    return VectorXd();
  }

  Index first;
  SerialExecutor serial;
  PackedRows rows;
  RowWorker worker;
  std::vector<Index> begin;
};

using Keepers = std::vector<std::unique_ptr<Keeper>>;

Keepers keepers_of(const PackedRows& all, Family family) {
  Keepers out;
  out.push_back(std::make_unique<Keeper>(all, family, 0, 1));
  out.push_back(std::make_unique<Keeper>(all, family, 1, 3));
  return out;
}

PackedRows three_chunks() {
  return rows_of(0, 2 * RowSource::chunk_rows(kColumns) + 900);
}

RowRequest request_at(RowStep step, const GaussianPosterior* q) {
  RowRequest out;
  out.step = step;
  if (q != nullptr) {
    out.mean = q->mean.x;
    out.whitener = q->whitener();
  }
  return out;
}
}  // namespace

TEST("messages that others keep are those of one machine, bit by bit") {
  const PackedRows all = three_chunks();
  CHECK(all.chunks() == 3);
  const Prior prior = unit_prior(kColumns);
  SerialExecutor serial;
  EpSettings few;
  few.max_passes = 2;
  const Family family = Family::probit;
  EpFit here(all, prior, serial, family);
  const EpResult expected = here.run(few);

  const Keepers keepers = keepers_of(all, family);
  EpFit there(all, prior, serial, family);
  there.delegate([&](SiteStep step, const GaussianPosterior& q, SiteRule& rule,
                     Sums& out) {
    RowRequest request =
        step == SiteStep::cold   ? request_at(RowStep::cold, nullptr)
        : step == SiteStep::warm ? request_at(RowStep::warm, &q)
                                 : request_at(RowStep::update, &q);
    request.damping = rule.damping;
    std::vector<SiteRule::Total> totals;
    for (const auto& keeper : keepers) {
      for (const ShardReply& shard : keeper->ask(request).shards) {
        out.add(shard.sums, false);
        totals.push_back(shard.total);
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
    CHECK(keeper->numbers(RowStep::messages, "kappa") ==
          here.sites.kappa.segment(keeper->first, n));
    CHECK(keeper->numbers(RowStep::messages, "b") ==
          here.sites.b.segment(keeper->first, n));
    CHECK(keeper->numbers(RowStep::left_out, "loo") ==
          here.leave_one_out().segment(keeper->first, n));
  }
}

TEST("passes of a mean field that others run are those of one machine") {
  const PackedRows all = three_chunks();
  const Prior prior = unit_prior(kColumns);
  SerialExecutor serial;
  MeanFieldFit here(all, prior, serial);
  const KeepGoing on = [](const Progress&) { return true; };
  const MeanFieldResult expected = here.run(MeanFieldSettings(), on);

  const Keepers keepers = keepers_of(all, Family::hinge);
  MeanFieldFit there(all, prior, serial, nullptr, nullptr, false);
  there.delegate([&](const MeanFieldPass& pass, Sums& out, double*) {
    RowRequest request = request_at(
        pass.q == nullptr ? RowStep::start : RowStep::mean_field, pass.q);
    request.newton = pass.with_newton;
    request.noise = pass.noise;
    for (const auto& keeper : keepers) {
      for (const ShardReply& shard : keeper->ask(request).shards) {
        out.add(shard.sums, pass.with_newton);
      }
    }
  });
  const MeanFieldResult found = there.run(MeanFieldSettings(), on);
  CHECK(expected.converged && expected.passes > 2);
  CHECK(found.bound == expected.bound);
  CHECK(there.posterior().mean.x == here.posterior().mean.x);
  RowRequest at = request_at(RowStep::moments, &there.posterior());
  for (const auto& keeper : keepers) {
    const RowReply own = keeper->ask(at);
    CHECK(own.rows[0].first == "mean");
    CHECK((own.rows[0].second -
           here.mean().segment(keeper->first, keeper->rows.rows()))
              .cwiseAbs()
              .maxCoeff() < 1e-6);
  }
}

TEST("who keeps rows keeps copies of their messages, and combines these") {
  const PackedRows all = three_chunks();
  const Keepers keepers = keepers_of(all, Family::probit);
  Keeper& one = *keepers[0];
  one.ask(request_at(RowStep::cold, nullptr));
  const VectorXd first = one.numbers(RowStep::messages, "kappa");
  GaussianPosterior q(kColumns, 0, 0);
  q.mean.x = VectorXd::Constant(kColumns, 0.3);
  q.set_whitener(0.1 * MatrixXd::Identity(kColumns, kColumns));
  const auto copies = [&](RowStep step, std::vector<int> from,
                          std::vector<double> weights, int to) {
    RowRequest request;
    request.step = step;
    request.copies = std::move(from);
    request.copy_weights = std::move(weights);
    request.to = to;
    return one.ask(request).rows[0].second[0] == 0.0;
  };
  CHECK(copies(RowStep::keep_messages, {}, {}, 1));
  one.ask(request_at(RowStep::update, &q));
  const VectorXd second = one.numbers(RowStep::messages, "kappa");
  CHECK((second - first).norm() > 1e-3);
  CHECK(copies(RowStep::keep_messages, {}, {}, 2));
  CHECK(copies(RowStep::combine_messages, {2, 1}, {0.75, 0.25}, 3));
  CHECK(copies(RowStep::take_messages, {3}, {1.0}, 4));
  const VectorXd mixed = one.numbers(RowStep::messages, "kappa");
  CHECK((mixed - (0.75 * second + 0.25 * first)).norm() < 1e-12);
  // Far beyond one of them a message would lose its sign.
  CHECK(!copies(RowStep::combine_messages, {2, 1}, {1.0, -50.0}, 5));
  CHECK(copies(RowStep::take_messages, {1}, {1.0}, 6));
  CHECK(one.numbers(RowStep::messages, "kappa") == first);
  CHECK_THROWS(copies(RowStep::take_messages, {9}, {1.0}, 7), ArgumentError);
}

TEST("minibatches of rows that others keep are those of all rows") {
  const PackedRows all = three_chunks();
  const Prior prior = unit_prior(kColumns);
  SerialExecutor serial;
  StochasticSettings settings;
  settings.batch_rows = 5000;
  settings.epochs = 2;
  settings.seed = 7;
  RowModel model;
  model.family = Family::logit;
  const auto go_on = [](const Progress&) { return true; };
  StochasticFit here(all, prior, serial, settings, nullptr, model);
  here.run(go_on);

  const Keepers keepers = keepers_of(all, Family::logit);
  RemoteMinibatches remote;
  std::vector<std::pair<int, Index>> homes;
  for (int k = 0; k < 2; ++k) {
    const RowSource& own = keepers[k]->rows;
    for (Index c = 0; c < own.chunks(); ++c) {
      remote.chunk_rows.push_back(own.chunk_span(c).rows());
      homes.emplace_back(k, c);
    }
  }
  remote.pass = [&](const BatchPlace& place, const StochasticSettings& how,
                    const GaussianPosterior* at, double noise, Sums& sums) {
    RowRequest request = request_at(RowStep::minibatch, at);
    request.noise = noise;
    request.batch = place;
    request.chunk = homes[place.chunk].second;
    request.batches = how;
    sums.add(keepers[homes[place.chunk].first]->ask(request).shards[0].sums,
             false);
  };
  StochasticFit there(all, prior, serial, settings, nullptr, model, &remote);
  there.run(go_on);
  CHECK(there.steps() == here.steps() && here.steps() > 20);
  CHECK(there.posterior().mean.x == here.posterior().mean.x);
  CHECK(there.posterior().whitener() == here.posterior().whitener());
}
