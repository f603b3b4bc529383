// Mean-field fits of a model that may have selection and missing values, seen
// the same way with and without these.
#ifndef BAYESKERNEL_TESTS_MODEL_FIT_HPP
#define BAYESKERNEL_TESTS_MODEL_FIT_HPP

#include "selection/search.hpp"
#include <memory>

#include "model_problem.hpp"

class ModelFit {
 public:
  ModelFit(const ModelProblem& problem, bayeskernel::Executor& executor)
      : rows_(problem.rows) {
    if (problem.selection.size() > 0) {
      search_ = std::make_unique<bayeskernel::ColumnSearch>(
          rows_, problem.prior, problem.selection, problem.holes, executor);
      return;
    }
    if (problem.holes.predictors() > 0) {
      missing_ = std::make_unique<bayeskernel::MissingValues>(
          problem.holes, std::vector<Index>(), rows_, executor);
    }
    plain_ = std::make_unique<bayeskernel::MeanFieldFit>(
        rows_, problem.prior, executor, nullptr, missing_.get());
  }

  bayeskernel::MeanFieldResult run(
      const bayeskernel::MeanFieldSettings& settings,
      const bayeskernel::KeepGoing& keep_going) {
    return search_ ? search_->run(settings, keep_going)
                   : plain_->run(settings, keep_going);
  }

  const bayeskernel::MeanFieldFit& fit() const {
    return search_ ? search_->fit() : *plain_;
  }
  bayeskernel::ArrowVector mean() const {
    return search_ ? search_->mean() : plain_->posterior().mean;
  }
  MatrixXd theta_covariance() const {
    return search_ ? search_->theta_covariance()
                   : plain_->posterior().theta_covariance();
  }
  MatrixXd loading() const {
    return search_ ? search_->loading() : plain_->system().loading();
  }
  const MatrixXd& group_inverse() const {
    return fit().system().group_inverse();
  }
  const std::vector<bayeskernel::BlockPosterior>& variances() const {
    return fit().variances();
  }
  const VectorXd& fitted_mean() const { return fit().mean(); }
  const VectorXd& fitted_variance() const { return fit().variance(); }
  VectorXd log_odds() const {
    return search_ ? search_->log_odds() : VectorXd();
  }
  VectorXd inclusion() const { return search_->inclusion(); }
  VectorXd expected_b() const { return search_->expected_b(); }
  const bayeskernel::IndicatorPosterior& indicators() const {
    return fit().accepted().indicators;
  }
  const bayeskernel::MissingPosterior& missing() const {
    return fit().accepted().missing;
  }

 private:
  PackedRows rows_;
  std::unique_ptr<bayeskernel::MissingValues> missing_;
  std::unique_ptr<bayeskernel::ColumnSearch> search_;
  std::unique_ptr<bayeskernel::MeanFieldFit> plain_;
};

#endif
