#include "rows/sort_rows.hpp"
#include "rows/streamed_rows.hpp"
#include "ep/fit.hpp"
#include "ep/influence.hpp"
#include "gp/features.hpp"
#include "linear/gibbs.hpp"
#include "linear/mean_field.hpp"
#include <cstdio>
#include <string>
#include <tuple>

#include "check.hpp"
#include "hinge_problem.hpp"

using bayeskernel::ChunkReader;
using bayeskernel::Executor;
using bayeskernel::MeanFieldFit;
using bayeskernel::MeanFieldResult;
using bayeskernel::MeanFieldSettings;
using bayeskernel::Pass;
using bayeskernel::Sums;
using bayeskernel::Progress;
using bayeskernel::RowFile;
using bayeskernel::SerialExecutor;
using bayeskernel::StreamColumns;
using bayeskernel::StreamedRows;
using bayeskernel::Tile;

// n rows of p values and a label each; as a stream of them, and packed.
struct Table {
  Table(Index n, Index p, unsigned seed) {
    Draw draw(seed);
    values = draw.matrix(p, n);
    values.row(0).array() += 100.0;
    labels.resize(n);
    for (Index i = 0; i < n; ++i) {
      labels[i] = values(p - 1, i) + draw.normal() > 0.0 ? 1.0 : 0.0;
    }
    columns.source = {-1};
    for (Index k = 0; k < p; ++k) columns.source.push_back(k);
    columns.center = VectorXd::LinSpaced(p + 1, 0.0, 0.3);
    columns.scale = VectorXd::LinSpaced(p + 1, 1.0, 1.4);
    columns.center[1] = 100.0;
    prior.precision = VectorXd::Zero(p + 1);
    prior.precision[0] = 1e-8;
    prior.mean = VectorXd::Zero(p + 1);
    Block block;
    block.first = 1;
    block.members = p;
    prior.blocks.push_back(block);
  }

  PackedRows packed() const {
    const Index n = labels.size();
    const Index p = static_cast<Index>(columns.source.size());
    PackedRows rows;
    rows.x = MatrixXd::Ones(p, n);
    const VectorXd inverse = columns.scale.cwiseInverse();
    for (Index i = 0; i < n; ++i) {
      for (Index k = 1; k < p; ++k) {
        rows.x(k, i) =
            (values(columns.source[k], i) - columns.center[k]) * inverse[k];
      }
    }
    rows.z.resize(0, n);
    rows.y = (2.0 * labels.array() - 1.0).matrix();
    rows.weight = VectorXd::Ones(n);
    rows.offset = VectorXd::Zero(n);
    rows.finish({});
    return rows;
  }

  MatrixXd values;  // p x n
  VectorXd labels;
  StreamColumns columns;
  Prior prior;
};

class TableReader final : public ChunkReader {
 public:
  explicit TableReader(const Table& table) : table_(table) {}
  Index rows() const override { return table_.labels.size(); }
  Index columns() const override { return table_.values.rows(); }
  void read(Index first, Eigen::Ref<MatrixXd> rows) override {
    ++readings;
    rows.topRows(columns()) = table_.values.middleCols(first, rows.cols());
    rows.bottomRows(1) =
        table_.labels.segment(first, rows.cols()).transpose();
  }
  int readings = 0;

 private:
  const Table& table_;
};

static const auto always = [](const Progress&) { return true; };

template <class Rows>
static Sums one_pass(const Rows& rows, Executor& executor) {
  const Index p = rows.x_columns();
  Pass pass(rows, executor);
  Sums sums(p, 0, 0);
  pass.run(bayeskernel::Moments(), bayeskernel::StartRule(),
           bayeskernel::Second::none, sums);
  return sums;
}

