// What the others say of each object, without refits. The mean of W given q's
// scales is the mode of sum_n log Z_n(W k_n) - sum_c w_c A_c w_c' / 2; one step
// of Newton's without object n, and without its regressor where it is one,
// moves its latent means by the curvature of log Z, whose products between
// classes are left out. (With the other E y held, as if they had not seen the
// object, the errors are a half too small.) Variances are q's: those that a fit
// to the others would predict with.
#ifndef BAYESKERNEL_MULTINOMIAL_LEFT_OUT_HPP
#define BAYESKERNEL_MULTINOMIAL_LEFT_OUT_HPP

#include <algorithm>
#include <cmath>
#include <optional>
#include <utility>
#include <vector>

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
  void find(const Eigen::Ref<const MatrixXd>& k, Index first,
            VectorXd& variance, VectorXd& pull) const;

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
inline ClassMoments left_out_moments(const MultinomialFit& fit,
                                     const Design& design, bool own,
                                     Executor& executor) {
  constexpr double kLeast = 1e-12;
  const Index n = design.rows(), m = design.regressors();
  const MatrixXd &w = fit.mean(), &y = fit.y();
  const VectorXd& power = fit.settings().power;
  const auto power_of = [&](Index at) {
    return power.size() > 0 ? power[at] : 1.0;
  };
  const Index classes = w.rows();
  struct Scratch {
    Design::Scratch design;
    std::optional<ConicRule> rule;
  };
  ScratchPool<Scratch> pool;
  MatrixXd f(classes, n), bend(classes, n), mean(classes, n), sd(classes, n);
  const auto tiles = [&](auto&& each) {
    executor.run(design.tiles(), [&](Index t) {
      auto loan = pool.borrow();
      if (!(*loan).rule) (*loan).rule.emplace(classes, fit.settings().nodes);
      for (Index i = 0; i < design.columns(t); ++i) {
        each(design.begin(t) + i, *(*loan).rule);
      }
    });
  };
  executor.run(design.tiles(), [&](Index t) {
    auto loan = pool.borrow();
    f.middleCols(design.begin(t), design.columns(t)).noalias() =
        w * design.tile(t, (*loan).design);
  });
  tiles([&](Index at, ConicRule& rule) {
    rule.curvature(f.col(at).data(), fit.labels()[at], bend.col(at).data());
  });
  if (!own && detail::few_objects(fit, design)) {
    return detail::left_out_by_objects(fit, design, f, bend, executor);
  }
  std::optional<detail::LeftOutClass> common;
  if (fit.shared()) common.emplace(fit.factor(0), own);
  executor.run(classes, [&](Index c) {
    auto loan = pool.borrow();
    std::optional<detail::LeftOutClass> single;
    VectorXd h = bend.row(c);
    if (power.size() > 0) h.array() *= power.array();
    MatrixXd gram = MatrixXd::Zero(m, m), scratch, tall;
    for (Index t = 0; t < design.tiles(); ++t) {
      weighted_gram(design.tile(t, (*loan).design),
                    h.segment(design.begin(t), design.columns(t)), scratch,
                    gram);
    }
    RegressionFactor factor = fit.factor(c), local;
    if (factor.by_qr()) tall = design.matrix() * h.cwiseSqrt().asDiagonal();
    local.compute(gram, fit.used_alpha().row(fit.shared() ? 0 : c).transpose(),
                  fit.active(c), tall);
    if (!common) single.emplace(std::move(factor), own);
    const detail::LeftOutClass& q = common ? *common : *single;
    const detail::LeftOutClass newton(std::move(local), own);
    VectorXd variance, pull;
    for (Index t = 0; t < design.tiles(); ++t) {
      const auto k = design.tile(t, (*loan).design);
      const Index first = design.begin(t);
      q.find(k, first, variance, pull);
      for (Index i = 0; i < k.cols(); ++i) {
        const double p = power_of(first + i);
        const double s = std::min(variance[i], (1.0 - kLeast) / p);
        sd(c, first + i) = std::sqrt(1.0 + s / (1.0 - p * s));
      }
      newton.find(k, first, variance, pull);
      for (Index i = 0; i < k.cols(); ++i) {
        const Index at = first + i;
        const double change = pull[i] != 0.0 ? -pull[i] * w(c, at) : 0.0;
        const double slope =
            power_of(at) * (y(c, at) - f(c, at)) - h[at] * change;
        mean(c, at) =
            f(c, at) + change -
            variance[i] * slope / std::max(1.0 - h[at] * variance[i], kLeast);
      }
    }
  });
  return {std::move(mean), std::move(sd)};
}

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

#endif
