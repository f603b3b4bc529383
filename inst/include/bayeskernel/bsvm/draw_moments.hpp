// Moments over posterior draws, row by row: of f = offset + x'beta + z'u, and
// of the class probability (svm.md sections 6 to 8). O(draws (p + r)) a row.
#ifndef BAYESKERNEL_BSVM_DRAW_MOMENTS_HPP
#define BAYESKERNEL_BSVM_DRAW_MOMENTS_HPP

#include <Eigen/Core>
#include <algorithm>
#include <cmath>
#include <vector>

#include "../hinge/probability.hpp"
#include "../math/normal.hpp"
#include "../parallel/executor.hpp"

namespace bayeskernel {

// Draws of one random term: `effects` is draws x (members r), member by
// member; `covariance` draws x r r, column by column, integrates the effect of
// a group out that the fit has not seen (group 0).
struct TermDraws {
  Eigen::Map<const Eigen::MatrixXd> z;  // n x r
  std::vector<int> group;               // 1 .. members, 0 unseen
  Eigen::Map<const Eigen::MatrixXd> effects;
  Eigen::Map<const Eigen::MatrixXd> covariance;
};

struct DrawMoments {
  Eigen::VectorXd mean, var, probability, probability_sd;
};

// Data scale throughout. `hinge` chooses the link.
inline DrawMoments draw_moments(
    const Eigen::Ref<const Eigen::MatrixXd>& x,
    const Eigen::Ref<const Eigen::VectorXd>& offset,
    const Eigen::Ref<const Eigen::MatrixXd>& beta,
    const std::vector<TermDraws>& terms, bool hinge, Executor& executor) {
  const Eigen::Index n = x.rows(), draws = beta.rows();
  const double count = static_cast<double>(draws);
  DrawMoments out;
  for (Eigen::VectorXd* v :
       {&out.mean, &out.var, &out.probability, &out.probability_sd}) {
    v->resize(n);
  }
  const HingeProbability average;
  constexpr Eigen::Index kRows = 32;
  const auto variance = [&](const Eigen::ArrayXd& v, double mean) {
    return draws > 1 ? (v - mean).square().sum() / (count - 1.0) : 0.0;
  };
  executor.run((n + kRows - 1) / kRows, [&](Eigen::Index block) {
    const Eigen::Index begin = block * kRows;
    const Eigen::Index rows = std::min(kRows, n - begin);
    Eigen::MatrixXd f = beta * x.middleRows(begin, rows).transpose();
    Eigen::ArrayXd extra(draws), probability(draws), at(draws), work(draws);
    for (Eigen::Index k = 0; k < rows; ++k) {
      const Eigen::Index i = begin + k;
      auto value = f.col(k).array();
      value += offset[i];
      bool unseen = false;
      extra.setZero();
      for (const TermDraws& term : terms) {
        const Eigen::Index r = term.z.cols();
        for (Eigen::Index a = 0; a < r; ++a) {
          const double za = term.z(i, a);
          if (term.group[i] > 0) {
            value += za * term.effects.col((term.group[i] - 1) * r + a).array();
            continue;
          }
          unseen = true;
          for (Eigen::Index b = 0; b < r; ++b) {
            extra += za * term.z(i, b) * term.covariance.col(a * r + b).array();
          }
        }
      }
      out.mean[i] = value.mean();
      out.var[i] = variance(value, out.mean[i]) + extra.mean();
      if (!hinge) {
        if (unseen) value /= (1.0 + extra).sqrt();
        at = value;
        normal_cdf(at, work, probability);
      } else if (unseen) {
        for (Eigen::Index s = 0; s < draws; ++s) {
          probability[s] = average(value[s], std::sqrt(extra[s]));
        }
      } else {
        probability = 1.0 / (1.0 + (2.0 * ((1.0 - value).max(0.0) -
                                           (1.0 + value).max(0.0))).exp());
      }
      out.probability[i] = probability.mean();
      out.probability_sd[i] =
          std::sqrt(variance(probability, out.probability[i]));
    }
  });
  return out;
}

}  // namespace bayeskernel

#endif
