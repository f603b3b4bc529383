#include "rows/streamed_rows.hpp"

#include <ios>

#include "error.hpp"

namespace bayeskernel {
RowFile::RowFile(const std::string& path, Index rows, Index columns)
    : path_(path),
      file_(path, std::ios::binary),
      rows_(rows),
      columns_(columns) {
  if (!file_) throw Error("the file of rows " + path_ + " cannot be opened");
}

void RowFile::read(Index first, Eigen::Ref<MatrixXd> rows) {
  file_.seekg(static_cast<std::streamoff>(first * width(columns_)));
  file_.read(reinterpret_cast<char*>(rows.data()),
             static_cast<std::streamsize>(rows.cols() * width(columns_)));
  if (!file_) {
    throw Error("the file of rows " + path_ +
                " ended before its last row, or cannot be read any more");
  }
}

void RowFile::append(const std::string& path, const MatrixRef& x,
                     const VectorRef& labels) {
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

StreamedRows::StreamedRows(ChunkReader& reader, StreamColumns columns,
                           int positive, bool ahead, Index width,
                           StreamGroups groups)
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

void StreamedRows::set_weights(VectorMap weights) {
  new (&weights_) VectorMap(weights);
}

void StreamedRows::set_positive(int positive) {
  if (positive == positive_) return;
  if (pending_.valid()) pending_.get();
  positive_ = positive;
  current_.number = other_.number = -1;
}

void StreamedRows::load(Index chunk, Index next) const {
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

Tile StreamedRows::tile(const TileSpan& span, MatrixXd&) const {
  const Index n = span.row_end - span.row_begin;
  const Index first = span.row_begin - current_.first;
  if (current_.number < 0 || first < 0 || first + n > current_.y.size()) {
    throw ArgumentError("rows of a chunk that was not loaded");
  }
  const Index p = x_columns(), r = z_columns();
  const double* weight =
      weights_.size() > 0 ? weights_.data() + span.row_begin : ones_.data();
  return Tile{MatrixMap(current_.x.data() + first * p, p, n),
              MatrixMap(current_.z.data() + first * r, r, n),
              VectorMap(current_.y.data() + first, n),
              VectorMap(weight, n),
              VectorMap(offset_.data(), n),
              VectorMap(nullptr, 0)};
}

void StreamedRows::fill(Index number, Chunk& chunk) const {
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
}  // namespace bayeskernel
