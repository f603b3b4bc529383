// The curvature of the bound in the mean, summed over a tile. For the hinge,
// rows far from the margin, chi > 900 s, carry less than 1e-3 of the curvature
// of a row on it: the matrix of a step does without them where all of them
// together carry little. Between separated classes they do not, and a
// covariance that is reported needs them all.
#pragma once

#include "eigen.hpp"
#include "likelihood/rules.hpp"
#include "linear/accumulate.hpp"
#include "rows/nonzero_columns.hpp"
#include "rows/rows.hpp"
#include "rows/sums.hpp"
#include "simd/gram.hpp"

namespace bayeskernel {
struct NewtonScratch {
  VectorXd weight;  // of every row, to be filled
  MatrixXd near_x;
  VectorXd near_weight;
};

// gram += sum weight x x' and the groups of the tile, at the moments m and s.
void accumulate_newton(const RowSource& rows, const TileSpan& span,
                       const Tile& tile, const NonzeroColumns& active,
                       const double* m, const double* s, Second which,
                       NewtonScratch& scratch, MatrixXd& work, MatrixXd& gram,
                       Curvature& out);
}  // namespace bayeskernel
