// Sums of one tile into the statistics of a pass. Per row
// p (p + 1) / 2 + p r + r^2 multiply-adds.
#pragma once

#include "eigen.hpp"
#include "rows/nonzero_columns.hpp"
#include "rows/rows.hpp"
#include "rows/sums.hpp"

namespace bayeskernel {
// gram += sum kappa x x'. The groups of the tile are set in `out`; those of a
// tile that holds but a part of its group are added to out's only group.
// `active`: those of the tile's columns.
void accumulate_curvature(const RowSource& rows, const TileSpan& span,
                          const Tile& tile, const NonzeroColumns& active,
                          const double* kappa, MatrixXd& scratch,
                          MatrixXd& gram, Curvature& out);

// x_sum += sum number x; groups as above.
void accumulate_linear(const RowSource& rows, const TileSpan& span,
                       const Tile& tile, const NonzeroColumns& active,
                       const double* number, VectorXd& x_sum, ArrowVector& out);

// f = offset + x'theta + z'u_g for the rows of a tile.
void tile_means(const RowSource& rows, const TileSpan& span, const Tile& tile,
                const ArrowVector& point, double* f,
                const NonzeroColumns& active = NonzeroColumns());
}  // namespace bayeskernel
