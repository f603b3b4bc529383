// What the others say of each object, without refits. The mean of W given q's
// scales is the mode of sum_n log Z_n(W k_n) - sum_c w_c A_c w_c' / 2; one step
// of Newton's without object n, and without its regressor where it is one,
// moves its latent means by the curvature of log Z, whose products between
// classes are left out. (With the other E y held, as if they had not seen the
// object, the errors are a half too small.) Variances are q's: those that a fit
// to the others would predict with.
#pragma once

#include "eigen.hpp"
#include "multinomial/conic.hpp"
#include "multinomial/design.hpp"
#include "multinomial/mean_field.hpp"
#include "multinomial/regression.hpp"
#include "parallel/executor.hpp"
#include "parallel/scratch_pool.hpp"
#include "simd/gram.hpp"
#include "simd/lower_product.hpp"

namespace bayeskernel {
namespace detail {
// k_n' V k_n and, without regressor n, also what that takes from the mean.
class LeftOutClass {
 public:
  LeftOutClass(RegressionFactor factor, bool own);

  // For columns k of objects first, ...: `variance` and, times w_n, `pull`.
  void find(const MatrixRef& k, Index first, VectorXd& variance,
            VectorXd& pull) const;

 private:
  RegressionFactor factor_;
  LowerProduct product_;
  std::vector<Index> place_;  // among the active, of regressors to leave out
};
}  // namespace detail

// What the others say of each object's latent responses, classes x objects.
struct ClassMoments {
  MatrixXd mean, sd;
};

namespace detail {
// Where regressors are about as many as objects: with C = K' A^-1 K and the
// curvatures h of a class, v_n = ((C^-1 + H)^-1)_nn = (1 - b_n) / h_n for b the
// diagonal of (I + H^1/2 C H^1/2)^-1. N^3 / 3 multiply-adds a class.
bool few_objects(const MultinomialFit& fit, const Design& design);
ClassMoments left_out_by_objects(const MultinomialFit& fit,
                                 const Design& design, const MatrixXd& f,
                                 const MatrixXd& bend, Executor& executor);
}  // namespace detail

// `own`: object n is regressor n. Some 2 M^2 N multiply-adds a class.
ClassMoments left_out_moments(const MultinomialFit& fit, const Design& design,
                              bool own, Executor& executor);

// log P(t_n) at these moments, where the means are `sharpness` as large.
VectorXd class_log_probability(const ClassMoments& at,
                               const std::vector<Index>& labels, Index nodes,
                               double sharpness, Executor& executor);

// A column for each sharpness.
MatrixXd class_log_probabilities(const ClassMoments& at,
                                 const std::vector<Index>& labels, Index nodes,
                                 const VectorXd& sharpness, Executor& executor);

// log P(t_n | the other objects).
VectorXd left_out(const MultinomialFit& fit, const Design& design, bool own,
                  Executor& executor);
}  // namespace bayeskernel
