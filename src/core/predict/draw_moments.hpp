// What posterior draws say of new rows: f itself, draw by draw, or its moments
// and those of the class probability. Given a draw f is normal: the effect of a
// group that the fit has not seen, and missing predictors given the others,
// are integrated out under the draw's own variances.
// O(draws (p + r)) a row.
#ifndef BAYESKERNEL_PREDICT_DRAW_MOMENTS_HPP
#define BAYESKERNEL_PREDICT_DRAW_MOMENTS_HPP

#include <Eigen/Cholesky>
#include <Eigen/Core>
#include <algorithm>
#include <cmath>
#include <vector>

#include "math/normal.hpp"
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

// A column for each link in the last two. On demand `middle` and `spread`, what
// mean and variance would be of a normal law with the median of the draws and
// the distance of their quantiles at one standard deviation either side: where
// draws have heavy tails their moments are those of the few largest.
struct DrawMoments {
  Eigen::VectorXd mean, var, middle, spread;
  Eigen::MatrixXd probability, probability_sd;

  DrawMoments(Eigen::Index n, Eigen::Index links, bool robust = false)
      : mean(n),
        var(n),
        middle(robust ? n : 0),
        spread(robust ? n : 0),
        probability(n, links),
        probability_sd(n, links) {}

  struct Scratch {
    Eigen::ArrayXd value, work, p;
  };

  // Row i from the draws of its mean and of its variance given the rest; `extra`
  // is empty where that is 0 in every draw. Where one value of f has to stand for
  // a draw it takes normal quantiles, spread evenly over the draws (the
  // fractional parts of the golden ratio's multiples): with `whole` for the
  // spread of the probability, which then is that of g(f); without it for the
  // hinge's mean, and the spread is that of E g(f) between draws.
  void set(Eigen::Index i, const Eigen::ArrayXd& value,
           const Eigen::ArrayXd& extra, const std::vector<LinkCurve>& links,
           const Eigen::ArrayXd& quantiles, bool whole, Scratch& s) {
    const bool open = extra.size() > 0;
    mean[i] = value.mean();
    var[i] = variance(value, mean[i]) + (open ? extra.mean() : 0.0);
    if (middle.size() > 0) set_robust(i, value, extra, s);
    for (std::size_t l = 0; l < links.size(); ++l) {
      if (open && whole && links[l].link() != Link::probit) {
        s.p.resize(value.size());
        for (Eigen::Index d = 0; d < value.size(); ++d) {
          s.p[d] = links[l].mean(value[d], extra[d]);
        }
      } else {
        if (!open) {
          s.value = value;
        } else if (links[l].link() == Link::probit) {
          s.value = value / (1.0 + extra).sqrt();
        } else {
          s.value = value + extra.sqrt() * quantiles;
        }
        links[l].values(s.value, s.work, s.p);
      }
      probability(i, l) = s.p.mean();
      if (open && whole) {
        s.value = value + extra.sqrt() * quantiles;
        links[l].values(s.value, s.work, s.p);
      }
      probability_sd(i, l) = std::sqrt(variance(s.p, s.p.mean()));
    }
  }

  static Eigen::ArrayXd even_quantiles(Eigen::Index draws) {
    Eigen::ArrayXd out(draws);
    for (Eigen::Index d = 0; d < draws; ++d) {
      double whole;
      out[d] = normal_quantile(
          std::modf(static_cast<double>(d + 1) * 0.61803398874989485, &whole));
    }
    return out;
  }

  // Sorts parts of s.value.
  void set_robust(Eigen::Index i, const Eigen::ArrayXd& value,
                  const Eigen::ArrayXd& extra, Scratch& s) {
    constexpr double kBelow = 0.15865525393145705;  // of a normal law
    s.value = value;
    middle[i] = quantile(s.value, 0.5);
    const double half = 0.5 * (quantile(s.value, 1.0 - kBelow) -
                               quantile(s.value, kBelow));
    spread[i] = half * half;
    if (extra.size() == 0) return;
    s.value = extra;
    spread[i] += quantile(s.value, 0.5);
  }

  // The value nearest to that share of v, which is reordered.
  static double quantile(Eigen::ArrayXd& v, double share) {
    if (v.size() == 0) return 0.0;
    double* at = v.data() + std::lround(share * static_cast<double>(
                                                    v.size() - 1));
    std::nth_element(v.data(), at, v.data() + v.size());
    return *at;
  }

  static double variance(const Eigen::ArrayXd& v, double mean) {
    return v.size() > 1 ? (v - mean).square().sum() /
                              static_cast<double>(v.size() - 1)
                        : 0.0;
  }
};

