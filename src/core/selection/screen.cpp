#include "selection/screen.hpp"

#include "eigen.hpp"
#include "likelihood/family.hpp"
#include "likelihood/rules.hpp"
#include "linear/row_rules.hpp"
#include "rows/rows.hpp"

namespace bayeskernel {

RowPull::RowPull(const PackedRows& rows, const RowModel& model,
                 const Noise& noise, const VectorXd& m, const VectorXd& s)
    : kappa(rows.rows()), pull(rows.rows()) {
  RowRules rules(model);
  rules.set_noise(noise);
  VectorXd newton(rows.rows());
  MatrixXd buffer;
  for (const TileSpan& span : rows.tiles()) {
    const Index at = span.row_begin;
    rules.later().tile(
        span, rows.tile(span, buffer), m.data() + at, s.data() + at,
        {kappa.data() + at, pull.data() + at, newton.data() + at});
  }
}

}  // namespace bayeskernel
