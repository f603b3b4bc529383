// Columns of processes that are computed tile by tile: those that are kept, for
// any grouping, number of threads and source.
#include "rows/pack.hpp"
#include "ep/linear.hpp"
#include "gp/process_rows.hpp"
#include "gp/terms.hpp"
#include "rng/stream.hpp"
#include <thread>

#include "check.hpp"

using namespace bayeskernel;

namespace {
class TwoThreads final : public Executor {
 public:
  int threads() const override { return 2; }
  void run(Index n, const std::function<void(Index)>& body) override {
    std::thread other([&] {
      for (Index k = 1; k < n; k += 2) body(k);
    });
    for (Index k = 0; k < n; k += 2) body(k);
    other.join();
  }
};

// 1, z, (x1, x2) of a process, a multiple and x3 of another; groups of rows,
// one of them larger than a tile, another than a block.
struct Problem {
  MatrixXd x;  // n x 6
  VectorXd center = VectorXd::Zero(6), scale = VectorXd::Ones(6);
  VectorXd y, weight, offset;
  MatrixXd z;
  std::vector<int> group;

  Problem(Index n, bool grouped) : x(n, 6), y(n), weight(n), offset(n) {
    Stream stream(7, 0, Purpose::predict, 0, 0);
    for (Index i = 0; i < n; ++i) {
      x(i, 0) = 1.0;
      for (Index k = 1; k < 6; ++k) x(i, k) = stream.normal();
      weight[i] = 0.5 + stream.uniform();
      offset[i] = 0.2 * stream.normal();
      const double f = x(i, 1) + std::sin(2.0 * x(i, 2)) * x(i, 3);
      y[i] = f + stream.normal() > 0.0 ? 1.0 : -1.0;
    }
    z = grouped ? MatrixXd::Ones(n, 1) : MatrixXd(n, 0);
    if (!grouped) return;
    group.resize(n);
    for (Index i = 0; i < n; ++i) {
      group[i] = i % 5 == 0               ? 0
                 : i % 5 == 1 && i < 3000 ? 1
                                          : 2 + static_cast<int>(i % 301);
    }
  }
  Index rows() const { return x.rows(); }

  ColumnData data() const {
    const Index n = rows();
    ColumnData out{{x.data(), n, 2},
                   {center.data(), 2},
                   {scale.data(), 2},
                   {y.data(), n},
                   {weight.data(), n},
                   {offset.data(), n},
                   {},
                   {},
                   {},
                   {z.data(), n, z.cols()}};
    new (&out.variables) Eigen::Map<const MatrixXd>(x.data() + 2 * n, n, 4);
    const Index groups = group.empty() ? 1 : 303;
    for (Index g = 0; g < groups; ++g) {
      if (!group.empty()) out.group_begin.push_back(out.order.size());
      for (Index i = 0; i < n; ++i) {
        if (group.empty() || group[i] == g) out.order.push_back(i);
      }
    }
    if (!group.empty()) out.group_begin.push_back(n);
    return out;
  }

  MatrixXd inducing(Index d, Index m) const {
    MatrixXd out(d, m);
    Stream stream(8, 0, Purpose::predict, 0, static_cast<std::uint64_t>(d));
    for (Index k = 0; k < out.size(); ++k) out.data()[k] = stream.normal();
    return out;
  }
};

Kernel first_kernel() { return Kernel::rbf(VectorXd::Constant(1, 1.3), 1.0); }
Kernel second_kernel() { return Kernel::rbf(VectorXd::Constant(1, 0.8), 1.0); }

std::vector<ProcessRows::Term> terms_of(const Problem& problem) {
  std::vector<ProcessRows::Term> out;
  out.emplace_back(first_kernel(), problem.inducing(2, 12));
  out[0].variables = {2, 3};
  out[0].first = 2;
  out[0].centred = true;
  out.emplace_back(second_kernel(), problem.inducing(1, 7));
  out[1].variables = {5};
  out[1].by = 4;
  out[1].first = 14;
  return out;
}

// The same columns, kept.
PackedRows kept_rows(const Problem& problem, MatrixXd& share) {
  const ColumnData data = problem.data();
  PackedRows out = pack_rows(data);
  const Index n = problem.rows();
  MatrixXd x(21, n);
  x.topRows(2) = out.x.topRows(2);
  out.x = x;
  out.residual = VectorXd::Zero(n);
  SerialExecutor serial;
  std::vector<ProcessTerm> terms;
  const auto variables = [&](std::vector<Index> at) {
    MatrixXd own(at.size(), n);
    for (Index i = 0; i < n; ++i) {
      for (std::size_t k = 0; k < at.size(); ++k) {
        own(k, i) = problem.x(data.order[i], at[k]);
      }
    }
    return own;
  };
  terms.push_back({first_kernel(),
                   problem.inducing(2, 12),
                   variables({2, 3}),
                   VectorXd(),
                   VectorXd::Constant(n, 1.0 / static_cast<double>(n)),
                   2,
                   {}});
  terms.push_back({second_kernel(),
                   problem.inducing(1, 7),
                   variables({5}),
                   variables({4}).row(0).transpose(),
                   VectorXd(),
                   14,
                   {}});
  ProcessTerms all(std::move(terms), serial);
  all.write(out, share);
  out.finish(data.group_begin);
  return out;
}

Prior prior_of(bool grouped, Index groups) {
  Prior out;
  out.precision = VectorXd::Zero(21);
  out.precision.head(2).setConstant(0.1);
  out.mean = VectorXd::Zero(21);
  for (const auto& at : {std::pair<Index, Index>{2, 12}, {14, 7}}) {
    Block block;
    block.kind = Block::Kind::point;
    block.first = at.first;
    block.members = at.second;
    out.blocks.push_back(block);
  }
  if (grouped) {
    Block block;
    block.eliminated = true;
    block.members = groups;
    out.blocks.push_back(block);
  }
  return out;
}

EpOutcome fit(const RowSource& rows, VectorXd& residual, MatrixXd share,
              Executor& executor, Family family) {
  const Prior prior = prior_of(rows.groups() > 0, rows.groups());
  ConditionalVariance open(residual, rows.rows(), prior, std::move(share));
  EpFit ep(rows, prior, executor, family, nullptr, false, &open);
  NoisePrior noise;
  noise.held = true;
  EpSettings settings;
  settings.tolerance = 1e-9;
  settings.max_passes = 300;
  return fit_linear_ep(ep, noise, false, settings);
}
}  // namespace