class LinearDrawPredictor {
 public:
  using Index = Eigen::Index;
  using ArrayXd = Eigen::ArrayXd;
  using MatrixXd = Eigen::MatrixXd;

  LinearDrawPredictor(const LinearRows& rows, const LinearDraws& draws)
      : rows_(rows), draws_(draws), whole_(rows.x.rows(), true) {
    for (const LinearRows::Pattern& pattern : rows.patterns) {
      for (const int i : pattern.rows) whole_[i] = false;
    }
  }

  DrawMoments moments(const std::vector<LinkCurve>& links, Executor& executor,
                      bool robust = false) const {
    DrawMoments out(rows_.x.rows(), static_cast<Index>(links.size()), robust);
    const ArrayXd quantiles = DrawMoments::even_quantiles(draws_.beta.rows());
    each_row(nullptr, executor,
             [&](Index i, const ArrayXd& f, const ArrayXd& extra, Work& work) {
               out.set(i, f, extra, links, quantiles, true, work);
             });
    return out;
  }

  // Draws x rows. Every group is known; `noise` is standard normal: draws x
  // (missing predictors) of each row with some, pattern by pattern.
  MatrixXd values(const double* noise, Executor& executor) const {
    MatrixXd out(draws_.beta.rows(), rows_.x.rows());
    each_row(noise, executor,
             [&](Index i, const ArrayXd& f, const ArrayXd&, Work&) {
               out.col(i) = f;
             });
    return out;
  }

 private:
  using Work = DrawMoments::Scratch;
  // Given a draw x_m = center + slope (x_o - x_mean_o) plus noise of this
  // covariance, or of the covariance root root'.
  struct Conditional {
    std::vector<int> observed;
    Eigen::ArrayXXd slope, cov, root;  // draws x m o, m m, m m
  };

