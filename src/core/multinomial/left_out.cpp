#include "multinomial/left_out.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
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

LeftOutClass::LeftOutClass(RegressionFactor factor, bool own)
    : factor_(std::move(factor)), product_(factor_.u()) {
  place_.assign(static_cast<std::size_t>(factor_.variance().size()), -1);
  const std::vector<Index>& active = factor_.active();
  for (std::size_t j = 0; own && j < active.size(); ++j) {
    place_[static_cast<std::size_t>(active[j])] = static_cast<Index>(j);
  }
}

void LeftOutClass::find(const Eigen::Ref<const MatrixXd>& k, Index first,
                        VectorXd& variance, VectorXd& pull) const {
  const std::vector<Index>& active = factor_.active();
  const Index m = static_cast<Index>(active.size()), n = k.cols();
  MatrixXd own(m, n), image(m, n);
  for (Index j = 0; j < m; ++j) own.row(j) = k.row(active[j]);
  variance = pull = VectorXd::Zero(n);
  if (m == 0) return;
  product_.apply(own.data(), n, image.data(), variance.data());
  for (Index i = 0; i < n; ++i) {
    const Index at = first + i < static_cast<Index>(place_.size())
                         ? place_[static_cast<std::size_t>(first + i)]
                         : -1;
    if (at < 0) continue;
    const double both =
        image.col(i).tail(m - at).dot(factor_.u().col(at).tail(m - at));
    pull[i] = both / factor_.variance()[first + i];
    variance[i] -= both * pull[i];
  }
}

}  // namespace detail

VectorXd left_out(const MultinomialFit& fit, const Design& design, bool own,
                  Executor& executor) {
  return left_out_probability(fit, left_out_moments(fit, design, own, executor),
                              1.0, executor);
}

ClassMoments left_out_moments(const MultinomialFit& fit, const Design& design,
                              bool own, Executor& executor) {
  constexpr double kLeast = 1e-12;
  const Index n = design.rows(), m = design.regressors();
  const MatrixXd &w = fit.mean(), &y = fit.y();
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
  std::optional<detail::LeftOutClass> common;
  if (fit.shared()) common.emplace(fit.factor(0), own);
  executor.run(classes, [&](Index c) {
    auto loan = pool.borrow();
    std::optional<detail::LeftOutClass> single;
    const VectorXd h = bend.row(c);
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
        const double s = std::min(variance[i], 1.0 - kLeast);
        sd(c, first + i) = std::sqrt(1.0 / (1.0 - s));
      }
      newton.find(k, first, variance, pull);
      for (Index i = 0; i < k.cols(); ++i) {
        const Index at = first + i;
        const double change = pull[i] != 0.0 ? -pull[i] * w(c, at) : 0.0;
        const double slope = y(c, at) - f(c, at) - h[at] * change;
        mean(c, at) =
            f(c, at) + change -
            variance[i] * slope / std::max(1.0 - h[at] * variance[i], kLeast);
      }
    }
  });
  return {std::move(mean), std::move(sd)};
}

VectorXd left_out_probability(const MultinomialFit& fit, const ClassMoments& at,
                              double sharpness, Executor& executor) {
  constexpr Index kBlock = 64;
  const Index n = at.mean.cols(), classes = at.mean.rows();
  VectorXd out(n);
  executor.run((n + kBlock - 1) / kBlock, [&](Index block) {
    ConicRule rule(classes, fit.settings().nodes);
    VectorXd mean(classes);
    for (Index i = block * kBlock; i < std::min(n, (block + 1) * kBlock); ++i) {
      mean = sharpness * at.mean.col(i);
      out[i] = rule.log_probability(mean.data(), at.sd.col(i).data(),
                                    fit.labels()[i]);
    }
  });
  return out;
}

}  // namespace bayeskernel
