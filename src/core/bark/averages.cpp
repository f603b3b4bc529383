#include "bark/averages.hpp"

#include "error.hpp"
#include "math/interval_variance.hpp"
#include "math/normal.hpp"

namespace bayeskernel {
namespace {
// use(block, draw, first row, rows, predictor) of each draw at parts of the
// rows; done(first row, rows).
template <class Use, class Done>
void for_draws(const BarkDraws& draws, const BarkTraining& train,
               const MatrixMap& x, const Eigen::MatrixXi& level,
               Executor& executor, const Look& look, Use&& use, Done&& done) {
  if (x.cols() != train.x.cols()) {
    throw ArgumentError("new rows have other columns");
  }
  if (level.size() > 0 && level.rows() != x.rows()) {
    throw ArgumentError("not a level for each new row");
  }
  const BarkData known = train.rows();
  const Index most = draws.most();
  for_draw_blocks(
      draws.count(), x.rows(), executor, look,
      [&](Index first, Index size) {
        Eigen::MatrixXi own;
        if (level.size() > 0) own = level.middleRows(first, size);
        return BarkData(x.middleRows(first, size), train.x, {},
                        train.blocks.rows(x.middleRows(first, size), own),
                        train.vectors);
      },
      [&](const BarkData& rows) { return DrawPredictor(known, rows, most); },
      [&](Index block, Index d, Index first, Index size, DrawPredictor& at) {
        at.predict(draws.draw(d), draws.lambda.row(d));
        use(block, d, first, size, at);
      },
      done);
}

// Of a row given a draw, f ~ N(f, v): of each class the means of p and p^2. The
// variance of p given a draw, which costs more than all the rest, is averaged
// over 400 of many draws.
class ClassTerms {
 public:
  explicit ClassTerms(const BarkDraws& draws)
      : draws_(draws), every_(std::max<Index>(draws.count() / 400, 1)) {}

  template <class Sums>
  void add(Index d, double f, double v, Sums&& sums) const {
    const Index used = (draws_.count() + every_ - 1) / every_;
    const double share = d % every_ == 0 ? 1.0 * draws_.count() / used : 0.0;
    const double scale = 1.0 / std::sqrt(1.0 + v);
    double below = 0.0, spread = 0.0;
    double lower = -std::numeric_limits<double>::infinity();
    for (int c = 1; c <= draws_.classes; ++c) {
      const double upper = draws_.cut(d, c) - f;
      const double upto = normal_cdf(upper * scale);
      const double p = std::max(upto - below, 0.0);
      // Of two classes both have the same.
      if (share > 0.0 && (c == 1 || draws_.classes > 2)) {
        spread = share * variance_(lower, upper, v);
      }
      sums[2 * c - 2] += p;
      sums[2 * c - 1] += p * p + spread;
      below = upto;
      lower = upper;
    }
  }

 private:
  const BarkDraws& draws_;
  Index every_;
  IntervalVariance variance_;
};
}  // namespace

Index BarkDraws::most() const {
  Index out = 0;
  for (Index d = 0; d < count(); ++d) {
    out = std::max(out, begin[d + 1] - begin[d]);
  }
  return out;
}

KeptDraw BarkDraws::draw(Index d) const {
  const Index at = begin[d];
  return {begin[d + 1] - at,
          location + at,
          variance + at,
          mean + at,
          phi[d],
          block_mean + d * fixed,
          block_variance + d * blocks};
}

double BarkDraws::cut(Index d, int c) const {
  if (c == classes) return std::numeric_limits<double>::infinity();
  return classes == 2 ? 0.0 : cuts(d, c - 1);
}

BarkData BarkTraining::rows() const {
  return BarkData(x, x, weights, blocks.rows(x, level), vectors);
}

BarkAverages average_draws(const BarkDraws& draws, const BarkTraining& train,
                           const MatrixMap& x, const Eigen::MatrixXi& level,
                           Executor& executor, const Look& look) {
  const Index n = x.rows(), classes = draws.classes;
  const ClassTerms terms(draws);
  BarkAverages out{VectorXd(n), VectorXd(n), MatrixXd(n, classes),
                   MatrixXd(n, classes)};
  // f, f^2, its variance, then of the classes.
  BlockSums sums(draws.count(), 3 + 2 * classes);
  const auto add = [&](Index block, Index d, Index, Index size,
                       const DrawPredictor& at) {
    MatrixXd& sum = sums.of(block, size);
    std::vector<double> own(2 * classes);
    for (Index i = 0; i < size; ++i) {
      const double f = at.mean(i), v = at.variance(i);
      sum(i, 0) += f;
      sum(i, 1) += f * f;
      sum(i, 2) += v;
      std::fill(own.begin(), own.end(), 0.0);
      terms.add(d, f, v, own);
      for (Index k = 0; k < 2 * classes; ++k) sum(i, 3 + k) += own[k];
    }
  };
  const auto finish = [&](Index first, Index size) {
    const ArrayXXd mean = sums.take_mean(size);
    out.mean.segment(first, size) = mean.col(0);
    out.variance.segment(first, size) =
        mean.col(2) + (mean.col(1) - mean.col(0).square()).max(0.0);
    for (Index c = 0; c < classes; ++c) {
      const auto p = mean.col(3 + 2 * c);
      out.probability.col(c).segment(first, size) = p;
      out.probability_sd.col(c).segment(first, size) =
          (mean.col(4 + 2 * c) - p.square()).max(0.0).sqrt();
    }
  };
  for_draws(draws, train, x, level, executor, look, add, finish);
  return out;
}

BarkLatent latent_by_draw(const BarkDraws& draws, const BarkTraining& train,
                          const MatrixMap& x, const Eigen::MatrixXi& level,
                          Executor& executor, const Look& look) {
  BarkLatent out{MatrixXd(draws.count(), x.rows()),
                 MatrixXd(draws.count(), x.rows())};
  for_draws(
      draws, train, x, level, executor, look,
      [&](Index, Index d, Index first, Index size, const DrawPredictor& at) {
        for (Index i = 0; i < size; ++i) {
          out.mean(d, first + i) = at.mean(i);
          out.variance(d, first + i) = at.variance(i);
        }
      },
      [](Index, Index) {});
  return out;
}
}  // namespace bayeskernel
