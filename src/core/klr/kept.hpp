// What is kept of the kernels of a draw, enough to predict from it together
// with the training rows, and f at new rows given a draw.
#ifndef BAYESKERNEL_KLR_KEPT_HPP
#define BAYESKERNEL_KLR_KEPT_HPP

#include <Eigen/Core>
#include <vector>

#include "klr/basis.hpp"
#include "klr/chain.hpp"

namespace bayeskernel {

// Draws one after another.
struct KeptLowRank {
  std::vector<int> size;                // kernels
  std::vector<int> centre;              // by kernel
  std::vector<double> coefficient;      // by kernel
  std::vector<double> log_lambda;       // rank by kernel
  std::vector<double> frame;            // p x rank by draw

  void keep(const LowRankChain& chain) {
    const ProjectedBasis& basis = chain.basis;
    size.push_back(static_cast<int>(basis.kernels()));
    for (Eigen::Index j = 1; j <= basis.kernels(); ++j) {
      centre.push_back(static_cast<int>(basis.centre(j)));
      coefficient.push_back(chain.coefficient(j));
      for (Eigen::Index l = 0; l < basis.rank(); ++l) {
        log_lambda.push_back(basis.log_lambda(j, l));
      }
    }
    const Eigen::MatrixXd& u = basis.frame();
    frame.insert(frame.end(), u.data(), u.data() + u.size());
  }
};

// One draw of them.
struct LowRankDraw {
  double intercept;
  Eigen::Index size;
  const int* centre;
  const double* coefficient;
  const double* log_lambda;
  const double* frame;
};

class LowRankPredictor {
 public:
  using Index = Eigen::Index;

  // `train`: n x p, the rows that centres are among.
  LowRankPredictor(const Eigen::Ref<const Eigen::MatrixXd>& train,
                   const LowRankData& rows, Index rank)
      : train_(train),
        rows_(rows),
        rank_(rank),
        projected_(rows.stride() * rank),
        sum_(rows.stride()),
        column_(rows.stride()),
        f_(rows.stride()),
        terms_(static_cast<std::size_t>(rank)) {}

  // f at the rows, which stays until the next call. n' r (p + J)
  // multiply-adds, n' J exponentials.
  const double* predict(const LowRankDraw& draw) {
    const Index p = train_.cols(), stride = rows_.stride();
    const Eigen::Map<const Eigen::MatrixXd> u(draw.frame, p, rank_);
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

 private:
  const Eigen::Ref<const Eigen::MatrixXd> train_;
  const LowRankData& rows_;
  Index rank_;
  AlignedBuffer projected_, sum_, column_, f_;
  std::vector<ScaleTerm> terms_;
};

}  // namespace bayeskernel

#endif
