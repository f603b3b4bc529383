// Derivatives of the bound, or of the evidence of expectation propagation, in
// the kernel's parameters, the nugget and the inducing points at fixed q(u) and
// fixed sites; total derivatives where these are stationary. In whitened
// coordinates a row brings a weight kappa_i, a gradient g_i and the derivative
// d_i in its residual variance, which is -kappa_i / 2 of a bound. With T = sum
// kappa phi phi', R = -2 sum d phi phi', t = sum g phi:
//   dF/dk_i  = L^-T {g_i a - kappa_i S phi_i - 2 d_i phi_i}
//   dF/dk_ii = d_i
//   dF/dK_mm = L^-T {-sym(a t') + (S T + T S - R + S + a a' - I) / 2} L^-1
// where t = a and S T = I - S if q is optimal.
// Cost of a row: that of its features, m^2 for G and m^2 / 2 for T.
//
// The bound is Wenzel et al. (2017), eq. 8; its derivatives drive their eq. 12.
#pragma once

#include "eigen.hpp"
#include "ep/sites.hpp"
#include "gp/features.hpp"
#include "parallel/executor.hpp"
#include "parallel/scratch_pool.hpp"
#include "rows/rows.hpp"
#include "rows/sweep.hpp"

namespace bayeskernel {
struct BoundGradient {
  VectorXd kernel;      // by log parameter
  double nugget = 0.0;  // by the nugget itself
  MatrixXd locations;   // d x m, by the inducing points; empty if not asked for
};

// Adds the part of K_mm, whose derivative is L^-T inner L^-1; `inner` is used
// up.
void add_kernel_matrix_gradient(const Features& features, MatrixXd& inner,
                                BoundGradient& out);

// The exact process, whose features are the rows of L itself: of the kernel
// depends the divergence alone, dF/dK = L^-T (S + a a' - I) L^-1 / 2. `slope`
// is the derivative in the nugget.
BoundGradient exact_bound_gradient(const Features& features, const VectorXd& a,
                                   MatrixXd s, double slope);

// Columns beside the features, those of an intercept, say: their values
// (columns x rows), coefficients, and Cov(v, coefficients).
struct BesideFeatures {
  const MatrixXd& columns;
  VectorXd mean;
  MatrixXd cross;
};

class BoundGradientPass {
 public:
  // Of the mean field's bound, or of the evidence at `sites`, which have their
  // slopes in the residuals.
  BoundGradientPass(const RowSource& base, const Features& features,
                    Executor& executor, const SiteRows* sites = nullptr)
      : sweep_{base, executor, nullptr}, features_(features), sites_(sites) {}

  // q(v) = N(a, S). Columns beside the features go with sites only. Of a sample
  // each row counts `times`.
  BoundGradient run(const VectorXd& a, const MatrixXd& s, bool locations,
                    const BesideFeatures* beside = nullptr, double times = 1.0);

 private:
  struct Parts {
    VectorXd kernel, gradient;
    MatrixXd gram, locations;  // T, of sites R
    double slope = 0.0;
  };
  struct Scratch {
    Features::Scratch features;
    MatrixXd phi, g, work;
    VectorXd residual, kappa, gradient, slope, weight;
  };

  Parts zero() const;

  static void add(const Parts& part, Parts& total);
  static void scale(double times, Parts& total);

  void tile(const TileSpan& span, Scratch& scratch, Parts& out) const;

  // `g` holds S phi; the gradients hold the means of f.
  void bound_rows(const Tile& raw, const MatrixRef& phi, const MatrixRef& g,
                  Scratch& scratch) const;

  void site_rows(const TileSpan& span, const Tile& raw, Eigen::Ref<MatrixXd> g,
                 Scratch& scratch) const;

  BoundGradient finish(Parts& total) const;

  Sweep sweep_;
  const Features& features_;
  const VectorXd* a_ = nullptr;
  const MatrixXd* covariance_ = nullptr;
  const SiteRows* sites_;
  const BesideFeatures* beside_ = nullptr;
  bool locations_ = false;
  VectorXd direction_;  // L^-T a
  ScratchPool<Scratch> pool_;
};
}  // namespace bayeskernel