TEST("a pass over a stream gives the bits of a pass over the matrix") {
  // Five chunks, the last of them short, and any number of threads.
  const Table table(280000, 3, 1);
  SerialExecutor serial;
  ThreadExecutor three(3);
  const Sums packed = one_pass(table.packed(), serial);
  for (bool ahead : {false, true}) {
    for (Executor* executor : {static_cast<Executor*>(&serial),
                               static_cast<Executor*>(&three)}) {
      TableReader reader(table);
      const StreamedRows rows(reader, table.columns, 1, ahead);
      CHECK(rows.chunks() == 5);
      const Sums sums = one_pass(rows, *executor);
      CHECK(sums.curvature.gram == packed.curvature.gram);
      CHECK(sums.linear.x == packed.linear.x);
      CHECK(sums.margin == packed.margin);
    }
  }
}

TEST("a fit to a stream is the fit to the matrix, bit by bit") {
  const Table table(150000, 4, 2);
  SerialExecutor serial;
  const PackedRows packed = table.packed();
  MeanFieldFit direct(packed, table.prior, serial);
  const MeanFieldResult a = direct.run(MeanFieldSettings(), always);
  TableReader reader(table);
  const StreamedRows rows(reader, table.columns, 1, true);
  MeanFieldFit streamed(rows, table.prior, serial, nullptr, nullptr, false);
  const MeanFieldResult b = streamed.run(MeanFieldSettings(), always);
  CHECK(a.converged && b.converged);
  CHECK(a.bound == b.bound);
  CHECK(direct.posterior().mean.x == streamed.posterior().mean.x);
  CHECK(direct.margin() == streamed.margin());
  CHECK(direct.margin() ==
        (packed.y.array() * direct.mean().array()).minCoeff());
  CHECK(streamed.mean().size() == 0);
}

TEST("a stream of one chunk is read once") {
  const Table table(5000, 3, 3);
  SerialExecutor serial;
  TableReader reader(table);
  const StreamedRows rows(reader, table.columns, 1, true);
  MeanFieldFit fit(rows, table.prior, serial, nullptr, nullptr, false);
  CHECK(fit.run(MeanFieldSettings(), always).passes > 3);
  CHECK(reader.readings == 3);  // strips of 2048 rows
}

TEST("the other label can be the positive one, columns can be left out") {
  Table table(3000, 3, 4);
  table.columns.source = {-1, 2, 0};
  table.columns.center = VectorXd::Zero(3);
  table.columns.scale = VectorXd::Ones(3);
  TableReader reader(table);
  const StreamedRows rows(reader, table.columns, 0, false);
  rows.load(0, -1);
  MatrixXd buffer;
  const Tile tile = rows.tile(rows.tiles()[3], buffer);
  const Index row = rows.tiles()[3].row_begin + 5;
  CHECK(rows.x_columns() == 3 && tile.x(0, 5) == 1.0);
  CHECK(tile.x(1, 5) == table.values(2, row));
  CHECK(tile.x(2, 5) == table.values(0, row));
  CHECK(tile.y[5] == 1.0 - 2.0 * table.labels[row]);
}

TEST("chunks can be asked for in any order") {
  const Table table(280000, 2, 5);
  for (bool ahead : {false, true}) {
    TableReader reader(table);
    const StreamedRows rows(reader, table.columns, 1, ahead);
    MatrixXd buffer;
    const std::vector<std::pair<Index, Index>> asked = {
        {2, 4}, {4, 0}, {1, 1}, {1, 3}, {3, -1}, {0, 2}, {0, 2}};
    for (const auto& [chunk, next] : asked) {
      rows.load(chunk, next);
      const bayeskernel::TileSpan span = rows.chunk_span(chunk);
      const Tile tile = rows.tile(span, buffer);
      CHECK(tile.x(1, 0) == (table.values(0, span.row_begin) - 100.0) *
                                (1.0 / table.columns.scale[1]));
    }
  }
}

static std::string temporary_path(const char* name) {
  const char* folder = std::getenv("TMPDIR");
  return std::string(folder != nullptr ? folder : "/tmp") + "/bayeskernel-" +
         name + "-" + std::to_string(std::random_device()());
}