  template <class Take>
  void each_row(const double* noise, Executor& executor, Take&& take) const {
    constexpr Index kRows = 32, kShare = 128;
    const Index n = rows_.x.rows(), draws = draws_.beta.rows();
    executor.run((n + kRows - 1) / kRows, [&](Index block) {
      const Index begin = block * kRows;
      const Index rows = std::min(kRows, n - begin);
      const MatrixXd f =
          draws_.beta * rows_.x.middleRows(begin, rows).transpose();
      ArrayXd value, extra;
      Eigen::ArrayXXd none(draws, 0);
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
    // Rows with missing predictors, in shares of their patterns.
    struct Share {
      std::size_t pattern;
      Index begin, end;
      const double* noise;
    };
    std::vector<Share> shares;
    for (std::size_t k = 0; k < rows_.patterns.size(); ++k) {
      const Index count = rows_.patterns[k].rows.size();
      const Index width = draws * rows_.patterns[k].predictors.size();
      for (Index at = 0; at < count; at += kShare) {
        const Index end = std::min(count, at + kShare);
        shares.push_back({k, at, end, noise});
        if (noise != nullptr) noise += width * (end - at);
      }
    }
    executor.run(static_cast<Index>(shares.size()), [&](Index k) {
      const Share& share = shares[k];
      const LinearRows::Pattern& pattern = rows_.patterns[share.pattern];
      const Conditional given = condition(pattern, share.noise != nullptr);
      const Index width = draws * pattern.predictors.size();
      ArrayXd value, extra;
      Work work;
      for (Index r = share.begin; r < share.end; ++r) {
        const Index i = pattern.rows[r];
        missing_row(i, pattern, given,
                    share.noise == nullptr
                        ? nullptr
                        : share.noise + width * (r - share.begin),
                    value, extra);
        take(i, value, extra, work);
      }
    });
  }

  Conditional condition(const LinearRows::Pattern& pattern, bool root) const {
    const std::vector<int>& missing = pattern.predictors;
    Conditional out;
    out.observed = rows_.observed(pattern);
    const Index m = missing.size(), o = out.observed.size();
    const Index draws = draws_.beta.rows(), size = m + o;
    out.slope.resize(draws, m * o);
    (root ? out.root : out.cov).resize(draws, m * m);
    for (Index s = 0; s < draws; ++s) {
      const auto full = draws_.x_cov.middleCols(s * size, size);
      MatrixXd cov = pick(full, missing, missing);
      if (o > 0) {
        const MatrixXd across = pick(full, out.observed, missing);
        const MatrixXd slope =
            pick(full, out.observed, out.observed).llt().solve(across);
        cov.noalias() -= slope.transpose() * across;
        Eigen::Map<Eigen::RowVectorXd, 0, Eigen::InnerStride<>>(
            out.slope.data() + s, m * o, Eigen::InnerStride<>(draws)) =
            Eigen::Map<const Eigen::RowVectorXd>(slope.data(), m * o);
      }
      if (root) cov = MatrixXd(cov.llt().matrixL());
      Eigen::Map<Eigen::RowVectorXd, 0, Eigen::InnerStride<>>(
          (root ? out.root : out.cov).data() + s, m * m,
          Eigen::InnerStride<>(draws)) =
          Eigen::Map<const Eigen::RowVectorXd>(cov.data(), m * m);
    }
    return out;
  }

  void missing_row(Index i, const LinearRows::Pattern& pattern,
                   const Conditional& given, const double* noise,
                   ArrayXd& value, ArrayXd& extra) const {
    const std::vector<int>& missing = pattern.predictors;
    const Index m = missing.size(), o = given.observed.size();
    const Index draws = draws_.beta.rows();
    // f without the missing predictors, and its slope in each of them.
    Eigen::ArrayXXd slope = Eigen::ArrayXXd::Zero(draws, m);
    Eigen::VectorXd x = rows_.x.row(i);
    rows_.missing.each(i, [&](const MissingUses::Use& use) {
      x[use.column] = use.base;
      slope.col(position(missing, use.predictor)) +=
          use.slope * draws_.beta.col(use.column).array();
    });
    value = (draws_.beta * x).array() + rows_.offset[i];
    // The predictors themselves: their means given the others, by draw, or
    // simulated values.
    Eigen::ArrayXXd at(draws, m);
    for (Index j = 0; j < m; ++j) {
      at.col(j) = draws_.x_mean.col(missing[j]).array();
      for (Index k = 0; k < o; ++k) {
        const int from = given.observed[k];
        at.col(j) += given.slope.col(j * o + k) *
                     (rows_.predictors(i, from) -
                      draws_.x_mean.col(from).array());
      }
    }
    for (Index j = 0; noise != nullptr && j < m; ++j) {
      for (Index l = 0; l <= j; ++l) {
        at.col(j) += given.root.col(l * m + j) *
                     Eigen::Map<const ArrayXd>(noise + l * draws, draws);
      }
    }
    extra.setZero(noise == nullptr ? draws : 0);
    for (std::size_t t = 0; t < rows_.terms.size(); ++t) {
      add_effects(i, t, &missing, given, at, slope, value, extra);
    }
    for (Index j = 0; j < m; ++j) {
      value += slope.col(j) * at.col(j);
      for (Index l = 0; noise == nullptr && l < m; ++l) {
        extra += given.cov.col(l * m + j) * slope.col(j) * slope.col(l);
      }
    }
  }

  static Index position(const std::vector<int>& missing, int predictor) {
    return std::lower_bound(missing.begin(), missing.end(), predictor) -
           missing.begin();
  }

  bool unseen(Index i) const {
    for (const LinearRows::Term& term : rows_.terms) {
      if (term.group[i] == 0) return true;
    }
    return false;
  }

  // The effect of an unseen group adds z'Psi z at the mean of z, and the part
  // of it that the variance of missing predictors brings.
  void add_effects(Index i, std::size_t t, const std::vector<int>* missing,
                   const Conditional& given, const Eigen::ArrayXXd& at,
                   Eigen::ArrayXXd& slope, ArrayXd& value,
                   ArrayXd& extra) const {
    const LinearRows::Term& term = rows_.terms[t];
    const int g = term.group[i];
    const Index r = term.z.cols(), m = at.cols();
    Eigen::VectorXd z = term.z.row(i);
    MatrixXd tangent = MatrixXd::Zero(r, m);
    term.missing.each(i, [&](const MissingUses::Use& use) {
      z[use.column] = use.base;
      tangent(use.column, position(*missing, use.predictor)) += use.slope;
    });
    if (g > 0) {
      const auto effects = draws_.terms[t].effects.middleCols((g - 1) * r, r);
      value += (effects * z).array();
      slope.matrix().noalias() += effects * tangent;
      return;
    }
    if (extra.size() == 0) return;
    const Eigen::ArrayXXd here =
        (at.matrix() * tangent.transpose()).array().rowwise() +
        z.transpose().array();
    const MatrixMap& covariance = draws_.terms[t].covariance;
    for (Index a = 0; a < r; ++a) {
      for (Index b = 0; b < r; ++b) {
        ArrayXd product = here.col(a) * here.col(b);
        for (Index j = 0; j < m; ++j) {
          for (Index l = 0; l < m; ++l) {
            const double both = tangent(a, j) * tangent(b, l);
            if (both != 0.0) product += both * given.cov.col(l * m + j);
          }
        }
        extra += product * covariance.col(a * r + b).array();
      }
    }
  }

  const LinearRows& rows_;
  const LinearDraws& draws_;
  std::vector<char> whole_;
};

}  // namespace bayeskernel

#endif
