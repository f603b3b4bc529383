#include "predict/link_moments.hpp"

namespace bayeskernel {
LinkMoments::LinkMoments(Link link) : curve_(link) {
  // The hinge's curve has corners: fine steps.
  const bool smooth = link != Link::hinge;
  for (Index steps = smooth ? 32 : 160; steps <= 2048; steps *= 2) {
    Rule rule;
    rule.step = 16.0 / static_cast<double>(steps);
    rule.node = ArrayXd::LinSpaced(steps + 1, -8.0, 8.0);
    rule.weight = (-0.5 * rule.node.square()).exp();
    rule.weight /= rule.weight.sum();
    rules_.push_back(std::move(rule));
  }
}

void LinkMoments::operator()(double m, double v, Scratch& s, double& mean,
                             double& deviation) const {
  const double sd = std::sqrt(std::max(v, 0.0));
  std::size_t k = 0;
  while (k + 1 < rules_.size() && rules_[k].step * sd > kWidest) ++k;
  const Rule& rule = rules_[k];
  s.f = m + sd * rule.node;
  curve_.values(s.f, s.work, s.p);
  const double first = (rule.weight * s.p).sum();
  deviation = std::sqrt((rule.weight * (s.p - first).square()).sum());
  mean = curve_.link() == Link::logit && rule.step * sd <= kWidest
             ? first
             : curve_.mean(m, v);
}

void LinkMoments::run(const Eigen::Ref<const ArrayXd>& m,
                      const Eigen::Ref<const ArrayXd>& v, double* mean,
                      double* deviation, Executor& executor) const {
  constexpr Index kRows = 1024;
  const Index n = m.size();
  executor.run((n + kRows - 1) / kRows, [&](Index block) {
    Scratch scratch;
    const Index end = std::min(n, (block + 1) * kRows);
    for (Index i = block * kRows; i < end; ++i) {
      (*this)(m[i], v[i], scratch, mean[i], deviation[i]);
    }
  });
}
}  // namespace bayeskernel
