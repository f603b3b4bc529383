// Derivatives of the bound, or of the evidence of expectation propagation, in
// the kernel's parameters, the nugget and the inducing points at fixed q(u) and
// fixed sites; total derivatives where these are stationary. In whitened
// coordinates a row brings a weight kappa_i, a pull g_i and the derivative d_i
// in its residual variance, which is -kappa_i / 2 of a bound. With
// T = sum kappa phi phi', R = -2 sum d phi phi', t = sum g phi:
//   dF/dk_i  = L^-T {g_i a - kappa_i S phi_i - 2 d_i phi_i}
//   dF/dk_ii = d_i
//   dF/dK_mm = L^-T {-sym(a t') + (S T + T S - R + S + a a' - I) / 2} L^-1
// where t = a and S T = I - S if q is optimal.
// Cost of a row: that of its features, m^2 for G and m^2 / 2 for T.
#ifndef BAYESKERNEL_GP_BOUND_GRADIENT_HPP
#define BAYESKERNEL_GP_BOUND_GRADIENT_HPP

#include <Eigen/Core>
#include <utility>
#include <vector>

#include "rows/sweep.hpp"
#include "ep/sites.hpp"
#include "likelihood/rules.hpp"
#include "simd/gram.hpp"
#include "gp/features.hpp"

namespace bayeskernel {

struct BoundGradient {
  VectorXd kernel;      // by log parameter
  double nugget = 0.0;  // by the nugget itself
  MatrixXd locations;   // d x m, by the inducing points; empty if not asked for
};

// Adds the part of K_mm, whose derivative is L^-T inner L^-1; `inner` is used
// up.
inline void add_kernel_matrix_gradient(const Features& features,
                                       MatrixXd& inner, BoundGradient& out) {
  const auto upper = features.factor().transpose();
  upper.triangularView<Eigen::Upper>().solveInPlace(inner);
  inner.transposeInPlace();
  upper.triangularView<Eigen::Upper>().solveInPlace(inner);
  const KernelColumns& columns = features.kernel_columns();
  const Index m = features.columns();
  const double* z = columns.z().data();
  KernelColumns::Scratch scratch;
  MatrixXd k(m, m);
  columns.block(z, m, scratch, k.data());
  columns.add_gradient(z, m, inner.data(), k.data(), scratch, out.kernel);
  // The jitter is a share of the mean of the diagonal.
  const VectorXd each = VectorXd::Constant(
      m, features.jitter() * inner.trace() / static_cast<double>(m));
  columns.add_diagonal_gradient(z, m, each.data(), scratch, out.kernel);
  if (out.locations.size() > 0) {
    inner.diagonal() += each;
    inner *= 2.0;  // both arguments of k(z, z)
    columns.add_location_gradient(z, m, inner.data(), k.data(), scratch,
                                  out.locations);
  }
}

// The exact process, whose features are the rows of L itself: of the kernel
// depends the divergence alone, dF/dK = L^-T (S + a a' - I) L^-1 / 2. `slope`
// is the sum of the rows' derivatives in the nugget.
inline BoundGradient exact_bound_gradient(const Features& features,
                                          const VectorXd& a, MatrixXd s,
                                          double slope) {
  s.diagonal().array() -= 1.0;
  s.noalias() += a * a.transpose();
  s *= 0.5;
  BoundGradient out;
  out.kernel = VectorXd::Zero(features.kernel().parameters());
  out.nugget = slope;
  add_kernel_matrix_gradient(features, s, out);
  return out;
}

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

  // q(v) = N(a, S). Columns beside the features go with sites only.
  BoundGradient run(const VectorXd& a, const MatrixXd& s, bool locations,
                    const BesideFeatures* beside = nullptr) {
    a_ = &a;
    covariance_ = &s;
    beside_ = beside;
    locations_ = locations;
    const auto upper = features_.factor().transpose();
    direction_ = upper.triangularView<Eigen::Upper>().solve(a);
    Parts total = zero();
    const RowSource& base = sweep_.rows;
    const Index m = features_.columns();
    const Index most = sweep_.slots(0, base.chunks(), m * m);
    std::vector<Parts> slots(most);
    sweep_.run(
        0, base.chunks(),
        [&](Index block, Index slot) {
          auto loan = pool_.borrow();
          slots[slot] = zero();
          for (const TileSpan& span : base.block_tiles(block)) {
            tile(span, *loan, slots[slot]);
          }
        },
        [&](Index count) {
          for (Index s = 0; s < count; ++s) add(slots[s], total);
        },
        most);
    return finish(total);
  }

 private:
  struct Parts {
    VectorXd kernel, gradient;
    MatrixXd gram, locations;  // T, of sites R
    double slope = 0.0;
  };
  struct Scratch {
    Features::Scratch features;
    MatrixXd phi, g, work;
    VectorXd residual, kappa, pull, slope, weight;
  };

  Parts zero() const {
    const Index m = features_.columns();
    Parts out;
    out.kernel = VectorXd::Zero(features_.kernel().parameters());
    out.gradient = VectorXd::Zero(m);
    out.gram = MatrixXd::Zero(m, m);
    if (locations_) out.locations = MatrixXd::Zero(features_.dimension(), m);
    return out;
  }

