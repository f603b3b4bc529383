#include "selection/screen.hpp"

#include <algorithm>
#include <vector>

#include "eigen.hpp"
#include "likelihood/family.hpp"
#include "likelihood/rules.hpp"
#include "linear/row_rules.hpp"
#include "rows/rows.hpp"

namespace bayeskernel {

RowGradient::RowGradient(const PackedRows& rows, const RowModel& model,
                         const Noise& noise, const VectorXd& m,
                         const VectorXd& s)
    : kappa(rows.rows()), gradient(rows.rows()) {
  RowRules rules(model);
  rules.set_noise(noise);
  VectorXd newton(rows.rows());
  MatrixXd buffer;
  for (const TileSpan& span : rows.tiles()) {
    const Index at = span.row_begin;
    rules.later().tile(
        span, rows.tile(span, buffer), m.data() + at, s.data() + at,
        {kappa.data() + at, gradient.data() + at, newton.data() + at});
  }
}

ColumnSums::ColumnSums(const Eigen::Ref<const MatrixXd>& x,
                       const std::vector<Index>& columns,
                       const VectorXd& center, const VectorXd& scale,
                       const Eigen::Ref<const VectorXd>& weight,
                       const Eigen::Ref<const MatrixXd>& gradients)
    : products(gradients.cols(), static_cast<Index>(columns.size())),
      squares(static_cast<Index>(columns.size())) {
  constexpr Index kColumns = 32;
  const Index size = squares.size();
  MatrixXd some(x.rows(), kColumns);
  for (Index first = 0; first < size; first += kColumns) {
    const Index count = std::min(kColumns, size - first);
    for (Index j = 0; j < count; ++j) {
      const Index c = columns[first + j];
      some.col(j) = (x.col(c).array() - center[c]) / scale[c];
      squares[first + j] = some.col(j).cwiseAbs2().dot(weight);
    }
    products.middleCols(first, count).noalias() =
        gradients.transpose() * some.leftCols(count);
  }
}

}  // namespace bayeskernel
