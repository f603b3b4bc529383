// Derivatives of the bound in the kernel's parameters, the nugget and the
// inducing points at fixed q(u); total derivatives where q
// is optimal. In whitened coordinates, with T = sum kappa phi phi',
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

#include "../data/rows.hpp"
#include "../hinge/rules.hpp"
#include "../math/gram.hpp"
#include "../parallel/executor.hpp"
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
      : base_(base), features_(features), executor_(executor) {}

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
    Sums total = zero();
    for (Index c = 0; c < base_.chunks(); ++c) {
      base_.load(c, c + 1 < base_.chunks() ? c + 1 : -1);
      chunk(c, total);
    }
    return finish(total);
  }

 private:
  struct Sums {
    VectorXd kernel, shift;
    MatrixXd gram, locations;
    double kappa = 0.0;
  };
  struct Scratch {
    Features::Scratch features;
    MatrixXd phi, g, work;
    VectorXd residual, kappa, pull, half;
  };

  Sums zero() const {
    const Index m = features_.columns();
    Sums out;
    out.kernel = VectorXd::Zero(features_.kernel().parameters());
    out.shift = VectorXd::Zero(m);
    out.gram = MatrixXd::Zero(m, m);
    if (locations_) out.locations = MatrixXd::Zero(features_.dimension(), m);
    return out;
  }

  static void add(const Sums& part, Sums& total) {
    total.kernel += part.kernel;
    total.shift += part.shift;
    total.gram += part.gram;
    total.locations += part.locations;
    total.kappa += part.kappa;
  }

  void chunk(Index number, Sums& total) {
    const Index first = base_.chunk_begin(number);
    const Index blocks = base_.chunk_begin(number + 1) - first;
    std::vector<Sums> slots(blocks);
    executor_.run(blocks, [&](Index b) {
      auto loan = pool_.borrow();
      slots[b] = zero();
      for (Index t = base_.block_begin(first + b);
           t < base_.block_begin(first + b + 1); ++t) {
        tile(base_.tiles()[t], *loan, slots[b]);
      }
    });
    for (const Sums& slot : slots) add(slot, total);
  }

  void tile(const TileSpan& span, Scratch& scratch, Sums& out) const {
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
    const Tile raw = base_.tile(span, unused);
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
      const RowMoments row =
          mean_field(raw.y[i], raw.weight[i], mean[i], variance[i]);
      scratch.kappa[i] = row.kappa;
      scratch.half[i] = -0.5 * row.kappa;
      scratch.pull[i] = row.shift;
    }
    const auto kappa = scratch.kappa.head(n);
    weighted_gram(phi, kappa, scratch.work, out.gram);
    out.shift.noalias() += phi * scratch.pull.head(n);
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

  BoundGradient finish(Sums& total) const {
    const MatrixXd t = total.gram.selfadjointView<Eigen::Lower>();
    MatrixXd inner = *covariance_ * t;
    inner = (inner + inner.transpose()).eval() - t + *covariance_;
    inner.diagonal().array() -= 1.0;
    inner.noalias() += *a_ * a_->transpose();
    inner.noalias() -= *a_ * total.shift.transpose();
    inner.noalias() -= total.shift * a_->transpose();
    inner *= 0.5;
    BoundGradient out;
    out.kernel = std::move(total.kernel);
    out.locations = std::move(total.locations);
    out.nugget = -0.5 * total.kappa;
    add_kernel_matrix_gradient(features_, inner, out);
    return out;
  }

  const RowSource& base_;
  const Features& features_;
  Executor& executor_;
  const VectorXd* a_ = nullptr;
  const MatrixXd* covariance_ = nullptr;
  bool locations_ = false;
  VectorXd direction_;  // L^-T a
  MatrixXd spread_;     // L^-T (I - S)
  ScratchPool<Scratch> pool_;
};

}  // namespace bayeskernel

#endif
