#include "gp/bound_gradient.hpp"

#include "kernel/columns.hpp"
#include "kernel/tree.hpp"
#include "likelihood/rules.hpp"
#include "simd/gram.hpp"

namespace bayeskernel {
void add_kernel_matrix_gradient(const Features& features, MatrixXd& inner,
                                BoundGradient& out) {
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

BoundGradient exact_bound_gradient(const Features& features, const VectorXd& a,
                                   MatrixXd s, double slope) {
  s.diagonal().array() -= 1.0;
  s.noalias() += a * a.transpose();
  s *= 0.5;
  BoundGradient out;
  out.kernel = VectorXd::Zero(features.kernel().parameters());
  out.nugget = slope;
  add_kernel_matrix_gradient(features, s, out);
  return out;
}

BoundGradient BoundGradientPass::run(const VectorXd& a, const MatrixXd& s,
                                     bool locations,
                                     const BesideFeatures* beside,
                                     double times) {
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
  if (times != 1.0) scale(times, total);
  return finish(total);
}

auto BoundGradientPass::zero() const -> Parts {
  const Index m = features_.columns();
  Parts out;
  out.kernel = VectorXd::Zero(features_.kernel().parameters());
  out.gradient = VectorXd::Zero(m);
  out.gram = MatrixXd::Zero(m, m);
  if (locations_) out.locations = MatrixXd::Zero(features_.dimension(), m);
  return out;
}

void BoundGradientPass::add(const Parts& part, Parts& total) {
  total.kernel += part.kernel;
  total.gradient += part.gradient;
  total.gram += part.gram;
  total.locations += part.locations;
  total.slope += part.slope;
}

void BoundGradientPass::scale(double times, Parts& total) {
  total.kernel *= times;
  total.gradient *= times;
  total.gram *= times;
  total.locations *= times;
  total.slope *= times;
}

void BoundGradientPass::tile(const TileSpan& span, Scratch& scratch,
                             Parts& out) const {
  const Index n = span.row_end - span.row_begin, m = features_.columns();
  if (scratch.phi.rows() != m || scratch.phi.cols() < n) {
    scratch.phi.resize(m, n);
    scratch.g.resize(m, n);
    for (VectorXd* v : {&scratch.residual, &scratch.kappa, &scratch.gradient,
                        &scratch.slope, &scratch.weight}) {
      v->resize(n);
    }
  }
  MatrixXd unused;
  const Tile raw = sweep_.rows.tile(span, unused);
  features_.block(raw.x.data(), n, scratch.features, scratch.phi.data(),
                  scratch.residual.data());
  const auto phi = scratch.phi.leftCols(n);
  auto g = scratch.g.leftCols(n);
  auto gradient = scratch.gradient.head(n);
  gradient.noalias() = phi.transpose() * *a_;
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
  out.gradient.noalias() += phi * gradient;
  out.slope += slope.sum();
  g.array().rowwise() *= -kappa.transpose().array();
  g.noalias() -= phi * (2.0 * slope).asDiagonal();
  const auto upper = features_.factor().transpose();
  upper.triangularView<Eigen::Upper>().solveInPlace(g);
  g.noalias() += direction_ * gradient.transpose();
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

void BoundGradientPass::bound_rows(const Tile& raw, const MatrixRef& phi,
                                   const MatrixRef& g, Scratch& scratch) const {
  const Index n = phi.cols();
  const VectorXd variance =
      (phi.array() * g.array()).colwise().sum().transpose() +
      scratch.residual.head(n).array();
  for (Index i = 0; i < n; ++i) {
    const RowTerms row =
        mean_field(raw.y[i], raw.weight[i], scratch.gradient[i], variance[i]);
    scratch.kappa[i] = row.kappa;
    scratch.slope[i] = -0.5 * row.kappa;
    scratch.gradient[i] = row.gradient;
  }
}

void BoundGradientPass::site_rows(const TileSpan& span, const Tile& raw,
                                  Eigen::Ref<MatrixXd> g,
                                  Scratch& scratch) const {
  const Index first = span.row_begin, n = span.rows();
  auto mean = scratch.gradient.head(n);
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

BoundGradient BoundGradientPass::finish(Parts& total) const {
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
}  // namespace bayeskernel
