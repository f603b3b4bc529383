// Some of the rows of a reader, for what needs only an impression of the data:
// one from each of `size` runs of equal length, in their order.
#pragma once

#include "eigen.hpp"
#include "rows/streamed_rows.hpp"

namespace bayeskernel {
struct RowSample {
  MatrixXd x;       // p x size, columns of the model
  VectorXd labels;  // codes
  VectorXd number;  // of the row, from 0
};

// Their numbers, from 0, of n rows.
std::vector<Index> sample_numbers(Index n, Index size, std::uint64_t seed);

RowSample sample_rows(ChunkReader& reader, const StreamColumns& columns,
                      Index size, std::uint64_t seed);
}  // namespace bayeskernel
