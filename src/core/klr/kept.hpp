// What is kept of the kernels of a draw, enough to predict from it together
// with the training rows, and f at new rows given a draw.
#pragma once

#include "eigen.hpp"
#include "klr/basis.hpp"
#include "klr/chain.hpp"
#include "simd/aligned_buffer.hpp"
#include "simd/gaussian_column.hpp"

namespace bayeskernel {
// Draws one after another.
struct KeptLowRank {
  std::vector<int> size;            // kernels
  std::vector<int> centre;          // by kernel
  std::vector<double> coefficient;  // by kernel
  std::vector<double> log_lambda;   // rank by kernel
  std::vector<double> frame;        // p x rank by draw

  void keep(const LowRankChain& chain);
};

// One draw of them.
struct LowRankDraw {
  double intercept;
  Index size;
  const int* centre;
  const double* coefficient;
  const double* log_lambda;
  const double* frame;
};

class LowRankPredictor {
 public:
  // `train`: n x p, the rows that centres are among.
  LowRankPredictor(const MatrixRef& train, const LowRankData& rows, Index rank)
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
  const double* predict(const LowRankDraw& draw);

 private:
  const MatrixRef train_;
  const LowRankData& rows_;
  Index rank_;
  AlignedBuffer projected_, sum_, column_, f_;
  std::vector<ScaleTerm> terms_;
};
}  // namespace bayeskernel
