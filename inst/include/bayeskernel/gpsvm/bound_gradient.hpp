// Derivatives of the bound in the kernel's parameters, the nugget and the
// inducing points at fixed q(u); total derivatives where q is optimal. In whitened coordinates, with T = sum kappa phi phi',
// t = sum g phi, g_i = y (w + kappa) - kappa phi'a:
//   dF/dk_i  = L^-T {g_i a + kappa_i (I - S) phi_i}
//   dF/dk_ii = -kappa_i / 2
//   dF/dK_mm = L^-T {-sym(a t') + (S T + T S - T + S + a a' - I) / 2} L^-1
// Cost of a row: that of its features, m^2 for G and m^2 / 2 for T.
#ifndef BAYESKERNEL_GPSVM_BOUND_GRADIENT_HPP
#define BAYESKERNEL_GPSVM_BOUND_GRADIENT_HPP

#include <Eigen/Core>
#include <utility>
#include <vector>

#include "../data/sweep.hpp"
#include "../hinge/rules.hpp"
#include "../math/gram.hpp"
#include "features.hpp"

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
// depends the divergence alone, dF/dK = L^-T (S + a a' - I) L^-1 / 2. `kappa`
// is the sum of the rows' kappa.
inline BoundGradient exact_bound_gradient(const Features& features,
                                          const VectorXd& a, MatrixXd s,
                                          double kappa) {
  s.diagonal().array() -= 1.0;
  s.noalias() += a * a.transpose();
  s *= 0.5;
  BoundGradient out;
  out.kernel = VectorXd::Zero(features.kernel().parameters());
  out.nugget = -0.5 * kappa;
  add_kernel_matrix_gradient(features, s, out);
  return out;
}

class BoundGradientPass {
 public:
  BoundGradientPass(const RowSource& base, const Features& features,
                    Executor& executor)
      : sweep_{base, executor, nullptr}, features_(features) {}

  // q(v) = N(a, S).
  BoundGradient run(const VectorXd& a, const MatrixXd& s, bool locations) {
    const Index m = features_.columns();
    a_ = &a;
    covariance_ = &s;
    locations_ = locations;
    const auto upper = features_.factor().transpose();
    direction_ = upper.triangularView<Eigen::Upper>().solve(a);
    spread_ = MatrixXd::Identity(m, m) - s;
    upper.triangularView<Eigen::Upper>().solveInPlace(spread_);
    Parts total = zero();
    std::vector<Parts> slots;
    const RowSource& base = sweep_.rows;
    for (Index c = 0; c < base.chunks(); ++c) {
      const std::size_t blocks = base.chunk_begin(c + 1) - base.chunk_begin(c);
      if (slots.size() < blocks) slots.resize(blocks);
    }
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
        });
    return finish(total);
  }

 private:
  struct Parts {
    VectorXd kernel, gradient;
    MatrixXd gram, locations;
    double kappa = 0.0;
  };
  struct Scratch {
    Features::Scratch features;
    MatrixXd phi, g, work;
    VectorXd residual, kappa, pull, half;
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
    total.kappa += part.kappa;
  }

  void tile(const TileSpan& span, Scratch& scratch, Parts& out) const {
    const Index n = span.row_end - span.row_begin, m = features_.columns();
    if (scratch.phi.rows() != m || scratch.phi.cols() < n) {
      scratch.phi.resize(m, n);
      scratch.g.resize(m, n);
      for (VectorXd* v :
           {&scratch.residual, &scratch.kappa, &scratch.pull, &scratch.half}) {
        v->resize(n);
      }
    }
    MatrixXd unused;
    const Tile raw = sweep_.rows.tile(span, unused);
    features_.block(raw.x.data(), n, scratch.features, scratch.phi.data(),
                    scratch.residual.data());
    const auto phi = scratch.phi.leftCols(n);
    auto g = scratch.g.leftCols(n);
    auto mean = scratch.pull.head(n);
    mean.noalias() = phi.transpose() * *a_;
    g.noalias() = *covariance_ * phi;
    const VectorXd variance =
        (phi.array() * g.array()).colwise().sum().transpose() +
        scratch.residual.head(n).array();
    for (Index i = 0; i < n; ++i) {
      const RowTerms row =
          mean_field(raw.y[i], raw.weight[i], mean[i], variance[i]);
      scratch.kappa[i] = row.kappa;
      scratch.half[i] = -0.5 * row.kappa;
      scratch.pull[i] = row.gradient;
    }
    const auto kappa = scratch.kappa.head(n);
    weighted_gram(phi, kappa, scratch.work, out.gram);
    out.gradient.noalias() += phi * scratch.pull.head(n);
    out.kappa += kappa.sum();
    g.noalias() = spread_ * phi;
    g.array().rowwise() *= kappa.transpose().array();
    g.noalias() += direction_ * scratch.pull.head(n).transpose();
    const double* k = scratch.features.block.data();
    const KernelColumns& columns = features_.kernel_columns();
    columns.add_gradient(raw.x.data(), n, g.data(), k, scratch.features.kernel,
                         out.kernel);
    columns.add_diagonal_gradient(raw.x.data(), n, scratch.half.data(),
                                  scratch.features.kernel, out.kernel);
    if (locations_) {
      columns.add_location_gradient(raw.x.data(), n, g.data(), k,
                                    scratch.features.kernel, out.locations);
    }
  }

  BoundGradient finish(Parts& total) const {
    const MatrixXd t = total.gram.selfadjointView<Eigen::Lower>();
    MatrixXd inner = *covariance_ * t;
    inner = (inner + inner.transpose()).eval() - t + *covariance_;
    inner.diagonal().array() -= 1.0;
    inner.noalias() += *a_ * a_->transpose();
    inner.noalias() -= *a_ * total.gradient.transpose();
    inner.noalias() -= total.gradient * a_->transpose();
    inner *= 0.5;
    BoundGradient out;
    out.kernel = std::move(total.kernel);
    out.locations = std::move(total.locations);
    out.nugget = -0.5 * total.kappa;
    add_kernel_matrix_gradient(features_, inner, out);
    return out;
  }

  Sweep sweep_;
  const Features& features_;
  const VectorXd* a_ = nullptr;
  const MatrixXd* covariance_ = nullptr;
  bool locations_ = false;
  VectorXd direction_;  // L^-T a
  MatrixXd spread_;     // L^-T (I - S)
  ScratchPool<Scratch> pool_;
};

}  // namespace bayeskernel

#endif
