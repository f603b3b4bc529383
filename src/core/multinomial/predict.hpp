// Prediction: w_c k* has mean w_c k* and variance k*' V_c k*, and the
// probability of a class is that of the largest of normals with unequal scales
// s_c^2 = 1 + k*' V_c k*. (Eq. 12 prints s_c^2 in place of s_c, and a mean with
// an inverse too many.)
#ifndef BAYESKERNEL_MULTINOMIAL_PREDICT_HPP
#define BAYESKERNEL_MULTINOMIAL_PREDICT_HPP

#include <Eigen/Core>
#include <cmath>
#include <optional>
#include <utility>
#include <vector>

#include "simd/lower_product.hpp"
#include "multinomial/conic.hpp"
#include "multinomial/design.hpp"
#include "multinomial/regression.hpp"

namespace bayeskernel {

// q(W) of a fit.
class MultinomialPosterior {
 public:
  // Factors: one of all classes, or one of each.
  MultinomialPosterior(MatrixXd mean, std::vector<RegressionFactor> factors)
      : mean_(std::move(mean)), factors_(std::move(factors)) {
    for (const RegressionFactor& factor : factors_) {
      products_.emplace_back(factor.u());
    }
  }

  Index classes() const { return mean_.rows(); }
  Index regressors() const { return mean_.cols(); }
  const MatrixXd& mean() const { return mean_; }

  struct Scratch {
    MatrixXd own, work;
    VectorXd norm;
  };

  // Means and variances of w_c k for the columns of k: classes x columns.
  void moments(const Eigen::Ref<const MatrixXd>& k, Scratch& scratch,
               MatrixXd& mean, MatrixXd& variance) const {
    mean.noalias() = mean_ * k;
    variance.resize(classes(), k.cols());
    for (std::size_t f = 0; f < factors_.size(); ++f) {
      const std::vector<Index>& active = factors_[f].active();
      scratch.own.resize(static_cast<Index>(active.size()), k.cols());
      for (std::size_t j = 0; j < active.size(); ++j) {
        scratch.own.row(static_cast<Index>(j)) = k.row(active[j]);
      }
      scratch.norm.setZero(k.cols());
      if (!active.empty()) {
        products_[f].add_norms(scratch.own.data(), k.cols(), scratch.work,
                               scratch.norm.data());
      }
      if (factors_.size() == 1) {
        variance.rowwise() = scratch.norm.transpose();
      } else {
        variance.row(static_cast<Index>(f)) = scratch.norm.transpose();
      }
    }
  }

  // W, a draw from q.
  MatrixXd draw(Stream& stream) const {
    MatrixXd out = mean_;
    for (Index c = 0; c < classes(); ++c) {
      const RegressionFactor& factor =
          factors_[factors_.size() == 1 ? 0 : static_cast<std::size_t>(c)];
      VectorXd z(static_cast<Index>(factor.active().size()));
      for (Index k = 0; k < z.size(); ++k) z[k] = stream.normal();
      out.row(c) += factor.scatter(z).transpose();
    }
    return out;
  }

 private:
  MatrixXd mean_;
  std::vector<RegressionFactor> factors_;
  std::vector<LowerProduct> products_;
};

// Classes x objects.
struct MultinomialMoments {
  MatrixXd mean, variance, log_prob;
};

// Of the objects that `design` has. `beyond`: designs v_k whose v_k v_k' add up
// to the covariance of the columns, where the weights of kernels are not known:
// the variance of w_c k is larger by (w_c v_k)^2 + v_k' V_c v_k each.
inline MultinomialMoments predict_classes(
    const MultinomialPosterior& q, const Design& design, Index nodes,
    Executor& executor, const std::vector<Design>& beyond = {}) {
  struct Scratch {
    Design::Scratch design, other;
    MultinomialPosterior::Scratch posterior;
    std::optional<ConicRule> rule;
    MatrixXd mean, variance, sd, other_mean, other_variance;
  };
  const Index c = q.classes(), n = design.rows();
  if (design.regressors() != q.regressors()) {
    throw ArgumentError("the new rows have other regressors");
  }
  MultinomialMoments out{MatrixXd(c, n), MatrixXd(c, n), MatrixXd(c, n)};
  ScratchPool<Scratch> pool;
  executor.run(design.tiles(), [&](Index t) {
    auto loan = pool.borrow();
    Scratch& scratch = *loan;
    if (!scratch.rule) scratch.rule.emplace(c, nodes);
    const auto k = design.tile(t, scratch.design);
    q.moments(k, scratch.posterior, scratch.mean, scratch.variance);
    for (const Design& other : beyond) {
      q.moments(other.tile(t, scratch.other), scratch.posterior,
                scratch.other_mean, scratch.other_variance);
      scratch.variance += scratch.other_variance +
                          scratch.other_mean.cwiseAbs2();
    }
    scratch.sd = (1.0 + scratch.variance.array()).sqrt();
    const Index first = design.begin(t);
    for (Index i = 0; i < k.cols(); ++i) {
      scratch.rule->log_probabilities(scratch.mean.col(i).data(),
                                      scratch.sd.col(i).data(),
                                      out.log_prob.col(first + i).data());
    }
    out.mean.middleCols(first, k.cols()) = scratch.mean;
    out.variance.middleCols(first, k.cols()) = scratch.variance;
  });
  return out;
}

// P(class | W) of one object with latent functions f: unit scales.
inline void class_log_probabilities(ConicRule& rule, const double* f,
                                    double* out) {
  double sum = 0.0;
  for (Index c = 0; c < rule.classes(); ++c) {
    out[c] = rule.moments(f, c, nullptr);
    sum += std::exp(out[c]);
  }
  const double shift = std::log(sum);
  for (Index c = 0; c < rule.classes(); ++c) out[c] -= shift;
}

}  // namespace bayeskernel

#endif
