// Rows that others keep and pass over: a source on them has its sizes, its
// tiles and shards, and no row.
#pragma once

#include "eigen.hpp"
#include "error.hpp"
#include "rows/streamed_rows.hpp"

namespace bayeskernel {
class AbsentRows final : public ChunkReader {
 public:
  AbsentRows(Index rows, Index columns) : rows_(rows), columns_(columns) {}

  Index rows() const override { return rows_; }
  Index columns() const override { return columns_; }

  void read(Index, Eigen::Ref<MatrixXd>) override {
    throw ArgumentError("these rows are with the workers of a cluster");
  }

 private:
  Index rows_, columns_;
};
}  // namespace bayeskernel