TEST("a file of rows gives them back, whatever the pieces it was made of") {
  const Table table(1000, 3, 6);
  const std::string path = temporary_path("rows");
  for (Index first = 0; first < 1000; first += 300) {
    const Index n = std::min<Index>(300, 1000 - first);
    RowFile::append(path, table.values.middleCols(first, n).transpose(),
                    table.labels.segment(first, n));
  }
  RowFile file(path, 1000, 3);
  for (Index first : {700, 0, 299}) {
    MatrixXd rows(4, 250);
    file.read(first, rows);
    CHECK(rows.topRows(3) == table.values.middleCols(first, 250));
    CHECK(rows.bottomRows(1) ==
          table.labels.segment(first, 250).transpose());
  }
  std::remove(path.c_str());
}

TEST("a file that is gone, short, or cannot be written is an error") {
  const Table table(1000, 3, 7);
  const std::string path = temporary_path("short");
  CHECK_THROWS(RowFile(path, 1000, 3), bayeskernel::Error);
  CHECK_THROWS(RowFile::append(path + "/no/folder", MatrixXd::Zero(2, 3),
                               VectorXd::Zero(2)),
               bayeskernel::Error);
  RowFile::append(path, table.values.transpose(), table.labels);
  RowFile file(path, 1200, 3);
  MatrixXd rows(4, 1200);
  CHECK_THROWS(file.read(0, rows), bayeskernel::Error);
  for (bool ahead : {false, true}) {
    RowFile longer(path, 70000, 3);
    const StreamedRows streamed(longer, table.columns, 1, ahead);
    CHECK_THROWS(streamed.load(0, 1), bayeskernel::Error);
  }
  std::remove(path.c_str());
}

TEST("an error of the reading thread reaches the one that waits for it") {
  const Table table(70000, 2, 8);
  const std::string path = temporary_path("late");
  RowFile::append(path, table.values.transpose(), table.labels);
  RowFile longer(path, 80000, 2);
  const StreamedRows rows(longer, table.columns, 1, true);
  rows.load(0, 1);
  CHECK_THROWS(rows.load(1, 0), bayeskernel::Error);
  std::remove(path.c_str());
}

TEST("a pass over a stream can be given up between chunks") {
  const Table table(280000, 2, 9);
  SerialExecutor serial;
  TableReader reader(table);
  const StreamedRows rows(reader, table.columns, 1, false);
  MeanFieldFit fit(rows, table.prior, serial, nullptr, nullptr, false);
  int asked = 0;
  const MeanFieldResult result = fit.run(
      MeanFieldSettings(), [&](const Progress&) { return ++asked < 3; });
  CHECK(result.interrupted && result.bound.empty());
  CHECK(asked == 3 && reader.readings == 3 * 32);
}

TEST("a chain over a stream draws what it draws over the matrix") {
  const Table table(150000, 3, 9);
  SerialExecutor serial;
  const PackedRows packed = table.packed();
  bayeskernel::GibbsChain direct(packed, table.prior, serial, 1, 1);
  TableReader reader(table);
  const StreamedRows rows(reader, table.columns, 1, false);
  CHECK(rows.chunks() == 3);
  bayeskernel::GibbsChain streamed(rows, table.prior, serial, 1, 1);
  for (int t = 0; t < 3; ++t) {
    direct.sweep();
    streamed.sweep();
  }
  CHECK(streamed.state.point.x == direct.state.point.x);
  CHECK(streamed.state.precision == direct.state.precision);
}

