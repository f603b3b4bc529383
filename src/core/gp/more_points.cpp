#include "gp/more_points.hpp"

#include "likelihood/rules.hpp"
#include "linear/mean_field.hpp"
#include "prior/blocks.hpp"
#include "rows/rows.hpp"
#include "simd/lower_product.hpp"

namespace bayeskernel {
double gain_of_more_points(const FeatureRows& rows, const VectorXd& mean,
                           const MatrixRef& whitener, Executor& executor,
                           const MeanFieldSettings& settings,
                           const KeepGoing& keep_going) {
  const Index n = rows.rows(), m = mean.size(), k = rows.x_columns() - m;
  PackedRows own;
  own.x.resize(k, n);
  own.z.resize(0, n);
  for (VectorXd* v : {&own.y, &own.weight, &own.offset, &own.residual}) {
    v->resize(n);
  }
  double before = 0.0;
  {
    const LowerProduct product(whitener);
    MatrixXd old, work;
    for_tiles(rows, [&](const TileSpan& span, const Tile& tile) {
      const Index first = span.row_begin, count = span.rows();
      old = tile.x.topRows(m);
      own.x.middleCols(first, count) = tile.x.bottomRows(k);
      own.y.segment(first, count) = tile.y;
      own.weight.segment(first, count) = tile.weight;
      own.offset.segment(first, count) = tile.offset + old.transpose() * mean;
      own.residual.segment(first, count) = tile.residual;
      product.add_norms(old.data(), count, work, &own.residual[first]);
      for (Index i = first; i < first + count; ++i) {
        before += mean_field(own.y[i], own.weight[i], own.offset[i],
                             own.residual[i] + own.x.col(i).squaredNorm())
                      .bound;
      }
    });
  }
  own.finish({});
  const Prior prior = unit_prior(k);
  MeanFieldFit fit(own, prior, executor, nullptr, nullptr, false);
  const MeanFieldResult result = fit.run(settings, keep_going);
  if (result.interrupted || result.bound.empty()) {
    return std::numeric_limits<double>::quiet_NaN();
  }
  return result.bound.back() - before;
}
}  // namespace bayeskernel
