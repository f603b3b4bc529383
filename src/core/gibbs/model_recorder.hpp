// Turns states of a whole model's chains into draws on the scale of the data.
#pragma once

#include "eigen.hpp"
#include "gibbs/model_chain.hpp"
#include "gibbs/recorder.hpp"
#include "linear/missing_pattern.hpp"
#include "prior/indicators.hpp"

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

  Index variables() const;

  // Writes variable v of the draw to out[v * stride].
  void write(const ModelChain& chain, double* out, Index stride) const;

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
