#include "selection/model_fit.hpp"

namespace bayeskernel {
ModelFit::ModelFit(PackedRows& packed, const RowSource& rows,
                   const Prior& prior, const Selection& selection,
                   const MissingPattern& missing, Executor& executor,
                   bool row_moments, const RowModel& model) {
  if (selection.size() > 0) {
    search_ = std::make_unique<ColumnSearch>(
        std::move(packed), prior, selection, missing, executor, model);
    return;
  }
  if (missing.predictors() > 0) {
    values_ = std::make_unique<MissingValues>(missing, std::vector<Index>(),
                                              packed, executor);
  }
  plain_ = std::make_unique<MeanFieldFit>(rows, prior, executor, nullptr,
                                          values_.get(), row_moments, model);
}

MeanFieldResult ModelFit::run(const MeanFieldSettings& settings,
                              const KeepGoing& keep_going,
                              const VectorXd& inclusion) {
  if (!search_) return plain_->run(settings, keep_going);
  if (inclusion.size() < 2) {
    return search_->run(settings, keep_going,
                        inclusion.size() == 1 ? inclusion[0] : 1.0);
  }
  return search_->run(settings, keep_going, inclusion);
}
}  // namespace bayeskernel