TEST("rows out of reach are refused, and features in other chunks") {
  const Table table(150000, 3, 10);
  SerialExecutor serial;
  TableReader reader(table);
  const StreamedRows rows(reader, table.columns, 1, false);
  MatrixXd buffer;
  CHECK_THROWS(rows.tile(rows.tiles().front(), buffer),
               bayeskernel::ArgumentError);
  rows.load(0, -1);
  CHECK(rows.tile(rows.tiles().front(), buffer).y.size() > 0);
  CHECK_THROWS(rows.tile(rows.tiles().back(), buffer),
               bayeskernel::ArgumentError);
  const bayeskernel::Features features(
      bayeskernel::Kernel::linear(1.0),
      Draw(1).matrix(rows.x_columns(), 100), 0.1);
  CHECK_THROWS(bayeskernel::FeatureRows(rows, features, serial),
               bayeskernel::ArgumentError);
}

// Groups of any size, in any order; the last of 5000 rows, more than a block.
static Eigen::VectorXi scattered_groups(Index n, Index groups, unsigned seed) {
  Draw draw(seed);
  Eigen::VectorXi out(n);
  for (Index i = 0; i < n; ++i) {
    const Index g = static_cast<Index>(draw.uniform() * (groups - 1));
    out[i] = static_cast<int>(i % 7 == 0 && i < 35000 ? groups - 1 : g);
  }
  return out;
}

TEST("a file is sorted by group, rows of a group as they came") {
  const Index n = 5000, groups = 40;
  const Table table(n, 3, 11);
  const Eigen::VectorXi group = scattered_groups(n, groups, 12);
  const std::string path = "sorted-rows.tmp";
  // One bucket; many, whose rows go to and fro; a row each.
  for (const Index bucket : {Index{1} << 20, Index{400}, Index{1}}) {
    TableReader reader(table);
    bayeskernel::RowSort(bucket).run(reader, group, groups, path);
    RowFile file(path, n, 3);
    MatrixXd found(4, n);
    file.read(0, found);
    Index at = 0, wrong = 0;
    for (Index g = 0; g < groups; ++g) {
      for (Index i = 0; i < n; ++i) {
        if (group[i] != g) continue;
        wrong += !(found.col(at).head(3) == table.values.col(i) &&
                   found(3, at) == table.labels[i]);
        ++at;
      }
    }
    CHECK(at == n && wrong == 0);
  }
  TableReader reader(table);
  Eigen::VectorXi bad = group;
  bad[17] = static_cast<int>(groups);
  CHECK_THROWS(bayeskernel::RowSort().run(reader, bad, groups, path),
               bayeskernel::ArgumentError);
  CHECK_THROWS(bayeskernel::RowSort().run(reader, group, groups, "no/such/dir"),
               bayeskernel::Error);
  std::remove(path.c_str());
}

// The table's rows in groups, sorted: as a stream, and packed.
struct GroupedTable {
  GroupedTable(Index n, Index groups, unsigned seed) : table(n, 3, seed) {
    const Eigen::VectorXi group = scattered_groups(n, groups, seed + 1);
    std::vector<Index> sizes(groups, 0);
    for (Index i = 0; i < n; ++i) ++sizes[group[i]];
    begin = bayeskernel::group_begins(sizes);
    TableReader reader(table);
    bayeskernel::RowSort(4000).run(reader, group, groups, path);
    RowFile file(path, n, 3);
    MatrixXd rows(4, n);
    file.read(0, rows);
    table.values = rows.topRows(3);
    table.labels = rows.row(3);
    Block block;
    block.kind = Block::Kind::unstructured;
    block.eliminated = true;
    block.members = groups;
    block.width = 2;
    block.df = 3.0;
    block.scale = MatrixXd::Identity(2, 2);
    table.prior.blocks.push_back(block);
  }
  ~GroupedTable() { std::remove(path.c_str()); }

  // An intercept and a slope.
  bayeskernel::StreamGroups groups() const {
    bayeskernel::StreamGroups out;
    out.begin = begin;
    out.z.source = {-1, 1};
    out.z.center = VectorXd::Zero(2);
    out.z.scale = VectorXd::Ones(2);
    out.z.center[1] = 0.1;
    out.z.scale[1] = 1.3;
    return out;
  }
  PackedRows packed() const {
    PackedRows rows = table.packed();
    const Index n = rows.x.cols();
    const double inverse = 1.0 / 1.3;
    rows.z.resize(2, n);
    rows.z.row(0).setOnes();
    rows.z.row(1) = (table.values.row(1).array() - 0.1) * inverse;
    rows.finish(begin);
    return rows;
  }

