#include "multinomial/predict.hpp"

#include "error.hpp"
#include "parallel/scratch_pool.hpp"

namespace bayeskernel {
MultinomialPosterior::MultinomialPosterior(
    MatrixXd mean, std::vector<RegressionFactor> factors)
    : mean_(std::move(mean)), factors_(std::move(factors)) {
  for (const RegressionFactor& factor : factors_) {
    products_.emplace_back(factor.u());
  }
}

void MultinomialPosterior::moments(const MatrixRef& k, Scratch& scratch,
                                   MatrixXd& mean, MatrixXd& variance) const {
  mean.noalias() = mean_ * k;
  variance.resize(classes(), k.cols());
  for (std::size_t f = 0; f < factors_.size(); ++f) {
    const std::vector<Index>& active = factors_[f].active();
    scratch.own.resize(count_of(active), k.cols());
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

MatrixXd MultinomialPosterior::draw(Stream& stream) const {
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

MultinomialMoments predict_classes(const MultinomialPosterior& q,
                                   const Design& design, Index nodes,
                                   Executor& executor,
                                   const std::vector<Design>& beyond) {
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
      scratch.variance +=
          scratch.other_variance + scratch.other_mean.cwiseAbs2();
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

void class_log_probabilities(ConicRule& rule, const double* f, double* out) {
  double sum = 0.0;
  for (Index c = 0; c < rule.classes(); ++c) {
    out[c] = rule.moments(f, c, nullptr);
    sum += std::exp(out[c]);
  }
  const double shift = std::log(sum);
  for (Index c = 0; c < rule.classes(); ++c) out[c] -= shift;
}
}  // namespace bayeskernel
