// What is kept of the kernels of a draw, enough to predict from it together
// with the training rows: where they sit, the prior variance and the posterior
// mean of their coefficients, the scales and the precision of the noise; of
// blocks of columns the means and a variance each.
#ifndef BAYESKERNEL_BARK_KEPT_HPP
#define BAYESKERNEL_BARK_KEPT_HPP

#include <Eigen/Core>
#include <algorithm>
#include <vector>

#include "error.hpp"
#include "expansion/collapsed_gaussian.hpp"
#include "bark/basis.hpp"

namespace bayeskernel {

// Draws one after another.
struct KeptKernels {
  std::vector<int> size;
  std::vector<int> location;
  std::vector<double> variance, mean;
  std::vector<double> block_mean, block_variance;

  template <class State>
  void keep(const State& state) {
    const Eigen::Index first = state.basis.first(), m = state.basis.size();
    size.push_back(static_cast<int>(m - first));
    const double* means = state.gaussian.mean();
    block_mean.insert(block_mean.end(), means, means + first);
    block_variance.insert(block_variance.end(), state.block_variance.begin(),
                          state.block_variance.end());
    for (Eigen::Index i = first; i < m; ++i) {
      location.push_back(static_cast<int>(state.basis.location(i)));
      variance.push_back(state.gaussian.variance(i));
      mean.push_back(state.gaussian.mean()[i]);
    }
  }
};

// One draw of them.
struct KeptDraw {
  Eigen::Index size;
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
  using Index = Eigen::Index;

  // `train`: the training rows at their own centres, `rows`: the new ones at
  // the same centres. Both have the same blocks.
  DrawPredictor(const BarkData& train, const BarkData& rows, Index most)
      : DrawPredictor(train, rows, train.fixed(), most + train.fixed()) {
    if (rows.fixed() != train.fixed() || rows.blocks() != train.blocks()) {
      throw ArgumentError("new rows have other blocks");
    }
  }

  DrawPredictor(const DrawPredictor&) = delete;
  DrawPredictor& operator=(const DrawPredictor&) = delete;

  // Means and variances stay here until the next call.
  // (n + n') m exponentials, n m^2 / 2 + n' m^2 multiply-adds.
  void predict(const KeptDraw& draw, const Eigen::VectorXd& lambda) {
    predict_mean(draw, lambda);
    place(train_basis_, draw, lambda);
    const Index m = train_basis_.size();
    column_gram(train_basis_.values(), stride_, m, gaussian_.set_gram(m),
                gaussian_.stride());
    std::fill_n(gaussian_.set_dots(), m, 0.0);
    gaussian_.set_response(0, 0.0);
    gaussian_.set_precision(draw.phi);
    Index column = 0;
    for (Index b = 0; b < rows_.blocks(); ++b) {
      for (Index j = 0; j < rows_.block_size(b); ++j) {
        gaussian_.set_variance(column++, draw.block_variance[b]);
      }
    }
    for (Index j = 0; j < draw.size; ++j) {
      gaussian_.set_variance(fixed_ + j, draw.variance[j]);
    }
    gaussian_.rebuild();
    project(m);
    block_variance_ = draw.block_variance;
  }

  // The mean alone: n' m exponentials.
  void predict_mean(const KeptDraw& draw, const Eigen::VectorXd& lambda) {
    place(basis_, draw, lambda);
    for (Index j = 0; j < fixed_; ++j) coefficients_[j] = -draw.block_mean[j];
    for (Index j = 0; j < draw.size; ++j) {
      coefficients_[fixed_ + j] = -draw.mean[j];
    }
    std::fill_n(mean_.data(), rows_.stride(), 0.0);
    subtract_columns(basis_.values(), rows_.stride(), basis_.size(),
                     coefficients_.data(), mean_.data());
  }

  double mean(Index i) const { return mean_[i]; }
  double variance(Index i) const {
    return std::max(padded_dot(row_.data() + i * used_,
                               projected_.data() + i * used_, used_),
                    0.0) +
           unseen_variance(i);
  }
  // The part of it by effects that no column has, which are those of their
  // prior.
  double unseen_variance(Index i) const {
    double out = 0.0;
    for (Index b = 0; b < rows_.blocks(); ++b) {
      if (rows_.unseen(i, b)) out += block_variance_[b];
    }
    return out;
  }

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

  static void place(Basis& basis, const KeptDraw& draw,
                    const Eigen::VectorXd& lambda) {
    basis.clear();
    for (Index j = 0; j < draw.size; ++j) {
      basis.try_location(draw.location[j], lambda);
      basis.append();
    }
  }

  // Rows k_i of K and Sigma k_i.
  void project(Index m) {
    used_ = padded_size(m);
    const Index n = rows_.rows();
    for (Index i = 0; i < n; ++i) {
      double* row = row_.data() + i * used_;
      for (Index j = 0; j < m; ++j) row[j] = basis_.column(j)[i];
      std::fill(row + m, row + used_, 0.0);
    }
    symmetric_rows(gaussian_.covariance(0), gaussian_.stride(), m, row_.data(),
                   used_, n, projected_.data());
  }

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

#endif
