#include "predict/process_moments.hpp"

#include "error.hpp"
#include "linear/accumulate.hpp"
#include "parallel/scratch_pool.hpp"
#include "rows/rows.hpp"

namespace bayeskernel {
DrawMoments process_moments(const FeatureRows& rows, const MatrixRef& points,
                            const std::vector<LinkCurve>& links,
                            Executor& executor) {
  const Index draws = points.cols();
  const ArrayXd quantiles = DrawMoments::even_quantiles(draws);
  DrawMoments out(rows.rows(), count_of(links));
  for (Index c = 0; c < rows.chunks(); ++c) {
    rows.load(c, c + 1 < rows.chunks() ? c + 1 : -1);
    const Index first = rows.chunk_begin(c);
    executor.run(rows.chunk_begin(c + 1) - first, [&](Index b) {
      MatrixXd buffer, f;
      ArrayXd value, extra;
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

ProcessMoments process_moments(const FeatureRows& rows,
                               const std::vector<GaussianPosterior>& q,
                               Executor& executor) {
  const Index n = rows.rows(), count = count_of(q);
  ProcessMoments out{MatrixXd(n, count), MatrixXd(n, count)};
  struct Scratch {
    MatrixXd tile, work;
  };
  ScratchPool<Scratch> pool;
  for (Index c = 0; c < rows.chunks(); ++c) {
    rows.load(c, c + 1 < rows.chunks() ? c + 1 : -1);
    const Index first = rows.chunk_begin(c);
    executor.run(rows.chunk_begin(c + 1) - first, [&](Index b) {
      auto loan = pool.borrow();
      for (Index t = rows.block_begin(first + b);
           t < rows.block_begin(first + b + 1); ++t) {
        const TileSpan& span = rows.tiles()[t];
        const Tile tile = rows.tile(span, (*loan).tile);
        for (Index k = 0; k < count; ++k) {
          tile_means(rows, span, tile, q[k].mean, &out.mean(span.row_begin, k));
          q[k].tile_variances(rows, span, tile, (*loan).work,
                              &out.variance(span.row_begin, k));
        }
      }
    });
  }
  return out;
}

ProcessValues process_values(const FeatureRows& rows, const MatrixRef& points,
                             const std::function<void()>& look) {
  if (points.rows() != rows.x_columns()) {
    throw ArgumentError("points of another process");
  }
  ProcessValues out{MatrixXd(rows.rows(), points.cols()),
                    VectorXd(rows.rows())};
  for_tiles(rows, [&](const TileSpan& span, const Tile& tile) {
    look();
    out.f.middleRows(span.row_begin, span.rows()).noalias() =
        tile.x.transpose() * points;
    out.residual.segment(span.row_begin, span.rows()) = tile.residual;
  });
  return out;
}
}  // namespace bayeskernel
