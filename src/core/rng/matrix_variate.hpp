// Wishart, inverse Wishart and Gaussian vectors. O(r^3) a draw, no heap
// allocation apart from what the caller passes as scratch.
#ifndef BAYESKERNEL_RNG_MATRIX_VARIATE_HPP
#define BAYESKERNEL_RNG_MATRIX_VARIATE_HPP

#include <Eigen/Cholesky>
#include <Eigen/Core>

#include "rng/stream.hpp"

namespace bayeskernel {

struct WishartScratch {
  explicit WishartScratch(Eigen::Index r) : factor(r, r), bartlett(r, r) {}
  Eigen::MatrixXd factor;
  Eigen::MatrixXd bartlett;
};

namespace detail {

// factor <- Cholesky factor of `scale`; bartlett <- the lower triangle of the
// factor of a Wishart(df, I) (Bartlett 1933), row by row.
void fill_wishart_scratch(Stream& stream, double df,
                          Eigen::Ref<const Eigen::MatrixXd> scale,
                          WishartScratch& scratch);

}  // namespace detail

// W ~ Wishart(df, scale), E W = df * scale; df > r - 1.
void wishart(Stream& stream, double df, Eigen::Ref<const Eigen::MatrixXd> scale,
             WishartScratch& scratch, Eigen::Ref<Eigen::MatrixXd> out);

// Psi with density |S|^(df/2) / (2^(df r/2) Gamma_r(df/2)) |Psi|^(-(df+r+1)/2)
// exp(-tr(S Psi^-1) / 2), S = scale: E Psi = S / (df - r - 1). With S = L L'
// and A the Bartlett factor, Psi = (A^-1 L')' (A^-1 L').
void inverse_wishart(Stream& stream, double df,
                     Eigen::Ref<const Eigen::MatrixXd> scale,
                     WishartScratch& scratch, Eigen::Ref<Eigen::MatrixXd> out);

// out ~ N(mean, (L L')^-1) from the factor of the precision; out may not alias
// mean. O(d^2).
void normal_from_precision(Stream& stream,
                           const Eigen::LLT<Eigen::MatrixXd>& precision,
                           Eigen::Ref<const Eigen::VectorXd> mean,
                           Eigen::Ref<Eigen::VectorXd> out);

}  // namespace bayeskernel

#endif