TEST("columns are those that are kept") {
  SerialExecutor serial;
  for (const bool grouped : {false, true}) {
    for (const Index n : {700, 20000}) {
      const Problem problem(n, grouped);
      const ColumnData data = problem.data();
      MatrixXd share;
      PackedRows kept = kept_rows(problem, share);
      const ViewedRows base(data, {}, 21 + problem.z.cols());
      ProcessRows rows(base, {0, 1}, terms_of(problem), serial);
      CHECK(rows.x_columns() == 21);
      CHECK(rows.chunks() == kept.chunks());
      CHECK_NEAR((rows.take_relative() - share).cwiseAbs().maxCoeff(), 0.0,
                 1e-13);
      double gap = 0.0;
      MatrixXd buffer, unused;
      for (const TileSpan& span : rows.tiles()) {
        const Tile own = rows.tile(span, buffer);
        const Tile other = kept.tile(span, unused);
        gap = std::max(gap, (own.x - other.x).cwiseAbs().maxCoeff());
        gap = std::max(gap, (own.y - other.y).cwiseAbs().maxCoeff());
        gap = std::max(gap, (own.offset - other.offset).cwiseAbs().maxCoeff());
      }
      CHECK_NEAR(gap, 0.0, 1e-12);
      // A whole chunk at once is the same bits.
      const TileSpan whole = rows.chunk_span(0);
      const MatrixXd all = rows.tile(whole, buffer).x;
      MatrixXd part;
      const TileSpan& first = rows.tiles()[0];
      CHECK(all.leftCols(first.rows()) == rows.tile(first, part).x);
    }
  }
}

TEST("fits are those of kept columns on any threads") {
  SerialExecutor serial;
  TwoThreads two;
  for (const bool grouped : {false, true}) {
    const Problem problem(6000, grouped);
    const ColumnData data = problem.data();
    MatrixXd share;
    PackedRows kept = kept_rows(problem, share);
    const ViewedRows base(data, {}, 21 + problem.z.cols());
    for (const Family family : {Family::logit, Family::hinge}) {
      ProcessRows rows(base, {0, 1}, terms_of(problem), serial);
      const EpOutcome at =
          fit(rows, rows.residual(), rows.take_relative(), serial, family);
      const EpOutcome of = fit(kept, kept.residual, share, serial, family);
      CHECK(at.result.converged);
      CHECK_NEAR(
          (at.moments.theta_mean - of.moments.theta_mean).cwiseAbs().maxCoeff(),
          0.0, 1e-8);
      CHECK_NEAR(at.log_evidence, of.log_evidence,
                 1e-9 * std::abs(of.log_evidence));
      ProcessRows again(base, {0, 1}, terms_of(problem), two);
      const EpOutcome threads =
          fit(again, again.residual(), again.take_relative(), two, family);
      CHECK(threads.moments.theta_mean == at.moments.theta_mean);
      CHECK(threads.log_evidence == at.log_evidence);
    }
  }
}

TEST("terms of other columns are refused") {
  SerialExecutor serial;
  const Problem problem(50, false);
  const ColumnData data = problem.data();
  const ViewedRows base(data, {});
  std::vector<ProcessRows::Term> terms = terms_of(problem);
  terms[1].first = 13;
  CHECK_THROWS(ProcessRows(base, {0, 1}, std::move(terms), serial),
               ArgumentError);
  terms = terms_of(problem);
  terms[0].variables = {2, 6};
  CHECK_THROWS(ProcessRows(base, {0, 1}, std::move(terms), serial),
               ArgumentError);
}
