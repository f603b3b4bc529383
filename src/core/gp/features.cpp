#include "gp/features.hpp"

#include "error.hpp"
#include "math/decompositions.hpp"
#include "simd/dense_factor.hpp"

namespace bayeskernel {
Features::Features(const Kernel& kernel, const MatrixXd& z, double nugget)
    : kernel_(kernel), columns_(kernel, z), nugget_(nugget) {
  const Index m = z.cols();
  gram_.resize(m, m);
  KernelColumns::Scratch scratch;
  columns_.block(z.data(), m, scratch, gram_.data());
  for (Index j = 0; j < m; ++j) {
    for (Index i = 0; i < j; ++i) {
      gram_(i, j) = gram_(j, i) = 0.5 * (gram_(i, j) + gram_(j, i));
    }
  }
  factor();
}

Features Features::given(const MatrixXd& z, double nugget) {
  Features out(Kernel::linear(1.0), MatrixXd::Identity(z.cols(), z.cols()),
               nugget);
  out.given_ = true;
  out.gram_ = z.topRows(z.cols());
  out.factor();
  return out;
}

void Features::block(const double* x, Index n, Scratch& scratch, double* phi,
                     double* residual) const {
  const Index m = columns();
  if (scratch.block.rows() != m || scratch.block.cols() < n) {
    scratch.block.resize(m, n);
    scratch.diagonal.resize(n);
    scratch.norm.resize(n);
  }
  const MatrixMap rows(x, dimension(), n);
  if (given_) {
    scratch.block.leftCols(n) = rows.topRows(m);
    scratch.diagonal.head(n) = rows.row(m).transpose();
  } else {
    columns_.block(x, n, scratch.kernel, scratch.block.data());
    kernel_.diagonal(rows, scratch.diagonal.head(n));
  }
  whiten_.apply(scratch.block.data(), n, phi, scratch.norm.data());
  for (Index i = 0; i < n; ++i) {
    residual[i] =
        std::max(scratch.diagonal[i] - scratch.norm[i], 0.0) + nugget_;
  }
}

void Features::factor() {
  const double scale = gram_.diagonal().mean();
  if (!std::isfinite(scale)) {
    throw NumericError("the kernel matrix has values that are not finite");
  }
  for (jitter_ = 1e-6; jitter_ < 2e-3; jitter_ *= 10.0) {
    factor_ = gram_;
    factor_.diagonal().array() += jitter_ * scale;
    if (!factor_lower(factor_)) continue;
    gram_.diagonal().array() += jitter_ * scale;
    factor_.triangularView<Eigen::StrictlyUpper>().setZero();
    whiten_ = LowerProduct(invert_lower(factor_));
    return;
  }
  throw NumericError(
      "the kernel matrix of the inducing points is not positive definite");
}

void add_slope_products(const Kernel& kernel, const MatrixXd& z,
                        const VectorXd& direction, const MatrixRef& x,
                        Eigen::Ref<MatrixXd> outer) {
  const Index n = x.cols(), m = z.cols();
  // The kernel is symmetric: the rows are its first argument here.
  const KernelColumns columns(kernel, x);
  KernelColumns::Scratch scratch;
  MatrixXd k(n, m), slopes = MatrixXd::Zero(x.rows(), n);
  columns.block(z.data(), m, scratch, k.data());
  const MatrixXd weight = VectorXd::Ones(n) * direction.transpose();
  columns.add_location_gradient(z.data(), m, weight.data(), k.data(), scratch,
                                slopes);
  outer.noalias() += slopes * slopes.transpose();
}

void FeatureRows::refresh() {
  partition(base_.rows(), {}, 0, block_rows());
  if (base_.in_memory()) return;
  bool agree = chunks() == base_.chunks();
  for (Index c = 0; agree && c < chunks(); ++c) {
    agree = chunk_span(c).row_begin == base_.chunk_span(c).row_begin;
  }
  if (!agree) {
    throw ArgumentError("rows and their features are in different chunks");
  }
}

Tile FeatureRows::tile(const TileSpan& span, MatrixXd& buffer) const {
  const Index n = span.row_end - span.row_begin, m = x_columns();
  if (buffer.rows() != m + 1 || buffer.cols() < n) buffer.resize(m + 1, n);
  double* phi = buffer.data();
  double* residual = phi + m * n;
  MatrixXd unused;
  const Tile raw = base_.tile(span, unused);
  const Index parts = (n + kTileRows - 1) / kTileRows;
  const auto part = [&](Index t) {
    auto loan = pool_.borrow();
    const Index first = t * kTileRows;
    const Index count = std::min<Index>(kTileRows, n - first);
    features_.block(raw.x.data() + first * raw.x.rows(), count, *loan,
                    phi + first * m, residual + first);
  };
  if (parts == 1) {
    part(0);
  } else {
    executor_.run(parts, part);
  }
  return Tile{MatrixMap(phi, m, n), MatrixMap(nullptr, 0, n), raw.y, raw.weight,
              raw.offset,           VectorMap(residual, n)};
}

Index FeatureRows::block_rows() const {
  if (base_.blocks() < 2) return kBlockRows;
  return base_.tiles()[base_.block_begin(1) - 1].row_end;
}

Prior unit_prior(Index m) {
  Prior out;
  out.precision = VectorXd::Ones(m);
  out.mean = VectorXd::Zero(m);
  return out;
}

void keep_features(const FeatureRows& rows, PackedRows& out) {
  const Index n = rows.rows(), m = rows.x_columns();
  out.x.resize(m, n);
  out.z.resize(0, n);
  out.residual.resize(n);
  out.y.resize(n);
  out.weight.resize(n);
  out.offset = VectorXd::Zero(n);
  MatrixXd buffer;
  for (Index c = 0; c < rows.chunks(); ++c) {
    rows.load(c, c + 1 < rows.chunks() ? c + 1 : -1);
    const TileSpan span = rows.chunk_span(c);
    const Tile tile = rows.tile(span, buffer);
    const Index first = span.row_begin, count = span.row_end - first;
    out.x.middleCols(first, count) = tile.x;
    out.residual.segment(first, count) = tile.residual;
    out.y.segment(first, count) = tile.y;
    out.weight.segment(first, count) = tile.weight;
  }
  out.finish({});
}

void keep_labels(const RowSource& base, PackedRows& out) {
  out.y.resize(base.rows());
  out.weight.resize(base.rows());
  MatrixXd unused;
  for (Index c = 0; c < base.chunks(); ++c) {
    base.load(c, c + 1 < base.chunks() ? c + 1 : -1);
    const TileSpan span = base.chunk_span(c);
    const Tile tile = base.tile(span, unused);
    const Index n = span.row_end - span.row_begin;
    out.y.segment(span.row_begin, n) = tile.y;
    out.weight.segment(span.row_begin, n) = tile.weight;
  }
}

void exact_features(const Features& features, PackedRows& out) {
  const Index n = features.columns();
  out.x = features.factor().transpose();
  out.z.resize(0, n);
  out.residual = VectorXd::Constant(n, features.nugget());
  out.offset = VectorXd::Zero(n);
  out.finish({});
}

Kernel along_slopes(const Kernel& kernel, const MatrixXd& outer,
                    const VectorXd& scale) {
  if (!kernel.leaf()) {
    std::vector<Kernel> children;
    for (const Kernel& child : kernel.children()) {
      children.push_back(along_slopes(child, outer, scale));
    }
    return kernel.kind() == Kernel::Kind::sum
               ? Kernel::sum(std::move(children))
               : Kernel::product(std::move(children));
  }
  if (kernel.kind() != Kernel::Kind::projected) return kernel;
  MatrixXd a = kernel.projection();
  const Index d = a.cols();
  std::vector<Index> at = kernel.columns();
  for (Index k = 0; kernel.columns().empty() && k < d; ++k) at.push_back(k);
  MatrixXd own(d, d);
  for (Index k = 0; k < d; ++k) {
    for (Index l = 0; l < d; ++l) {
      own(k, l) = scale[at[k]] * scale[at[l]] * outer(at[k], at[l]);
    }
  }
  const SymmetricEigen eigen(own);
  const double largest = eigen.eigenvalues()[d - 1];
  if (!(largest > 0.0)) return kernel;
  constexpr double kLeast = 0.1;  // where slopes say nothing
  double square = 0.0;
  for (Index k = 0; k < d; ++k) {
    square += std::pow(scale[at[k]], 2) * a.col(k).squaredNorm();
  }
  const double length = std::sqrt(square / static_cast<double>(a.rows()));
  for (Index j = 0; j < a.rows(); ++j) {
    const Index e = std::max<Index>(d - 1 - j, 0);
    const double fraction =
        std::sqrt(std::max(eigen.eigenvalues()[e], 0.0) / largest);
    for (Index k = 0; k < d; ++k) {
      a(j, k) = std::max(fraction, kLeast) * length *
                eigen.eigenvectors()(k, e) / scale[at[k]];
    }
  }
  return Kernel::projected(std::move(a), kernel.variance())
      .on(kernel.columns());
}
}  // namespace bayeskernel
