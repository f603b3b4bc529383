// Missing values and the rows that have them over the draws of all chains, in
// the order of the user's rows, which count from 1.
#pragma once

#include "gibbs/missing_averages.hpp"
#include "gibbs/model_recorder.hpp"
#include "linear/missing_pattern.hpp"

namespace bayeskernel {
// Row and predictor of each missing value, in the order of the core.
struct MissingPlaces {
  MissingPlaces(const MissingPattern& missing, const std::vector<Index>& order);

  // Values by row, then by predictor.
  std::vector<Index> by_row() const;

  std::vector<int> row, predictor;
};

// On the scale of the data.
struct ValueSummary {
  std::vector<int> row, predictor;
  VectorXd mean, variance;
};
ValueSummary summarize_values(const MissingAverages& all,
                              const MissingPlaces& places,
                              const ModelRecorder& recorder);

// f and P(y = 1) by each link; of other families the logit's is empty.
struct IncompleteRows {
  std::vector<int> row;
  VectorXd mean, variance, probit, probit_sd, hinge, hinge_sd, logit, logit_sd;
};
IncompleteRows summarize_rows(const MissingAverages& all,
                              const MissingPattern& missing,
                              const std::vector<Index>& order);
}  // namespace bayeskernel
