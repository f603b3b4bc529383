// Whitened features of a Gaussian process on inducing points. f_i = phi_i'v +
// e_i with v ~ N(0, I), phi_i = L^-1 k_m(x_i) and e_i ~ N(0, r_i), where L L' =
// K_mm + jitter. A row source of the hinge engine whose columns they are. Cost
// of a row: the kernel, 2 m d, and m^2 / 2 multiply-adds to whiten it.
//
// Inducing points: Wenzel et al. (2017), eq. 6, after Titsias (2009).
#pragma once

#include "eigen.hpp"
#include "kernel/columns.hpp"
#include "kernel/tree.hpp"
#include "parallel/executor.hpp"
#include "parallel/scratch_pool.hpp"
#include "prior/blocks.hpp"
#include "rows/rows.hpp"
#include "simd/lower_product.hpp"

namespace bayeskernel {
class Features {
 public:
  struct Scratch {
    KernelColumns::Scratch kernel;
    MatrixXd block;
    VectorXd diagonal, norm;
  };

  // z: inducing points, d x m. The jitter is 1e-6 of the mean of diag(K_mm),
  // ten times more while the Cholesky factor fails, 1e-3 at most.
  Features(const Kernel& kernel, const MatrixXd& z, double nugget);

  // Kernel values that are given: a column of x, or of z, holds those with the
  // m inducing points, then that with itself. There is no kernel to evaluate.
  static Features given(const MatrixXd& z, double nugget);
  const MatrixXd& factor() const { return factor_; }  // L
  const MatrixXd& gram() const { return gram_; }      // K_mm + jitter
  Index columns() const { return columns_.columns(); }
  Index dimension() const {
    return given_ ? columns() + 1 : columns_.z().rows();
  }
  double jitter() const { return jitter_; }  // relative
  double nugget() const { return nugget_; }
  const Kernel& kernel() const { return kernel_; }
  const KernelColumns& kernel_columns() const { return columns_; }

  // phi (m x n) and r (n) of the rows x (d x n); `scratch.block` is left with
  // k_m(x_i).
  void block(const double* x, Index n, Scratch& scratch, double* phi,
             double* residual) const;

 private:
  // Of `gram_`, to which it adds the jitter.
  void factor();

  Kernel kernel_;
  KernelColumns columns_;
  double nugget_;
  bool given_ = false;
  double jitter_ = 0.0;
  MatrixXd gram_, factor_;
  LowerProduct whiten_;
};

// Adds to d x d `outer` the products of the gradients, in the columns of x, of
// f(x) = k_m(x)'direction at the rows x (d x n).
void add_slope_products(const Kernel& kernel, const MatrixXd& z,
                        const VectorXd& direction, const MatrixRef& x,
                        Eigen::Ref<MatrixXd> outer);

// The kernel with projections along the directions in which f varies most: the
// leading eigenvectors of its products of slopes, by columns in units of
// `scale`, weighted by the roots of their eigenvalues. The longest row of each
// is as long as its rows are now, root mean squares.
Kernel along_slopes(const Kernel& kernel, const MatrixXd& outer,
                    const VectorXd& scale);

// Features of the rows of `base`, whose chunks must be those of m columns,
// computed when they are asked for.
class FeatureRows final : public DerivedRows {
 public:
  FeatureRows(const RowSource& base, const Features& features,
              Executor& executor)
      : base_(base), features_(features), executor_(executor) {
    refresh();
  }

  void refresh() override;

  Index rows() const override { return base_.rows(); }
  Index x_columns() const override { return features_.columns(); }
  Index z_columns() const override { return 0; }
  void load(Index chunk, Index next) const override { base_.load(chunk, next); }
  bool in_memory() const override { return base_.in_memory(); }

  // A span of many tiles, a chunk say, is shared among threads.
  Tile tile(const TileSpan& span, MatrixXd& buffer) const override;

 private:
  // Blocks as the base has them.
  Index block_rows() const;

  const RowSource& base_;
  const Features& features_;
  Executor& executor_;
  mutable ScratchPool<Features::Scratch> pool_;
};

// The prior of v: theta ~ N(0, I) with m columns.
Prior unit_prior(Index m);

// All features of `rows`, with labels and weights, kept: m + 1 numbers a row.
void keep_features(const FeatureRows& rows, PackedRows& out);

// Labels and weights of the rows of `base`, for features that are kept with
// those of another class or without.
void keep_labels(const RowSource& base, PackedRows& out);

// The exact process: every row of x (d x n) is an inducing point of its own,
// phi_i is row i of L, r_i the nugget. n^3 / 3 once.
void exact_features(const Features& features, PackedRows& out);
}  // namespace bayeskernel
