#include "gibbs/model_recorder.hpp"

#include "missing/values/gibbs.hpp"
#include "selection/gibbs.hpp"

namespace bayeskernel {
Index ModelRecorder::variables() const {
  const Index predictors = missing_.predictors();
  return base_.variables() +
         (selection_.size() > 0
              ? 1 + (selection_.learn_rho ? 1 : 0) + selection_.size()
              : 0) +
         predictors + predictors * (predictors + 1) / 2 +
         count_of(scale_.order);
}

void ModelRecorder::write(const ModelChain& chain, double* out,
                          Index stride) const {
  base_.write(chain.base(), chain.chain(), out, stride);
  out += base_.variables() * stride;
  const auto put = [&](double value) {
    *out = value;
    out += stride;
  };
  if (selection_.size() > 0) {
    const SelectionState& state = chain.selection();
    put(1.0 / state.precision);
    if (selection_.learn_rho) put(1.0 / (1.0 + std::exp(-state.logit_rho)));
    for (Index k = 0; k < selection_.size(); ++k) put(state.probability[k]);
  }
  const Index predictors = missing_.predictors();
  if (predictors == 0) return;
  const MissingState& state = chain.missing();
  for (Index j = 0; j < predictors; ++j) {
    put(scale_.center[j] + scale_.scale[j] * state.mean[j]);
  }
  const MatrixXd covariance = state.of_new_rows(missing_.where);
  for (Index j = 0; j < predictors; ++j) {
    for (Index i = j; i < predictors; ++i) {
      put(scale_.scale[i] * scale_.scale[j] * covariance(i, j));
    }
  }
  for (const Index value : scale_.order) {
    put(center_of(value) + scale_of(value) * state.value[value]);
  }
}
}  // namespace bayeskernel
