// Mean-field fit of a linear model with the parts that it has: a search over
// columns where some have indicators, else one fit, and either with missing
// values or without.
#pragma once

#include "linear/mean_field.hpp"
#include "selection/search.hpp"

namespace bayeskernel {
class ModelFit {
 public:
  // Of `rows`. Where a search or missing values change columns these are
  // `packed`, which a search takes over.
  ModelFit(PackedRows& packed, const RowSource& rows, const Prior& prior,
           const Selection& selection, const MissingPattern& missing,
           Executor& executor, bool row_moments = true,
           const RowModel& model = RowModel());

  // A search starts at E gamma = `inclusion`: of each column, of all, or 1.
  MeanFieldResult run(const MeanFieldSettings& settings,
                      const KeepGoing& keep_going,
                      const VectorXd& inclusion = VectorXd());

  // Null without a search.
  const ColumnSearch* search() const { return search_.get(); }
  // On the columns in use.
  const MeanFieldFit& fit() const { return search_ ? search_->fit() : *plain_; }
  MeanFieldFit& plain() { return *plain_; }

  // Over all columns, as of ColumnSearch.
  ArrowVector mean() const {
    return search_ ? search_->mean() : fit().posterior().mean;
  }
  MatrixXd theta_covariance() const {
    return search_ ? search_->theta_covariance()
                   : fit().posterior().theta_covariance();
  }
  MatrixXd loading() const {
    return search_ ? search_->loading() : fit().system().loading();
  }
  const VectorXd& row_mean() const {
    return search_ ? search_->row_mean() : fit().mean();
  }
  const VectorXd& row_variance() const {
    return search_ ? search_->row_variance() : fit().variance();
  }

 private:
  std::unique_ptr<MissingValues> values_;
  std::unique_ptr<ColumnSearch> search_;
  std::unique_ptr<MeanFieldFit> plain_;
};
}  // namespace bayeskernel
