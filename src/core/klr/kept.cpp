#include "klr/kept.hpp"

#include "simd/column_products.hpp"

namespace bayeskernel {
void KeptLowRank::keep(const LowRankChain& chain) {
  const ProjectedBasis& basis = chain.basis;
  size.push_back(static_cast<int>(basis.kernels()));
  for (Index j = 1; j <= basis.kernels(); ++j) {
    centre.push_back(static_cast<int>(basis.centre(j)));
    coefficient.push_back(chain.coefficient(j));
    for (Index l = 0; l < basis.rank(); ++l) {
      log_lambda.push_back(basis.log_lambda(j, l));
    }
  }
  const MatrixXd& u = basis.frame();
  frame.insert(frame.end(), u.data(), u.data() + u.size());
}

const double* LowRankPredictor::predict(const LowRankDraw& draw) {
  const Index p = train_.cols(), stride = rows_.stride();
  const MatrixMap u(draw.frame, p, rank_);
  for (Index l = 0; l < rank_; ++l) {
    rows_.project(u.col(l).data(), projected_.data() + l * stride);
  }
  std::fill_n(f_.data(), stride, draw.intercept);
  for (Index j = 0; j < draw.size; ++j) {
    for (Index l = 0; l < rank_; ++l) {
      terms_[l] = {projected_.data() + l * stride,
                   ProjectedBasis::weight(draw.log_lambda[j * rank_ + l]),
                   train_.row(draw.centre[j]).dot(u.col(l))};
    }
    detail::kernel_column(terms_.data(), rank_, 0.0, sum_.data(), sum_.data(),
                          column_.data(), rows_.rows(), stride);
    padded_add(draw.coefficient[j], column_.data(), f_.data(), stride);
  }
  return f_.data();
}
}  // namespace bayeskernel
