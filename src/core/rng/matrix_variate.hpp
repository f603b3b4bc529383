// Wishart, inverse Wishart and Gaussian vectors. O(r^3) a draw, no heap
// allocation apart from what the caller passes as scratch.
#ifndef BAYESKERNEL_RNG_MATRIX_VARIATE_HPP
#define BAYESKERNEL_RNG_MATRIX_VARIATE_HPP

#include <Eigen/Cholesky>
#include <Eigen/Core>
#include <cmath>

#include "error.hpp"
#include "rng/distributions.hpp"

namespace bayeskernel {

struct WishartScratch {
  explicit WishartScratch(Eigen::Index r) : factor(r, r), bartlett(r, r) {}
  Eigen::MatrixXd factor;
  Eigen::MatrixXd bartlett;
};

namespace detail {

// factor <- Cholesky factor of `scale`; bartlett <- the lower triangle of the
// factor of a Wishart(df, I) (Bartlett 1933), row by row.
inline void fill_wishart_scratch(Stream& stream, double df,
                                 Eigen::Ref<const Eigen::MatrixXd> scale,
                                 WishartScratch& scratch) {
  const Eigen::Index r = scale.rows();
  scratch.factor = scale;
  Eigen::LLT<Eigen::Ref<Eigen::MatrixXd>> llt(scratch.factor);
  if (llt.info() != Eigen::Success) {
    throw NumericError("the scale of a Wishart draw is not positive definite");
  }
  scratch.bartlett.setZero();
  for (Eigen::Index i = 0; i < r; ++i) {
    for (Eigen::Index j = 0; j < i; ++j) {
      scratch.bartlett(i, j) = stream.normal();
    }
    scratch.bartlett(i, i) = std::sqrt(2.0 * gamma(stream, 0.5 * (df - i), 1));
  }
}

}  // namespace detail

// W ~ Wishart(df, scale), E W = df * scale; df > r - 1.
inline void wishart(Stream& stream, double df,
                    Eigen::Ref<const Eigen::MatrixXd> scale,
                    WishartScratch& scratch, Eigen::Ref<Eigen::MatrixXd> out) {
  detail::fill_wishart_scratch(stream, df, scale, scratch);
  out.noalias() =
      scratch.factor.triangularView<Eigen::Lower>() * scratch.bartlett;
  scratch.bartlett.noalias() = out.lazyProduct(out.transpose());
  out = scratch.bartlett;
}

// Psi with density |S|^(df/2) / (2^(df r/2) Gamma_r(df/2)) |Psi|^(-(df+r+1)/2)
// exp(-tr(S Psi^-1) / 2), S = scale: E Psi = S / (df - r - 1). With S = L L'
// and A the Bartlett factor, Psi = (A^-1 L')' (A^-1 L').
inline void inverse_wishart(Stream& stream, double df,
                            Eigen::Ref<const Eigen::MatrixXd> scale,
                            WishartScratch& scratch,
                            Eigen::Ref<Eigen::MatrixXd> out) {
  detail::fill_wishart_scratch(stream, df, scale, scratch);
  scratch.factor.triangularView<Eigen::StrictlyUpper>().setZero();
  scratch.factor.transposeInPlace();
  scratch.bartlett.triangularView<Eigen::Lower>().solveInPlace(scratch.factor);
  out.noalias() = scratch.factor.transpose().lazyProduct(scratch.factor);
}

// out ~ N(mean, (L L')^-1) from the factor of the precision; out may not alias
// mean. O(d^2).
inline void normal_from_precision(Stream& stream,
                                  const Eigen::LLT<Eigen::MatrixXd>& precision,
                                  Eigen::Ref<const Eigen::VectorXd> mean,
                                  Eigen::Ref<Eigen::VectorXd> out) {
  for (Eigen::Index i = 0; i < out.size(); ++i) out(i) = stream.normal();
  precision.matrixU().solveInPlace(out);
  out += mean;
}

}  // namespace bayeskernel

#endif
