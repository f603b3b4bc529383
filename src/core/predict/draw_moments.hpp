// What posterior draws say of new rows: f itself, draw by draw, or its moments
// and those of the class probability. Given a draw f is normal: the effect of a
// group that the fit has not seen, and missing predictors given the others,
// are integrated out under the draw's own variances.
// O(draws (p + r)) a row.
#pragma once

#include "eigen.hpp"
#include "parallel/executor.hpp"
#include "predict/linear_rows.hpp"
#include "predict/link.hpp"

namespace bayeskernel {
// The scale of the data throughout.
struct LinearDraws {
  struct Term {
    MatrixMap effects;     // draws x (members r), member by member
    MatrixMap covariance;  // draws x r r, column by column
  };
  MatrixMap beta;  // draws x p
  std::vector<Term> terms;
  // Of missing predictors: draws x P, P x (P draws).
  MatrixMap x_mean, x_cov;
};

// A column for each link in the last two. On demand `middle` and
// `robust_variance`, what mean and variance would be of a normal law with the
// median of the draws and the distance of their quantiles at one standard
// deviation either side: where draws have heavy tails their moments are those
// of the few largest.
struct DrawMoments {
  VectorXd mean, var, middle, robust_variance;
  MatrixXd probability, probability_sd;

  DrawMoments(Index n, Index links, bool robust = false)
      : mean(n),
        var(n),
        middle(robust ? n : 0),
        robust_variance(robust ? n : 0),
        probability(n, links),
        probability_sd(n, links) {}

  struct Scratch {
    ArrayXd value, work, p;
  };

  // Row i from the draws of its mean and of its variance given the rest;
  // `extra` is empty where that is 0 in every draw. Where one value of f has to
  // stand for a draw it takes normal quantiles, put evenly over the draws
  // (the fractional parts of the golden ratio's multiples): with `whole` for
  // the variance of the probability, which then is that of g(f); without it for
  // the hinge's mean, and the variance is that of E g(f) between draws.
  void set(Index i, const ArrayXd& value, const ArrayXd& extra,
           const std::vector<LinkCurve>& links, const ArrayXd& quantiles,
           bool whole, Scratch& s);

  static ArrayXd even_quantiles(Index draws);

  // Sorts parts of s.value.
  void set_robust(Index i, const ArrayXd& value, const ArrayXd& extra,
                  Scratch& s);

  // The value at this probability of v, which is reordered.
  static double quantile(ArrayXd& v, double probability);

  static double variance(const ArrayXd& v, double mean);
};

class LinearDrawPredictor {
 public:
  LinearDrawPredictor(const LinearRows& rows, const LinearDraws& draws);

  DrawMoments moments(const std::vector<LinkCurve>& links, Executor& executor,
                      bool robust = false) const;

  // Draws x rows. Every group is known; `noise` is standard normal: draws x
  // (missing predictors) of each row with some, pattern by pattern.
  MatrixXd values(const double* noise, Executor& executor) const;

 private:
  using Work = DrawMoments::Scratch;
  // Given a draw x_m = center + slope (x_o - x_mean_o) plus noise of this
  // covariance, or of the covariance root root'.
  struct Conditional {
    std::vector<int> observed;
    ArrayXXd slope, cov, root;  // draws x m o, m m, m m
  };

  template <class Take>
  void each_row(const double* noise, Executor& executor, Take&& take) const {
    constexpr Index kRows = 32, kPart = 128;
    const Index n = rows_.x.rows(), draws = draws_.beta.rows();
    executor.run((n + kRows - 1) / kRows, [&](Index block) {
      const Index begin = block * kRows;
      const Index rows = std::min(kRows, n - begin);
      const MatrixXd f =
          draws_.beta * rows_.x.middleRows(begin, rows).transpose();
      ArrayXd value, extra;
      ArrayXXd none(draws, 0);
      const Conditional complete;
      Work work;
      for (Index k = 0; k < rows; ++k) {
        const Index i = begin + k;
        if (!whole_[i]) continue;
        value = f.col(k).array() + rows_.offset[i];
        extra.setZero(noise == nullptr && unseen(i) ? draws : 0);
        for (std::size_t t = 0; t < rows_.terms.size(); ++t) {
          add_effects(i, t, nullptr, complete, none, none, value, extra);
        }
        take(i, value, extra, work);
      }
    });
    // Rows with missing predictors, in parts of their patterns.
    struct PatternRows {
      std::size_t pattern;
      Index begin, end;
      const double* noise;
    };
    std::vector<PatternRows> parts;
    for (std::size_t k = 0; k < rows_.patterns.size(); ++k) {
      const Index count = rows_.patterns[k].rows.size();
      const Index width = draws * rows_.patterns[k].predictors.size();
      for (Index at = 0; at < count; at += kPart) {
        const Index end = std::min(count, at + kPart);
        parts.push_back({k, at, end, noise});
        if (noise != nullptr) noise += width * (end - at);
      }
    }
    executor.run(count_of(parts), [&](Index k) {
      const PatternRows& part = parts[k];
      const LinearRows::Pattern& pattern = rows_.patterns[part.pattern];
      const Conditional given = condition(pattern, part.noise != nullptr);
      const Index width = draws * pattern.predictors.size();
      ArrayXd value, extra;
      Work work;
      for (Index r = part.begin; r < part.end; ++r) {
        const Index i = pattern.rows[r];
        missing_row(i, pattern, given,
                    part.noise == nullptr
                        ? nullptr
                        : part.noise + width * (r - part.begin),
                    value, extra);
        take(i, value, extra, work);
      }
    });
  }

  Conditional condition(const LinearRows::Pattern& pattern, bool root) const;

  void missing_row(Index i, const LinearRows::Pattern& pattern,
                   const Conditional& given, const double* noise,
                   ArrayXd& value, ArrayXd& extra) const;

  static Index position(const std::vector<int>& missing, int predictor);

  bool unseen(Index i) const;

  // The effect of an unseen group adds z'Psi z at the mean of z, and the part
  // of it that the variance of missing predictors brings.
  void add_effects(Index i, std::size_t t, const std::vector<int>* missing,
                   const Conditional& given, const ArrayXXd& at,
                   ArrayXXd& slope, ArrayXd& value, ArrayXd& extra) const;

  const LinearRows& rows_;
  const LinearDraws& draws_;
  std::vector<char> whole_;
};
}  // namespace bayeskernel
