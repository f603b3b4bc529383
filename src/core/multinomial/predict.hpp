// Prediction: w_c k* has mean w_c k* and variance k*' V_c k*, and the
// probability of a class is that of the largest of normals with unequal scales
// s_c^2 = 1 + k*' V_c k*. (Eq. 12 prints s_c^2 in place of s_c, and a mean with
// an inverse too many.)
#pragma once

#include "eigen.hpp"
#include "multinomial/conic.hpp"
#include "multinomial/design.hpp"
#include "multinomial/regression.hpp"
#include "parallel/executor.hpp"
#include "rng/stream.hpp"
#include "simd/lower_product.hpp"

namespace bayeskernel {
// q(W) of a fit.
class MultinomialPosterior {
 public:
  // Factors: one of all classes, or one of each.
  MultinomialPosterior(MatrixXd mean, std::vector<RegressionFactor> factors);

  Index classes() const { return mean_.rows(); }
  Index regressors() const { return mean_.cols(); }
  const MatrixXd& mean() const { return mean_; }

  struct Scratch {
    MatrixXd own, work;
    VectorXd norm;
  };

  // Means and variances of w_c k for the columns of k: classes x columns.
  void moments(const MatrixRef& k, Scratch& scratch, MatrixXd& mean,
               MatrixXd& variance) const;

  // W, a draw from q.
  MatrixXd draw(Stream& stream) const;

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
MultinomialMoments predict_classes(const MultinomialPosterior& q,
                                   const Design& design, Index nodes,
                                   Executor& executor,
                                   const std::vector<Design>& beyond = {});

// P(class | W) of one object with latent functions f: unit scales.
void class_log_probabilities(ConicRule& rule, const double* f, double* out);
}  // namespace bayeskernel
