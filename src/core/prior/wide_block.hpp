// Blocks of more columns than rows.
#pragma once

#include "eigen.hpp"
#include "prior/blocks.hpp"
#include "rows/rows.hpp"

namespace bayeskernel {
// A block of more columns than rows, turned by an orthogonal basis Q of the
// row space: the data reach n directions, the others keep their prior. Exact
// for a prior that is a multiple of the identity, O(n^2 q) once, and every
// later step is free of q.
struct WideBlock {
  Index first = 0;
  MatrixXd basis;  // q x n, empty when the block was left alone
};

WideBlock reduce_wide(PackedRows& rows, Prior& prior);
}  // namespace bayeskernel
