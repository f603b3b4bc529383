// gamma_k and v_k of one column after another, exactly given all else with the
// latents of the rows and b integrated out. Given the latents, which remember
// the coefficients that they were drawn with, columns come and go slowly.
//   v_k        log-concave: sum omega log p(y | f) - |v_k| / sigma_v, by
//              adaptive rejection (mcmc/tangents.hpp)
//   gamma_k    from an atom at 0 beside the hull of v_k
// Of an indicator with several columns each v_k given that it is in. Where the
// model has an intercept it takes up the column's median, so that columns that
// are equal in most rows move nothing there.
#pragma once

#include "eigen.hpp"
#include "likelihood/family.hpp"
#include "likelihood/line_terms.hpp"
#include "mcmc/tangents.hpp"
#include "parallel/executor.hpp"
#include "prior/blocks.hpp"
#include "prior/indicators.hpp"
#include "rng/stream.hpp"
#include "rows/rows.hpp"
#include "rows/sums.hpp"
#include "rows/sweep.hpp"
#include "selection/gibbs.hpp"

namespace bayeskernel {
class ColumnMoves {
 public:
  // Rows of labels without residuals, in memory.
  ColumnMoves(const PackedRows& rows, const Prior& prior,
              const Selection& selection, Executor& executor, Family family);

  void run(Stream& stream, ArrowVector& point, SelectionState& state);

 private:
  void find_intercept(const PackedRows& rows);
  // gap_ and weight_ of all rows at `point`.
  void read_rows(const ArrowVector& point);
  // `point` and gap_ without effect k, and slope_ of its column.
  void take_out(Index k, ArrowVector& point);
  void put_in(Index k, double effect, ArrowVector& point);
  // Sum omega log p(y | f), with the intercept's prior, and its derivative
  // where effect k is t.
  LineTerms at(Index k, double t);
  // A new effect, or the old one where rounding prevents it.
  double draw(Stream& stream, Index k, bool single, double old,
              SelectionState& state);
  // The hull of v_k, which falls on both sides; from the likelihood at 0.
  void begin_hull(Index k, const LineTerms& zero, double log_prior,
                  double rate);

  Sweep sweep_;
  const Prior& prior_;
  const Selection& selection_;
  Family family_;
  VectorXd gap_, weight_, slope_;
  std::vector<LineTerms> terms_;  // by block
  bool equal_ = false;            // all weights 1
  std::vector<std::vector<Index>> units_;
  Index intercept_ = -1;  // among the columns of x; -1: none
  VectorXd median_;       // by column of the selection
  double level_ = 0.0;    // of the intercept without effect k
  TangentHull hull_;
};
}  // namespace bayeskernel
