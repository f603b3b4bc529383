// Rows in memory as readers of chunks: dense by columns, and sparse by rows.
// Nothing is copied; a chunk is put together when it is read.
#pragma once

#include "eigen.hpp"
#include "rows/streamed_rows.hpp"

namespace bayeskernel {
class MatrixReader final : public ChunkReader {
 public:
  // x is n x p; `labels` are codes 0, 1, ..., or empty for rows without.
  MatrixReader(MatrixMap x, VectorMap labels);

  Index rows() const override { return x_.rows(); }
  Index columns() const override { return x_.cols(); }

  void read(Index first, Eigen::Ref<MatrixXd> rows) override;

 private:
  MatrixMap x_;
  VectorMap labels_;
};

// Compressed by rows: the values of row i are value[begin[i]] ..
// value[begin[i + 1] - 1], in the columns `column`.
class SparseReader final : public ChunkReader {
 public:
  SparseReader(Eigen::Map<const Eigen::VectorXi> begin,
               Eigen::Map<const Eigen::VectorXi> column, VectorMap value,
               Index columns, VectorMap labels);

  Index rows() const override { return begin_.size() - 1; }
  Index columns() const override { return columns_; }

  void read(Index first, Eigen::Ref<MatrixXd> rows) override;

 private:
  Eigen::Map<const Eigen::VectorXi> begin_, column_;
  VectorMap value_;
  Index columns_;
  VectorMap labels_;
};
}  // namespace bayeskernel