  Table table;
  std::string path = "grouped-rows.tmp";
  std::vector<Index> begin;
};

TEST("fits to a stream in groups are those to the matrix, bit by bit") {
  const GroupedTable data(150000, 900, 13);
  SerialExecutor serial;
  ThreadExecutor three(3);
  const PackedRows packed = data.packed();
  bayeskernel::EpSettings settings;
  const auto ep = [&](const bayeskernel::RowSource& rows, Executor& executor,
                      bool moments) {
    bayeskernel::EpFit fit(rows, data.table.prior, executor,
                           bayeskernel::Family::logit, nullptr, moments);
    fit.run(settings);
    const bayeskernel::Jackknife found = bayeskernel::jackknife(
        rows, executor, fit.posterior(), fit.sites);
    return std::make_tuple(fit.posterior().mean, fit.log_z(), found.cov);
  };
  const auto direct = ep(packed, serial, true);
  MeanFieldFit mean_field(packed, data.table.prior, serial);
  mean_field.run(MeanFieldSettings(), always);
  for (Executor* executor : {static_cast<Executor*>(&serial),
                             static_cast<Executor*>(&three)}) {
    RowFile file(data.path, 150000, 3);
    const StreamedRows rows(file, data.table.columns, 1,
                            executor != &serial, 0, data.groups());
    CHECK(rows.groups() == 900 && rows.chunks() == packed.chunks());
    CHECK(rows.chunks() > 1);
    const auto streamed = ep(rows, *executor, false);
    CHECK(std::get<0>(streamed).x == std::get<0>(direct).x);
    CHECK(std::get<0>(streamed).group == std::get<0>(direct).group);
    CHECK(std::get<1>(streamed) == std::get<1>(direct));
    CHECK(std::get<2>(streamed) == std::get<2>(direct));
    MeanFieldFit own(rows, data.table.prior, *executor, nullptr, nullptr,
                     false);
    own.run(MeanFieldSettings(), always);
    CHECK(own.posterior().mean.x == mean_field.posterior().mean.x);
    CHECK(own.posterior().mean.group == mean_field.posterior().mean.group);
  }
  RowFile file(data.path, 150000, 3);
  bayeskernel::StreamGroups less = data.groups();
  less.begin.pop_back();
  CHECK_THROWS(StreamedRows(file, data.table.columns, 1, false, 0, less),
               bayeskernel::ArgumentError);
}

TEST("what goes with a group: the sum of its rows, squared") {
  const GroupedTable data(40000, 60, 15);
  SerialExecutor serial;
  const PackedRows rows = data.packed();
  bayeskernel::EpFit fit(rows, data.table.prior, serial,
                         bayeskernel::Family::hinge);
  fit.run(bayeskernel::EpSettings());
  const bayeskernel::ArrowVector& at = fit.posterior().mean;
  MatrixXd meat = MatrixXd::Zero(4, 4);
  for (Index g = 0; g < 60; ++g) {
    VectorXd gradient = VectorXd::Zero(4);
    for (Index i = data.begin[g]; i < data.begin[g + 1]; ++i) {
      const double m = rows.x.col(i).dot(at.x) + rows.z.col(i).dot(at.group.col(g));
      gradient += (fit.sites.b[i] - fit.sites.kappa[i] * m) * rows.x.col(i);
    }
    meat += gradient * gradient.transpose();
  }
  const MatrixXd found =
      bayeskernel::GroupGradients(rows, serial).run(fit.posterior(), fit.sites);
  CHECK(data.begin[60] - data.begin[59] > 2048);
  CHECK_NEAR((found - meat).norm() / meat.norm(), 0.0, 1e-11);
}
