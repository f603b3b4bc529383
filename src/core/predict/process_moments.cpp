#include "predict/process_moments.hpp"

#include <algorithm>
#include <vector>

#include "eigen.hpp"
#include "gp/features.hpp"
#include "parallel/executor.hpp"
#include "predict/draw_moments.hpp"
#include "predict/link.hpp"
#include "rows/rows.hpp"

namespace bayeskernel {

DrawMoments process_moments(const FeatureRows& rows,
                            const Eigen::Ref<const MatrixXd>& points,
                            const std::vector<LinkCurve>& links,
                            Executor& executor) {
  const Index draws = points.cols();
  const Eigen::ArrayXd quantiles = DrawMoments::even_quantiles(draws);
  DrawMoments out(rows.rows(), static_cast<Index>(links.size()));
  for (Index c = 0; c < rows.chunks(); ++c) {
    rows.load(c, c + 1 < rows.chunks() ? c + 1 : -1);
    const Index first = rows.chunk_begin(c);
    executor.run(rows.chunk_begin(c + 1) - first, [&](Index b) {
      MatrixXd buffer, f;
      Eigen::ArrayXd value, extra;
      DrawMoments::Scratch scratch;
      for (Index t = rows.block_begin(first + b);
           t < rows.block_begin(first + b + 1); ++t) {
        const TileSpan& span = rows.tiles()[t];
        const Tile tile = rows.tile(span, buffer);
        f.noalias() = points.transpose() * tile.x;
        for (Index i = 0; i < f.cols(); ++i) {
          value = f.col(i).array();
          extra.setConstant(draws, std::max(tile.residual[i], 0.0));
          out.set(span.row_begin + i, value, extra, links, quantiles, false,
                  scratch);
        }
      }
    });
  }
  return out;
}

}  // namespace bayeskernel
