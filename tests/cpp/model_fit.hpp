// The fit of a problem of model_problem.hpp, on rows of its own.
#pragma once

#include "selection/model_fit.hpp"

#include "model_problem.hpp"

struct OwnRows {
  PackedRows rows;
};

class ModelFit : OwnRows, public bayeskernel::ModelFit {
 public:
  ModelFit(const ModelProblem& problem, bayeskernel::Executor& executor)
      : OwnRows{problem.rows},
        bayeskernel::ModelFit(rows, rows, problem.prior, problem.selection,
                              problem.holes, executor) {}

  const MatrixXd& group_inverse() const {
    return fit().system().group_inverse();
  }
  const std::vector<bayeskernel::BlockPosterior>& variances() const {
    return fit().variances();
  }
  const VectorXd& fitted_mean() const { return fit().mean(); }
  const VectorXd& fitted_variance() const { return fit().variance(); }
  VectorXd log_odds() const {
    return search() ? search()->log_odds() : VectorXd();
  }
  VectorXd inclusion() const { return search()->inclusion(); }
  VectorXd expected_b() const { return search()->expected_b(); }
  const bayeskernel::IndicatorPosterior& indicators() const {
    return fit().accepted().indicators;
  }
  const bayeskernel::MissingPosterior& missing() const {
    return fit().accepted().missing;
  }
};
