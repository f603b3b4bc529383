// EP in VB: q(theta, u) by expectation propagation, the variances by their
// usual updates from its second moments, in turn until both stand still. Not
// an ascent of one objective.
#pragma once

#include "eigen.hpp"
#include "ep/fit.hpp"
#include "ep/hyperparameters.hpp"
#include "ep/settle.hpp"
#include "prior/blocks.hpp"

namespace bayeskernel {
// q of the variances: IG(shape, rate) or IW(df, scale) by block, and of the
// noise.
struct VariancePosterior {
  std::vector<BlockPosterior> blocks;
  BlockPosterior noise;
};

class EpInVb {
 public:
  EpInVb(EpFit& fit, const Hyperparameters& hyper) : fit_(fit), hyper_(hyper) {}

  VariancePosterior q;

  // Until a move of x is below `still`; x is where the last q(theta, u) was
  // formed.
  EpResult run(const EpSettings& settings, double still);

  // The bound's form of log Z: the variances integrated over their q.
  double log_evidence() const;

 private:
  static constexpr double kNear = 0.3;  // of a log standard deviation

  void update(std::vector<MatrixXd>& precision, double& noise);

  EpFit& fit_;
  const Hyperparameters& hyper_;
};
}  // namespace bayeskernel
