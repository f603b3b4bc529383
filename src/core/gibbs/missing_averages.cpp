#include "gibbs/missing_averages.hpp"

#include "math/normal.hpp"

namespace bayeskernel {
void MissingAverages::add(const ModelChain& chain) {
  value.add(chain.missing().value.array());
  chain.missing_latents(draw_);
  f.add(draw_);
  normal_cdf(draw_, work_, probability_);
  probit.add(probability_);
  probability_ =
      1.0 /
      (1.0 + (2.0 * ((1.0 - draw_).max(0.0) - (1.0 + draw_).max(0.0))).exp());
  hinge.add(probability_);
  if (logit.mean.size() == 0) return;
  probability_ = 1.0 / (1.0 + (-draw_).exp());
  logit.add(probability_);
}

void MissingAverages::merge(const MissingAverages& other) {
  value.merge(other.value);
  f.merge(other.f);
  probit.merge(other.probit);
  hinge.merge(other.hinge);
  logit.merge(other.logit);
}

void ModelAverages::add(const ModelChain& chain) {
  if (incomplete) missing.add(chain);
  if (responsibility.mean.size() > 0) {
    responsibility.add(chain.responsibility().array());
  }
}

void ModelAverages::merge(const ModelAverages& other) {
  missing.merge(other.missing);
  responsibility.merge(other.responsibility);
}
}  // namespace bayeskernel
