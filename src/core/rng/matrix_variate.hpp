// Wishart, inverse Wishart and Gaussian vectors. O(r^3) a draw, no heap
// allocation apart from what the caller passes as scratch.
#pragma once

#include "eigen.hpp"
#include "rng/stream.hpp"

namespace bayeskernel {
struct WishartScratch {
  explicit WishartScratch(Index r) : factor(r, r), bartlett(r, r) {}
  MatrixXd factor;
  MatrixXd bartlett;
};

namespace detail {
// factor <- Cholesky factor of `scale`; bartlett <- the lower triangle of the
// factor of a Wishart(df, I) (Bartlett 1933), row by row.
void fill_wishart_scratch(Stream& stream, double df, MatrixRef scale,
                          WishartScratch& scratch);
}  // namespace detail

// W ~ Wishart(df, scale), E W = df * scale; df > r - 1.
void wishart(Stream& stream, double df, MatrixRef scale,
             WishartScratch& scratch, Eigen::Ref<MatrixXd> out);

// Psi with density |S|^(df/2) / (2^(df r/2) Gamma_r(df/2)) |Psi|^(-(df+r+1)/2)
// exp(-tr(S Psi^-1) / 2), S = scale: E Psi = S / (df - r - 1). With S = L L'
// and A the Bartlett factor, Psi = (A^-1 L')' (A^-1 L').
void inverse_wishart(Stream& stream, double df, MatrixRef scale,
                     WishartScratch& scratch, Eigen::Ref<MatrixXd> out);

// out ~ N(mean, (L L')^-1) from the factor of the precision; out may not alias
// mean. O(d^2).
void normal_from_precision(Stream& stream,
                           const Eigen::LLT<MatrixXd>& precision,
                           VectorRef mean, Eigen::Ref<VectorXd> out);
}  // namespace bayeskernel
