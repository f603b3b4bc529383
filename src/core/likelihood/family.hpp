// Likelihood families of a row, p(y | f)^w: w is a likelihood power.
//   hinge     exp{-2 max(1 - y f, 0)}, a pseudo-likelihood, y = -1, +1
//   probit    Phi(y f),                y = -1, +1
//   logit     1 / (1 + exp(-y f)),     y = -1, +1
//   gaussian  N(y; f, v)
#pragma once

namespace bayeskernel {
enum class Family { hinge, probit, logit, gaussian };

// What the engines know of the noise variance v of a Gaussian row: E[1/v] and
// E log v; where v is known, its inverse and its logarithm.
struct Noise {
  double precision = 1.0;
  double log_variance = 0.0;
};

// v ~ IG(shape, rate), or held where 1/v is known.
struct NoisePrior {
  double shape = 0.01, rate = 0.01;
  bool held = false;
  double precision = 1.0;
};
}  // namespace bayeskernel
