#include "multinomial/left_out.hpp"

#include <numeric>

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

void LeftOutClass::find(const MatrixRef& k, Index first, VectorXd& variance,
                        VectorXd& pull) const {
  const std::vector<Index>& active = factor_.active();
  const Index m = count_of(active), n = k.cols();
  MatrixXd own(m, n), image(m, n);
  for (Index j = 0; j < m; ++j) own.row(j) = k.row(active[j]);
  variance = pull = VectorXd::Zero(n);
  if (m == 0) return;
  product_.apply(own.data(), n, image.data(), variance.data());
  for (Index i = 0; i < n; ++i) {
    const Index at = first + i < count_of(place_)
                         ? place_[static_cast<std::size_t>(first + i)]
                         : -1;
    if (at < 0) continue;
    const double both =
        image.col(i).tail(m - at).dot(factor_.u().col(at).tail(m - at));
    pull[i] = both / factor_.variance()[first + i];
    variance[i] -= both * pull[i];
  }
}

bool few_objects(const MultinomialFit& fit, const Design& design) {
  constexpr double kMostNumbers = 1e7, kMostNorm = 1e11;
  const double n = static_cast<double>(design.rows());
  const double m = static_cast<double>(design.regressors());
  if (fit.settings().scales != LatentScales::fixed || !design.kept() ||
      n * n > 3.0 * m * m || n * n > kMostNumbers ||
      static_cast<Index>(fit.active(0).size()) != design.regressors()) {
    return false;
  }
  // Larger ones need the decomposition that does not square the condition.
  const double size = design.matrix().colwise().squaredNorm().maxCoeff() /
                      fit.used_alpha().minCoeff();
  const VectorXd& power = fit.settings().power;
  return size * (power.size() > 0 ? power.maxCoeff() : 1.0) < kMostNorm;
}

ClassMoments left_out_by_objects(const MultinomialFit& fit,
                                 const Design& design, const MatrixXd& f,
                                 const MatrixXd& bend, Executor& executor) {
  // A curvature of 0 has no b; this share of the prior's precision is none.
  constexpr double kLeast = 1e-9;
  const Index n = design.rows(), classes = f.rows();
  const VectorXd power = fit.settings().power.size() > 0 ? fit.settings().power
                                                         : VectorXd::Ones(n);
  std::vector<Index> all(static_cast<std::size_t>(n));
  std::iota(all.begin(), all.end(), Index{0});
  MatrixXd cov = MatrixXd::Zero(n, n), scratch;
  weighted_gram(MatrixXd(design.matrix().transpose()),
                fit.used_alpha().row(0).cwiseInverse().transpose(), scratch,
                cov);
  const double least = kLeast / std::max(1.0, cov.diagonal().maxCoeff());
  const auto diagonal = [&](const VectorXd& h) {
    RegressionFactor factor;
    factor.compute(cov, h.cwiseInverse(), all, MatrixXd());
    return VectorXd(factor.variance().cwiseQuotient(h));
  };
  const VectorXd seen = diagonal(power);
  MatrixXd mean(classes, n), sd(classes, n);
  executor.run(classes, [&](Index c) {
    const VectorXd h =
        bend.row(c).transpose().cwiseProduct(power).cwiseMax(least);
    const VectorXd b = diagonal(h);
    for (Index i = 0; i < n; ++i) {
      const double slope = power[i] * (fit.y()(c, i) - f(c, i));
      mean(c, i) = f(c, i) - (1.0 - b[i]) / (h[i] * b[i]) * slope;
      sd(c, i) = std::sqrt(1.0 + (1.0 - seen[i]) / (power[i] * seen[i]));
    }
  });
  return {std::move(mean), std::move(sd)};
}
}  // namespace detail

VectorXd class_log_probability(const ClassMoments& at,
                               const std::vector<Index>& labels, Index nodes,
                               double sharpness, Executor& executor) {
  constexpr Index kBlock = 64;
  const Index n = at.mean.cols(), classes = at.mean.rows();
  VectorXd out(n);
  executor.run((n + kBlock - 1) / kBlock, [&](Index block) {
    ConicRule rule(classes, nodes);
    VectorXd mean(classes);
    for (Index i = block * kBlock; i < std::min(n, (block + 1) * kBlock); ++i) {
      mean = sharpness * at.mean.col(i);
      out[i] = rule.log_probability(mean.data(), at.sd.col(i).data(),
                                    labels[static_cast<std::size_t>(i)]);
    }
  });
  return out;
}

MatrixXd class_log_probabilities(const ClassMoments& at,
                                 const std::vector<Index>& labels, Index nodes,
                                 const VectorXd& sharpness,
                                 Executor& executor) {
  MatrixXd out(at.mean.cols(), sharpness.size());
  for (Index k = 0; k < sharpness.size(); ++k) {
    out.col(k) =
        class_log_probability(at, labels, nodes, sharpness[k], executor);
  }
  return out;
}

VectorXd left_out(const MultinomialFit& fit, const Design& design, bool own,
                  Executor& executor) {
  return class_log_probability(left_out_moments(fit, design, own, executor),
                               fit.labels(), fit.settings().nodes, 1.0,
                               executor);
}

ClassMoments left_out_moments(const MultinomialFit& fit, const Design& design,
                              bool own, Executor& executor) {
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
}  // namespace bayeskernel
