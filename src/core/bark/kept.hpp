// What is kept of the kernels of a draw, enough to predict from it together
// with the training rows: where they sit, the prior variance and the posterior
// mean of their coefficients, the scales and the precision of the noise; of
// blocks of columns the means and a variance each.
#pragma once

#include "bark/basis.hpp"
#include "eigen.hpp"
#include "expansion/collapsed_gaussian.hpp"
#include "simd/aligned_buffer.hpp"
#include "simd/column_products.hpp"

namespace bayeskernel {
// Draws one after another.
struct KeptKernels {
  std::vector<int> size;
  std::vector<int> location;
  std::vector<double> variance, mean;
  std::vector<double> block_mean, block_variance;

  template <class State>
  void keep(const State& state) {
    const Index first = state.basis.first(), m = state.basis.size();
    size.push_back(static_cast<int>(m - first));
    const double* means = state.gaussian.mean();
    block_mean.insert(block_mean.end(), means, means + first);
    block_variance.insert(block_variance.end(), state.block_variance.begin(),
                          state.block_variance.end());
    for (Index i = first; i < m; ++i) {
      location.push_back(static_cast<int>(state.basis.location(i)));
      variance.push_back(state.gaussian.variance(i));
      mean.push_back(state.gaussian.mean()[i]);
    }
  }
};

// One draw of them.
struct KeptDraw {
  Index size;
  const int* location;
  const double* variance;
  const double* mean;
  double phi;
  const double* block_mean = nullptr;
  const double* block_variance = nullptr;
};

// The mean and the variance of f at new rows, given a draw; the coefficients
// are normal given the rest. Allocates for `most` kernels once.
class DrawPredictor {
 public:
  // `train`: the training rows at their own centres, `rows`: the new ones at
  // the same centres. Both have the same blocks.
  DrawPredictor(const BarkData& train, const BarkData& rows, Index most);

  DrawPredictor(const DrawPredictor&) = delete;
  DrawPredictor& operator=(const DrawPredictor&) = delete;

  // Means and variances stay here until the next call.
  // (n + n') m exponentials, n m^2 / 2 + n' m^2 multiply-adds.
  void predict(const KeptDraw& draw, const VectorXd& lambda);

  // The mean alone: n' m exponentials.
  void predict_mean(const KeptDraw& draw, const VectorXd& lambda);

  double mean(Index i) const { return mean_[i]; }
  double variance(Index i) const;

 private:
  DrawPredictor(const BarkData& train, const BarkData& rows, Index fixed,
                Index most)
      : rows_(rows),
        fixed_(fixed),
        train_basis_(train, most),
        basis_(rows, most),
        scratch_(most),
        gaussian_(most, scratch_),
        stride_(train.stride()),
        width_(padded_size(most)),
        row_(width_ * rows.rows()),
        projected_(width_ * rows.rows()),
        coefficients_(most + 1),
        mean_(rows.stride()) {}

  static void place(Basis& basis, const KeptDraw& draw, const VectorXd& lambda);

  // Rows k_i of K and Sigma k_i.
  void project(Index m);

  const BarkData& rows_;
  Index fixed_;  // columns of the blocks
  const double* block_variance_ = nullptr;
  Basis train_basis_, basis_;
  CollapsedScratch scratch_;
  CollapsedGaussian gaussian_;
  Index stride_, width_;
  Index used_ = 0;
  AlignedBuffer row_, projected_, coefficients_, mean_;
};
}  // namespace bayeskernel
