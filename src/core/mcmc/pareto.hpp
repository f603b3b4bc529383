// The shape k of the generalised Pareto law that fits the largest importance
// weights (Vehtari et al. 2024, Pareto smoothed importance sampling): below
// 0.5 their variance is finite, above 0.7 means of them are not to be trusted.
#pragma once

#include "eigen.hpp"

namespace bayeskernel {
// Of exceedances in increasing order, by the empirical Bayes estimate of Zhang
// & Stephens (2009, Technometrics 51, 316-325). O(n^1.5).
double pareto_shape(const std::vector<double>& x);

// k of weights exp(log_weight), drawn towards one half by ten observations;
// infinite where a weight is not finite.
double pareto_k(const VectorXd& log_weight);
}  // namespace bayeskernel
