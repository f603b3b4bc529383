// Turns states of the whole linear model's chains into draws on the scale of
// the data, and keeps running averages of what is too much to keep: missing
// values, and f and the class probability of the rows they are in.
#ifndef BAYESKERNEL_BSVM_STRUCTURED_RECORDER_HPP
#define BAYESKERNEL_BSVM_STRUCTURED_RECORDER_HPP

#include <Eigen/Core>
#include <cmath>
#include <utility>
#include <vector>

#include "draw_moments.hpp"
#include "recorder.hpp"
#include "running_moments.hpp"
#include "structured_gibbs.hpp"

namespace bayeskernel {

// Of one chain, over its kept draws. On the scale of the model.
struct HoleAverages {
  RunningMoments value;             // of each hole
  RunningMoments f, probit, hinge;  // of each row with holes

  explicit HoleAverages(const Holes& holes)
      : value(holes.count),
        f(static_cast<Index>(holes.rows.size())),
        probit(f.mean.size()),
        hinge(f.mean.size()) {}

  void add(const StructuredGibbs& chain) {
    value.add(chain.holes().value.array());
    chain.hole_latents(draw_);
    f.add(draw_);
    normal_cdf(draw_, work_, probability_);
    probit.add(probability_);
    probability_ = 1.0 / (1.0 + (2.0 * ((1.0 - draw_).max(0.0) -
                                        (1.0 + draw_).max(0.0))).exp());
    hinge.add(probability_);
  }

  void merge(const HoleAverages& other) {
    value.merge(other.value);
    f.merge(other.f);
    probit.merge(other.probit);
    hinge.merge(other.hinge);
  }

 private:
  Eigen::ArrayXd draw_, work_, probability_;
};

// The predictors with holes: data scale = center + scale x model scale.
// `order` lists the holes as they are to be recorded; empty: not at all.
struct HoleScale {
  VectorXd center, scale;
  std::vector<Index> order;
};

class StructuredRecorder {
 public:
  StructuredRecorder(Recorder base, const Selection& selection,
                     const Holes& holes, HoleScale scale)
      : base_(std::move(base)),
        selection_(selection),
        holes_(holes),
        scale_(std::move(scale)),
        predictor_(holes.count) {
    for (const Holes::Row& row : holes.rows) {
      const std::vector<Index>& missing = holes.patterns[row.pattern];
      for (std::size_t j = 0; j < missing.size(); ++j) {
        predictor_[row.first + static_cast<Index>(j)] = missing[j];
      }
    }
  }

  Index variables() const {
    const Index predictors = holes_.predictors();
    return base_.variables() +
           (selection_.size() > 0
                ? 1 + (selection_.learn_rho ? 1 : 0) + selection_.size()
                : 0) +
           predictors + predictors * (predictors + 1) / 2 +
           static_cast<Index>(scale_.order.size());
  }

  // Writes variable v of the draw to out[v * stride].
  void write(const StructuredGibbs& chain, double* out, Index stride) const {
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
    const Index predictors = holes_.predictors();
    if (predictors == 0) return;
    const HolesState& state = chain.holes();
    for (Index j = 0; j < predictors; ++j) {
      put(scale_.center[j] + scale_.scale[j] * state.mean[j]);
    }
    for (Index j = 0; j < predictors; ++j) {
      for (Index i = j; i < predictors; ++i) {
        put(scale_.scale[i] * scale_.scale[j] * state.covariance(i, j));
      }
    }
    for (const Index hole : scale_.order) {
      put(center_of(hole) + scale_of(hole) * state.value[hole]);
    }
  }

  double center_of(Index hole) const { return scale_.center[predictor_[hole]]; }
  double scale_of(Index hole) const { return scale_.scale[predictor_[hole]]; }

 private:
  Recorder base_;
  const Selection& selection_;
  const Holes& holes_;
  HoleScale scale_;
  std::vector<Index> predictor_;  // of each hole
};

}  // namespace bayeskernel

#endif
