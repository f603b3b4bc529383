// E f and Var f of rows, as a pass asks for them tile by tile: under q(theta,
// u), at a draw, or before there is either. Columns may be in the model with a
// probability: they enter times its mean, and what is not known of it adds to
// Var f.
#pragma once

#include "eigen.hpp"
#include "linear/gaussian.hpp"
#include "rows/nonzero_columns.hpp"
#include "rows/rows.hpp"
#include "rows/sums.hpp"

namespace bayeskernel {
struct Moments {
  const GaussianPosterior* q = nullptr;
  const ArrowVector* point = nullptr;  // without q: a draw, whose Var f is not
                                       // set; without both E f is the offset
                                       // and Var f = 1
  VectorXd column_mean;                // p, empty: all columns are in
  VectorXd column_var;                 // p, Var f by x_k^2; empty: none

  struct Scratch {
    MatrixXd scaled, work;
    NonzeroColumns active;  // of the tile, or none
  };

  void tile(const RowSource& rows, const TileSpan& span, const Tile& tile,
            Scratch& scratch, double* m, double* s) const;

 private:
  void of_q(const RowSource& rows, const TileSpan& span, const Tile& tile,
            const NonzeroColumns& active, MatrixXd& work, double* m,
            double* s) const;
};
}  // namespace bayeskernel
