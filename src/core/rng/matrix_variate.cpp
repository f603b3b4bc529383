#include "rng/matrix_variate.hpp"

#include "error.hpp"
#include "rng/distributions.hpp"

namespace bayeskernel {
namespace detail {
void fill_wishart_scratch(Stream& stream, double df, MatrixRef scale,
                          WishartScratch& scratch) {
  const Index r = scale.rows();
  scratch.factor = scale;
  Eigen::LLT<Eigen::Ref<MatrixXd>> llt(scratch.factor);
  if (llt.info() != Eigen::Success) {
    throw NumericError("the scale of a Wishart draw is not positive definite");
  }
  scratch.bartlett.setZero();
  for (Index i = 0; i < r; ++i) {
    for (Index j = 0; j < i; ++j) {
      scratch.bartlett(i, j) = stream.normal();
    }
    scratch.bartlett(i, i) = std::sqrt(2.0 * gamma(stream, 0.5 * (df - i), 1));
  }
}
}  // namespace detail

void wishart(Stream& stream, double df, MatrixRef scale,
             WishartScratch& scratch, Eigen::Ref<MatrixXd> out) {
  detail::fill_wishart_scratch(stream, df, scale, scratch);
  out.noalias() =
      scratch.factor.triangularView<Eigen::Lower>() * scratch.bartlett;
  scratch.bartlett.noalias() = out.lazyProduct(out.transpose());
  out = scratch.bartlett;
}

void inverse_wishart(Stream& stream, double df, MatrixRef scale,
                     WishartScratch& scratch, Eigen::Ref<MatrixXd> out) {
  detail::fill_wishart_scratch(stream, df, scale, scratch);
  scratch.factor.triangularView<Eigen::StrictlyUpper>().setZero();
  scratch.factor.transposeInPlace();
  scratch.bartlett.triangularView<Eigen::Lower>().solveInPlace(scratch.factor);
  out.noalias() = scratch.factor.transpose().lazyProduct(scratch.factor);
}

void normal_from_precision(Stream& stream,
                           const Eigen::LLT<MatrixXd>& precision,
                           VectorRef mean, Eigen::Ref<VectorXd> out) {
  for (Index i = 0; i < out.size(); ++i) out(i) = stream.normal();
  precision.matrixU().solveInPlace(out);
  out += mean;
}
}  // namespace bayeskernel
