// Rows that do not fit in memory: a row source over a reader of chunks, and a
// binary file as that reader. In memory are the chunk in use, the next one,
// and a strip of rows as they were read. The rows of a group follow each other.
#ifndef BAYESKERNEL_ROWS_STREAMED_ROWS_HPP
#define BAYESKERNEL_ROWS_STREAMED_ROWS_HPP

#include <Eigen/Core>
#include <algorithm>
#include <fstream>
#include <future>
#include <new>
#include <string>
#include <utility>
#include <vector>

#include "error.hpp"
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
  RowFile(const std::string& path, Index rows, Index columns)
      : path_(path),
        file_(path, std::ios::binary),
        rows_(rows),
        columns_(columns) {
    if (!file_) throw Error("the file of rows " + path_ + " cannot be opened");
  }

  Index rows() const override { return rows_; }
  Index columns() const override { return columns_; }

  void read(Index first, Eigen::Ref<MatrixXd> rows) override {
    file_.seekg(static_cast<std::streamoff>(first * width(columns_)));
    file_.read(reinterpret_cast<char*>(rows.data()),
               static_cast<std::streamsize>(rows.cols() * width(columns_)));
    if (!file_) {
      throw Error("the file of rows " + path_ +
                  " ended before its last row, or cannot be read any more");
    }
  }

  // Appends the rows of x (n x p) with their labels.
  static void append(const std::string& path,
                     const Eigen::Ref<const MatrixXd>& x,
                     const Eigen::Ref<const VectorXd>& labels) {
    std::ofstream file(path, std::ios::binary | std::ios::app);
    MatrixXd rows;
    for (Index begin = 0; begin < x.rows(); begin += kStrip) {
      const Index n = std::min(kStrip, x.rows() - begin);
      rows.resize(x.cols() + 1, n);
      rows.topRows(x.cols()) = x.middleRows(begin, n).transpose();
      rows.bottomRows(1) = labels.segment(begin, n).transpose();
      file.write(reinterpret_cast<const char*>(rows.data()),
                 static_cast<std::streamsize>(n * width(x.cols())));
    }
    file.close();
    if (!file) {
      throw Error("the rows cannot be kept in the temporary file " + path +
                  ": is the disk full?");
    }
  }

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

  Index size() const { return static_cast<Index>(source.size()); }
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
               bool ahead, Index width = 0, StreamGroups groups = {})
      : reader_(reader),
        columns_(std::move(columns)),
        z_columns_(std::move(groups.z)),
        positive_(positive),
        ahead_(ahead),
        weights_(nullptr, 0) {
    for (StreamColumns* own : {&columns_, &z_columns_}) {
      own->inverse_scale = own->scale.cwiseInverse();
    }
    if (!groups.begin.empty() && groups.begin.back() != reader.rows()) {
      throw ArgumentError("groups of other rows");
    }
    partition(reader.rows(), std::move(groups.begin), width);
    Index most = 0;
    for (Index c = 0; c < chunks(); ++c) {
      most = std::max(most, chunk_span(c).rows());
    }
    ones_ = VectorXd::Ones(most);
    offset_ = VectorXd::Zero(most);
  }
  ~StreamedRows() override {
    if (pending_.valid()) pending_.wait();
  }
  StreamedRows(const StreamedRows&) = delete;
  StreamedRows& operator=(const StreamedRows&) = delete;

  // Likelihood powers of all rows, which stay with the caller; 1 without.
  void set_weights(Eigen::Map<const VectorXd> weights) {
    new (&weights_) Eigen::Map<const VectorXd>(weights);
  }
  // Another label means y = +1.
  void set_positive(int positive) {
    if (positive == positive_) return;
    if (pending_.valid()) pending_.get();
    positive_ = positive;
    current_.number = other_.number = -1;
  }

  Index rows() const override { return reader_.rows(); }
  Index x_columns() const override { return columns_.size(); }
  Index z_columns() const override { return z_columns_.size(); }
  bool in_memory() const override { return false; }

  void load(Index chunk, Index next) const override {
    if (pending_.valid()) pending_.get();
    if (current_.number != chunk) {
      if (other_.number != chunk) fill(chunk, other_);
      std::swap(current_, other_);
    }
    if (ahead_ && next >= 0 && next != chunk && other_.number != next) {
      pending_ =
          std::async(std::launch::async, [this, next] { fill(next, other_); });
    }
  }

  Tile tile(const TileSpan& span, MatrixXd&) const override {
    const Index n = span.row_end - span.row_begin;
    const Index first = span.row_begin - current_.first;
    if (current_.number < 0 || first < 0 || first + n > current_.y.size()) {
      throw ArgumentError("rows of a chunk that was not loaded");
    }
    const Index p = x_columns(), r = z_columns();
    const double* weight =
        weights_.size() > 0 ? weights_.data() + span.row_begin : ones_.data();
    return Tile{Eigen::Map<const MatrixXd>(current_.x.data() + first * p, p, n),
                Eigen::Map<const MatrixXd>(current_.z.data() + first * r, r, n),
                Eigen::Map<const VectorXd>(current_.y.data() + first, n),
                Eigen::Map<const VectorXd>(weight, n),
                Eigen::Map<const VectorXd>(offset_.data(), n),
                Eigen::Map<const VectorXd>(nullptr, 0)};
  }

 private:
  static constexpr Index kStrip = 2048;  // rows, as they are in the source

  struct Chunk {
    Index number = -1;
    Index first = 0;
    MatrixXd x, z;
    VectorXd y;
  };

  void fill(Index number, Chunk& chunk) const {
    const TileSpan span = chunk_span(number);
    const Index n = span.row_end - span.row_begin;
    chunk.number = -1;  // until the rows are there
    chunk.x.resize(x_columns(), n);
    chunk.z.resize(z_columns(), n);
    chunk.y.resize(n);
    for (Index begin = 0; begin < n; begin += kStrip) {
      raw_.resize(reader_.columns() + 1, std::min(kStrip, n - begin));
      reader_.read(span.row_begin + begin, raw_);
      for (Index i = 0; i < raw_.cols(); ++i) {
        const double* from = raw_.data() + i * raw_.rows();
        set_columns(columns_, from, chunk.x.col(begin + i));
        set_columns(z_columns_, from, chunk.z.col(begin + i));
        const double label = from[raw_.rows() - 1];
        if (positive_ == kNumbers) {
          chunk.y[begin + i] = label;
        } else {
          chunk.y[begin + i] =
              label == static_cast<double>(positive_) ? 1.0 : -1.0;
        }
      }
    }
    chunk.first = span.row_begin;
    chunk.number = number;
  }

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
  Eigen::Map<const VectorXd> weights_;
  // Which rows are at hand is no part of what a source is.
  mutable Chunk current_, other_;
  mutable MatrixXd raw_;
  mutable std::future<void> pending_;
};

}  // namespace bayeskernel

#endif
