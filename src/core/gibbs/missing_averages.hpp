// Running averages over draws of what is too much to keep: missing values, and
// f and the class probability by link of the rows they are in.
#pragma once

#include "eigen.hpp"
#include "gibbs/model_chain.hpp"
#include "gibbs/running_moments.hpp"
#include "likelihood/family.hpp"
#include "linear/missing_pattern.hpp"
#include "linear/row_rules.hpp"

namespace bayeskernel {
// Of one chain, over its kept draws. On the scale of the model.
struct MissingAverages {
  RunningMoments value;             // of each missing value
  RunningMoments f, probit, hinge;  // of each row that has one
  RunningMoments logit;             // empty in other families

  explicit MissingAverages(const MissingPattern& missing,
                           Family family = Family::hinge)
      : value(missing.count),
        f(count_of(missing.rows)),
        probit(f.mean.size()),
        hinge(f.mean.size()),
        logit(family == Family::logit ? f.mean.size() : 0) {}

  void add(const ModelChain& chain);

  void merge(const MissingAverages& other);

 private:
  ArrayXd draw_, work_, probability_;
};

// All that a chain averages; what a model lacks is empty.
struct ModelAverages {
  bool incomplete;  // whether the chain has values that may be missing
  MissingAverages missing;
  RunningMoments responsibility;  // of each completion

  ModelAverages(const MissingPattern& pattern, const RowModel& model,
                Index rows)
      : incomplete(pattern.predictors() > 0),
        missing(pattern, model.family),
        responsibility(model.completions != nullptr ? rows : 0) {}

  void add(const ModelChain& chain);

  void merge(const ModelAverages& other);
};
}  // namespace bayeskernel
