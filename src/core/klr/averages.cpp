#include "klr/averages.hpp"

#include "error.hpp"
#include "math/special.hpp"

namespace bayeskernel {
namespace {
// use(block, draw, first row, rows, f) of each draw at parts of the rows;
// done(first row, rows).
template <class Use, class Done>
void for_draws(const LowRankDraws& draws, const MatrixRef& train,
               const MatrixMap& x, Executor& executor, const Look& look,
               Use&& use, Done&& done) {
  if (x.cols() != train.cols()) {
    throw ArgumentError("new rows have other columns");
  }
  for_draw_blocks(
      draws.count(), x.rows(), executor, look,
      [&](Index first, Index size) {
        return LowRankData(x.middleRows(first, size));
      },
      [&](const LowRankData& rows) {
        return LowRankPredictor(train, rows, draws.rank);
      },
      [&](Index block, Index d, Index first, Index size, LowRankPredictor& at) {
        use(block, d, first, size, at.predict(draws.draw(d)));
      },
      done);
}
}  // namespace

LowRankDraw LowRankDraws::draw(Index d) const {
  const Index at = begin[d];
  return {intercept[d],     begin[d + 1] - at,      centre.data() + at,
          coefficient + at, log_lambda + rank * at, frame + frame_size * d};
}

LowRankAverages average_draws(const LowRankDraws& draws, const MatrixRef& train,
                              const MatrixMap& x, Executor& executor,
                              const Look& look) {
  const Index n = x.rows();
  LowRankAverages out{VectorXd(n), VectorXd(n), VectorXd(n), VectorXd(n)};
  BlockSums sums(draws.count(), 4);  // f, f^2, p, p^2
  const auto add = [&](Index block, Index, Index, Index size, const double* f) {
    MatrixXd& sum = sums.of(block, size);
    for (Index i = 0; i < size; ++i) {
      const double p = expit(f[i]);
      sum(i, 0) += f[i];
      sum(i, 1) += f[i] * f[i];
      sum(i, 2) += p;
      sum(i, 3) += p * p;
    }
  };
  const auto finish = [&](Index first, Index size) {
    const ArrayXXd mean = sums.take_mean(size);
    const auto variance = [&](Index k) {
      return (mean.col(k + 1) - mean.col(k).square()).max(0.0);
    };
    out.mean.segment(first, size) = mean.col(0);
    out.variance.segment(first, size) = variance(0);
    out.probability.segment(first, size) = mean.col(2);
    out.probability_sd.segment(first, size) = variance(2).sqrt();
  };
  for_draws(draws, train, x, executor, look, add, finish);
  return out;
}

MatrixXd latent_by_draw(const LowRankDraws& draws, const MatrixRef& train,
                        const MatrixMap& x, Executor& executor,
                        const Look& look) {
  MatrixXd out(draws.count(), x.rows());
  for_draws(
      draws, train, x, executor, look,
      [&](Index, Index d, Index first, Index size, const double* f) {
        for (Index i = 0; i < size; ++i) out(d, first + i) = f[i];
      },
      [](Index, Index) {});
  return out;
}
}  // namespace bayeskernel
