// Turns states of a whole model's chains into draws on the scale of the data.
#ifndef BAYESKERNEL_GIBBS_MODEL_RECORDER_HPP
#define BAYESKERNEL_GIBBS_MODEL_RECORDER_HPP

#include <Eigen/Core>
#include <cmath>
#include <utility>
#include <vector>

#include "gibbs/model_chain.hpp"
#include "gibbs/recorder.hpp"

namespace bayeskernel {

// The predictors with missing values: data scale = center + scale x model
// scale. `order` lists the values as they are to be recorded; empty: not at
// all.
struct MissingScale {
  VectorXd center, scale;
  std::vector<Index> order;
};

class ModelRecorder {
 public:
  ModelRecorder(Recorder base, const Selection& selection,
                     const MissingPattern& missing, MissingScale scale)
      : base_(std::move(base)),
        selection_(selection),
        missing_(missing),
        scale_(std::move(scale)),
        predictor_(missing.predictor_of_values()) {}

  Index variables() const {
    const Index predictors = missing_.predictors();
    return base_.variables() +
           (selection_.size() > 0
                ? 1 + (selection_.learn_rho ? 1 : 0) + selection_.size()
                : 0) +
           predictors + predictors * (predictors + 1) / 2 +
           static_cast<Index>(scale_.order.size());
  }

  // Writes variable v of the draw to out[v * stride].
  void write(const ModelChain& chain, double* out, Index stride) const {
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

  double center_of(Index value) const {
    return scale_.center[predictor_[value]];
  }
  double scale_of(Index value) const { return scale_.scale[predictor_[value]]; }

 private:
  Recorder base_;
  const Selection& selection_;
  const MissingPattern& missing_;
  MissingScale scale_;
  std::vector<Index> predictor_;  // of each missing value
};

}  // namespace bayeskernel

#endif
