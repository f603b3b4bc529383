// Running averages over draws of what is too much to keep: missing values, and
// f and the class probability by link of the rows they are in.
#ifndef BAYESKERNEL_GIBBS_MISSING_AVERAGES_HPP
#define BAYESKERNEL_GIBBS_MISSING_AVERAGES_HPP

#include <Eigen/Core>

#include "gibbs/model_chain.hpp"
#include "math/normal.hpp"
#include "gibbs/running_moments.hpp"

namespace bayeskernel {

// Of one chain, over its kept draws. On the scale of the model.
struct MissingAverages {
  RunningMoments value;             // of each missing value
  RunningMoments f, probit, hinge;  // of each row that has one
  RunningMoments logit;             // empty in other families

  explicit MissingAverages(const MissingPattern& missing,
                           Family family = Family::hinge)
      : value(missing.count),
        f(static_cast<Index>(missing.rows.size())),
        probit(f.mean.size()),
        hinge(f.mean.size()),
        logit(family == Family::logit ? f.mean.size() : 0) {}

  void add(const ModelChain& chain) {
    value.add(chain.missing().value.array());
    chain.missing_latents(draw_);
    f.add(draw_);
    normal_cdf(draw_, work_, probability_);
    probit.add(probability_);
    probability_ = 1.0 / (1.0 + (2.0 * ((1.0 - draw_).max(0.0) -
                                        (1.0 + draw_).max(0.0))).exp());
    hinge.add(probability_);
    if (logit.mean.size() == 0) return;
    probability_ = 1.0 / (1.0 + (-draw_).exp());
    logit.add(probability_);
  }

  void merge(const MissingAverages& other) {
    value.merge(other.value);
    f.merge(other.f);
    probit.merge(other.probit);
    hinge.merge(other.hinge);
    logit.merge(other.logit);
  }

 private:
  Eigen::ArrayXd draw_, work_, probability_;
};

}  // namespace bayeskernel

#endif
