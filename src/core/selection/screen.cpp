#include "selection/screen.hpp"

#include "selection/active_columns.hpp"

namespace bayeskernel {
RowGradient::RowGradient(const PackedRows& rows, const RowModel& model,
                         const Noise& noise, const VectorXd& m,
                         const VectorXd& s)
    : kappa(rows.rows()), gradient(rows.rows()) {
  RowRules rules(model);
  rules.set_noise(noise);
  run_rule(rules.later(), rows, m, s, kappa, gradient);
}

ColumnSums::ColumnSums(const MatrixRef& x, const std::vector<Index>& columns,
                       const VectorXd& center, const VectorXd& scale,
                       const VectorRef& weight, const MatrixRef& gradients)
    : products(gradients.cols(), count_of(columns)),
      squares(count_of(columns)) {
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
