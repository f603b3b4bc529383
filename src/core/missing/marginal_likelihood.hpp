// The likelihood of coefficients and variances with what rows miss, and the
// effects of the groups of rows, integrated out.
#pragma once

#include "eigen.hpp"

namespace bayeskernel {
class MarginalLikelihood {
 public:
  // `value` leaves out what depends on no parameter. Derivatives in theta, in
  // the log of the scale of the effects' covariance and in that of the noise;
  // E u given all, r x groups; minus the second derivatives in theta. NaN where
  // it is not known.
  struct Look {
    double value = 0.0, scale = 0.0, noise = 0.0;
    VectorXd theta;
    MatrixXd effects, information;
  };

  virtual ~MarginalLikelihood() = default;

  // precision: of the effects, r x r; noise: a variance; `information` is made
  // where it is asked for.
  virtual Look look(const VectorRef& theta, const MatrixRef& precision,
                    double noise, bool information) const = 0;
};
}  // namespace bayeskernel