  static void add(const Parts& part, Parts& total) {
    total.kernel += part.kernel;
    total.gradient += part.gradient;
    total.gram += part.gram;
    total.locations += part.locations;
    total.slope += part.slope;
  }

  void tile(const TileSpan& span, Scratch& scratch, Parts& out) const {
    const Index n = span.row_end - span.row_begin, m = features_.columns();
    if (scratch.phi.rows() != m || scratch.phi.cols() < n) {
      scratch.phi.resize(m, n);
      scratch.g.resize(m, n);
      for (VectorXd* v :
           {&scratch.residual, &scratch.kappa, &scratch.pull, &scratch.slope,
            &scratch.weight}) {
        v->resize(n);
      }
    }
    MatrixXd unused;
    const Tile raw = sweep_.rows.tile(span, unused);
    features_.block(raw.x.data(), n, scratch.features, scratch.phi.data(),
                    scratch.residual.data());
    const auto phi = scratch.phi.leftCols(n);
    auto g = scratch.g.leftCols(n);
    auto pull = scratch.pull.head(n);
    pull.noalias() = phi.transpose() * *a_;
    g.noalias() = *covariance_ * phi;
    if (sites_ != nullptr) {
      site_rows(span, raw, g, scratch);
    } else {
      bound_rows(raw, phi, g, scratch);
    }
    const auto kappa = scratch.kappa.head(n);
    const auto slope = scratch.slope.head(n);
    auto weight = scratch.weight.head(n);
    if (sites_ != nullptr) {
      weight = -2.0 * slope;
    } else {
      weight = kappa;
    }
    weighted_gram(phi, weight, scratch.work, out.gram);
    out.gradient.noalias() += phi * pull;
    out.slope += slope.sum();
    g.array().rowwise() *= -kappa.transpose().array();
    g.noalias() -= phi * (2.0 * slope).asDiagonal();
    const auto upper = features_.factor().transpose();
    upper.triangularView<Eigen::Upper>().solveInPlace(g);
    g.noalias() += direction_ * pull.transpose();
    const double* k = scratch.features.block.data();
    const KernelColumns& columns = features_.kernel_columns();
    columns.add_gradient(raw.x.data(), n, g.data(), k, scratch.features.kernel,
                         out.kernel);
    columns.add_diagonal_gradient(raw.x.data(), n, scratch.slope.data(),
                                  scratch.features.kernel, out.kernel);
    if (locations_) {
      columns.add_location_gradient(raw.x.data(), n, g.data(), k,
                                    scratch.features.kernel, out.locations);
    }
  }

  // `g` holds S phi; the pulls hold the means of f.
  void bound_rows(const Tile& raw, const Eigen::Ref<const MatrixXd>& phi,
                  const Eigen::Ref<const MatrixXd>& g, Scratch& scratch) const {
    const Index n = phi.cols();
    const VectorXd variance =
        (phi.array() * g.array()).colwise().sum().transpose() +
        scratch.residual.head(n).array();
    for (Index i = 0; i < n; ++i) {
      const RowTerms row = mean_field(raw.y[i], raw.weight[i], scratch.pull[i],
                                      variance[i]);
      scratch.kappa[i] = row.kappa;
      scratch.slope[i] = -0.5 * row.kappa;
      scratch.pull[i] = row.gradient;
    }
  }

  void site_rows(const TileSpan& span, const Tile& raw,
                 Eigen::Ref<MatrixXd> g, Scratch& scratch) const {
    const Index first = span.row_begin, n = span.rows();
    auto mean = scratch.pull.head(n);
    mean += raw.offset;
    if (beside_ != nullptr) {
      const auto columns = beside_->columns.middleCols(first, n);
      mean.noalias() += columns.transpose() * beside_->mean;
      g.noalias() += beside_->cross * columns;
    }
    for (Index i = 0; i < n; ++i) {
      scratch.kappa[i] = sites_->kappa[first + i];
      scratch.slope[i] = sites_->residual_slope[first + i];
      mean[i] = sites_->b[first + i] - scratch.kappa[i] * mean[i];
    }
  }

  BoundGradient finish(Parts& total) const {
    const MatrixXd gram = total.gram.selfadjointView<Eigen::Lower>();
    MatrixXd inner;
    if (sites_ != nullptr) {
      inner = -gram - *covariance_;
      inner.diagonal().array() += 1.0;
      inner.noalias() -= *a_ * a_->transpose();
    } else {
      inner = *covariance_ * gram;
      inner = (inner + inner.transpose()).eval() - gram + *covariance_;
      inner.diagonal().array() -= 1.0;
      inner.noalias() += *a_ * a_->transpose();
      inner.noalias() -= *a_ * total.gradient.transpose();
      inner.noalias() -= total.gradient * a_->transpose();
    }
    inner *= 0.5;
    BoundGradient out;
    out.kernel = std::move(total.kernel);
    out.locations = std::move(total.locations);
    out.nugget = total.slope;
    add_kernel_matrix_gradient(features_, inner, out);
    return out;
  }

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

#endif
