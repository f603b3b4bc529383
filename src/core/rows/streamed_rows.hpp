// Rows that do not fit in memory: a row source over a reader of chunks, and a
// binary file as that reader. In memory are the chunk in use, the next one,
// and a strip of rows as they were read. The rows of a group follow each other.
#pragma once

#include <fstream>
#include <future>
#include <string>

#include "eigen.hpp"
#include "rows/rows.hpp"

namespace bayeskernel {
// Where the rows of a stream come from, in the same order at every reading.
class ChunkReader {
 public:
  virtual ~ChunkReader() = default;
  virtual Index rows() const = 0;
  virtual Index columns() const = 0;
  // Rows first .. first + rows.cols() - 1, each a column of `rows`: its
  // values on the scale of the data, then its label, a code 0, 1, ...
  virtual void read(Index first, Eigen::Ref<MatrixXd> rows) = 0;
};

// Rows on disk, one after another, as doubles of this machine: the values of
// a row, then its label.
class RowFile final : public ChunkReader {
 public:
  RowFile(const std::string& path, Index rows, Index columns);

  Index rows() const override { return rows_; }
  Index columns() const override { return columns_; }

  void read(Index first, Eigen::Ref<MatrixXd> rows) override;

  // Appends the rows of x (n x p) with their labels.
  static void append(const std::string& path, const MatrixRef& x,
                     const VectorRef& labels);

 private:
  static constexpr Index kStrip = 2048;

  static Index width(Index columns) {
    return (columns + 1) * static_cast<Index>(sizeof(double));
  }

  std::string path_;
  std::ifstream file_;
  Index rows_, columns_;
};

// How values of the data become the columns of the model: column k is the
// value source[k], centred and scaled; a source of -1 is the intercept.
struct StreamColumns {
  std::vector<Index> source;
  VectorXd center, scale;
  VectorXd inverse_scale{};  // set by StreamedRows

  Index size() const { return count_of(source); }
};

// Rows of groups, in their order, and the columns of the groups' effects.
struct StreamGroups {
  std::vector<Index> begin;  // empty: no groups
  StreamColumns z;
};

class StreamedRows final : public RowSource {
 public:
  static constexpr int kNumbers = -1;

  // `positive` is the label that means y = +1, or kNumbers where the labels are
  // y. With `ahead` the next chunk is
  // read and packed on a thread of its own. `width`, if given, takes the place
  // of the number of columns in the size of a chunk.
  StreamedRows(ChunkReader& reader, StreamColumns columns, int positive,
               bool ahead, Index width = 0, StreamGroups groups = {});
  ~StreamedRows() override {
    if (pending_.valid()) pending_.wait();
  }
  StreamedRows(const StreamedRows&) = delete;
  StreamedRows& operator=(const StreamedRows&) = delete;

  // Likelihood powers of all rows, which stay with the caller; 1 without.
  void set_weights(VectorMap weights);
  // Another label means y = +1.
  void set_positive(int positive);

  Index rows() const override { return reader_.rows(); }
  Index x_columns() const override { return columns_.size(); }
  Index z_columns() const override { return z_columns_.size(); }
  bool in_memory() const override { return false; }

  void load(Index chunk, Index next) const override;

  Tile tile(const TileSpan& span, MatrixXd&) const override;

 private:
  static constexpr Index kStrip = 2048;  // rows, as they are in the source

  struct Chunk {
    Index number = -1;
    Index first = 0;
    MatrixXd x, z;
    VectorXd y;
  };

  void fill(Index number, Chunk& chunk) const;

  template <class Column>
  static void set_columns(const StreamColumns& columns, const double* from,
                          Column&& to) {
    for (Index k = 0; k < columns.size(); ++k) {
      const Index j = columns.source[k];
      to[k] = j < 0 ? 1.0
                    : (from[j] - columns.center[k]) * columns.inverse_scale[k];
    }
  }

  ChunkReader& reader_;
  StreamColumns columns_, z_columns_;
  VectorXd ones_, offset_;
  int positive_;
  bool ahead_;
  VectorMap weights_;
  // Which rows are at hand is no part of what a source is.
  mutable Chunk current_, other_;
  mutable MatrixXd raw_;
  mutable std::future<void> pending_;
};
}  // namespace bayeskernel
