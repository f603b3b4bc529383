#include "kernel/columns.hpp"

namespace bayeskernel {
void KernelColumns::block(const double* x, Index n, Scratch& scratch,
                          double* out) const {
  prepare(scratch);
  evaluate(0, x, n, scratch, out);
}

void KernelColumns::add_gradient(const double* x, Index n, const double* g,
                                 const double* k, Scratch& scratch,
                                 Eigen::Ref<VectorXd> gradient) const {
  descend(x, n, g, k, scratch,
          [&](const Node& node, const double* weight, const double* value) {
            leaf_gradient(node, x, n, weight, value, scratch, gradient);
          });
}

void KernelColumns::add_diagonal_gradient(const double* x, Index n,
                                          const double* g, Scratch&,
                                          Eigen::Ref<VectorXd> gradient) const {
  const Index d = z_.rows();
  if (kernel_.stationary()) {
    gradient[0] += kernel_.variance() * Map(g, n, 1).sum();
    return;
  }
  for (Index i = 0; i < n; ++i) {
    kernel_.add_gradient_at(x + i * d, d, g[i], gradient);
  }
}

void KernelColumns::add_location_gradient(
    const double* x, Index n, const double* g, const double* k,
    Scratch& scratch, Eigen::Ref<MatrixXd> locations) const {
  descend(x, n, g, k, scratch,
          [&](const Node& node, const double* weight, const double* value) {
            leaf_locations(node, x, n, weight, value, scratch, locations);
          });
}

MatrixXd KernelColumns::Leaf::seen(const detail::LeafView& view,
                                   const MatrixXd& all) {
  MatrixXd out;
  if (view.whole()) return out;
  out.resize(view.size(), all.cols());
  view.see(all.data(), all.cols(), out.data());
  return out;
}

std::size_t KernelColumns::add_node(const Kernel& kernel, Index parameter,
                                    bool wide) {
  const std::size_t at = nodes_.size();
  nodes_.push_back(Node{kernel, parameter, {}, std::nullopt});
  if (kernel.leaf()) nodes_[at].leaf.emplace(kernel, z_, wide);
  for (const Kernel& child : kernel.children()) {
    const std::size_t place = add_node(child, parameter, wide);
    nodes_[at].children.push_back(place);
    parameter += child.parameters();
  }
  return at;
}

void KernelColumns::prepare(Scratch& scratch) const {
  if (scratch.values.size() < nodes_.size()) {
    scratch.values.resize(nodes_.size());
    scratch.weights.resize(nodes_.size());
  }
}

void KernelColumns::evaluate(std::size_t at, const double* x, Index n,
                             Scratch& scratch, double* out) const {
  const Node& node = nodes_[at];
  if (node.kernel.leaf()) return evaluate_leaf(node, x, n, scratch, out);
  Array block(out, columns(), n);
  for (const std::size_t child : node.children) {
    double* value = detail::reserve(scratch.values[child], columns() * n);
    evaluate(child, x, n, scratch, value);
    const ConstArray term(value, columns(), n);
    if (child == node.children[0]) {
      block = term;
    } else if (node.kernel.kind() == Kernel::Kind::sum) {
      block += term;
    } else {
      block *= term;
    }
  }
}

const double* KernelColumns::see(const Leaf& leaf, const double* x, Index n,
                                 Scratch& scratch) const {
  if (leaf.view.whole()) return x;
  double* out = detail::reserve(scratch.seen, leaf.view.size() * n);
  leaf.view.see(x, n, out);
  return out;
}

void KernelColumns::evaluate_leaf(const Node& node, const double* x, Index n,
                                  Scratch& scratch, double* out) const {
  const Kernel& kernel = node.kernel;
  const Leaf& leaf = *node.leaf;
  const double* seen = see(leaf, x, n, scratch);
  if (kernel.kind() == Kernel::Kind::categorical) {
    return agree(kernel.variance(), seen_z(leaf), seen, n, out);
  }
  leaf.packed.block(seen, n, scratch.group, out);
  if (kernel.gaussian()) return;
  if (kernel.kind() == Kernel::Kind::matern) {
    return matern(node, seen, n, scratch, false, out);
  }
  // A linear kernel is a polynomial one of degree 1 and offset 0.
  for (Index i = 0; i < columns() * n; ++i) {
    out[i] =
        kernel.variance() * power(out[i] + kernel.offset(), kernel.degree());
  }
}

bool KernelColumns::same_code(double a, double b) {
  return std::abs(a - b) <= 1e-10 * std::max({1.0, std::abs(a), std::abs(b)});
}

void KernelColumns::agree(double variance, const MatrixXd& z, const double* x,
                          Index n, double* out) {
  const Index d = z.rows();
  for (Index i = 0; i < n; ++i, x += d) {
    for (Index j = 0; j < z.cols(); ++j) {
      Index k = 0;
      while (k < d && same_code(x[k], z(k, j))) ++k;
      *out++ = k == d ? variance : 0.0;
    }
  }
}

double KernelColumns::matern_value(int twice_nu, double u) {
  if (twice_nu == 1) return 1.0;
  return twice_nu == 3 ? 1.0 + u : 1.0 + u * (1.0 + u / 3.0);
}

double KernelColumns::matern_slope(int twice_nu, double u) {
  if (twice_nu == 1) return u > 0.0 ? 1.0 / u : 0.0;
  return twice_nu == 3 ? 3.0 : 5.0 / 3.0 * (1.0 + u);
}

double KernelColumns::power(double base, int exponent) {
  double out = 1.0;
  for (; exponent > 0; exponent /= 2, base *= base) {
    if (exponent % 2 == 1) out *= base;
  }
  return out;
}

void KernelColumns::leaf_gradient(const Node& node, const double* x, Index n,
                                  const double* g, const double* value,
                                  Scratch& scratch,
                                  Eigen::Ref<VectorXd> gradient) const {
  const Kernel& kernel = node.kernel;
  const Index count = kernel.lengthscale().size();
  if (count == 0) {
    gradient[node.parameter] += inner_product(g, value, n);
    return;
  }
  const Index d = weigh(node, x, n, g, value, scratch);
  gradient[node.parameter] += kernel.kind() == Kernel::Kind::matern
                                  ? inner_product(g, value, n)
                                  : scratch.row_sums.sum();
  const Map scaled(scratch.scaled.data(), d, n);
  const Map scaled_z(scratch.scaled_z.data(), d, columns());
  if (kernel.kind() == Kernel::Kind::projected) {
    node.leaf->view.add_projection_gradient(
        x, n, z_, scaled, scaled_z, Map(scratch.leaf.data(), columns(), n),
        scratch.inner,
        gradient.segment(node.parameter + 1, kernel.projection().size()));
    return;
  }
  VectorXd& squares = scratch.squares;
  squares.setZero(d);
  for (Index i = 0; i < n; ++i) {
    squares += scratch.column_sums[i] * scaled.col(i).cwiseAbs2();
  }
  for (Index j = 0; j < columns(); ++j) {
    const auto z = scaled_z.col(j);
    squares.array() += z.array() * (scratch.row_sums[j] * z.array() -
                                    2.0 * scratch.inner.col(j).array());
  }
  if (count == 1) {
    gradient[node.parameter + 1] += squares.sum();
  } else {
    gradient.segment(node.parameter + 1, count) += squares;
  }
  if (kernel.kind() == Kernel::Kind::periodic) {
    const double lengthscale = kernel.lengthscale()[0];
    gradient[node.parameter + 2] +=
        node.leaf->view.turned(x, z_.data(), Map(scratch.seen.data(), d, n),
                               node.leaf->z,
                               Map(scratch.leaf.data(), columns(), n)) /
        (lengthscale * lengthscale);
  }
}

double KernelColumns::inner_product(const double* a, const double* b,
                                    Index n) const {
  return ConstArray(a, columns(), n)
      .cwiseProduct(ConstArray(b, columns(), n))
      .sum();
}

void KernelColumns::leaf_locations(const Node& node, const double* x, Index n,
                                   const double* g, const double* value,
                                   Scratch& scratch,
                                   Eigen::Ref<MatrixXd> locations) const {
  const Kernel& kernel = node.kernel;
  if (kernel.kind() == Kernel::Kind::categorical) return;
  const Leaf& leaf = *node.leaf;
  const MatrixXd& z = seen_z(leaf);
  MatrixXd& inner = scratch.inner;
  if (kernel.lengthscale().size() > 0) {
    const Index d = weigh(node, x, n, g, value, scratch);
    inner.noalias() -= Map(scratch.scaled_z.data(), d, columns()) *
                       scratch.row_sums.asDiagonal();
    inner.array().colwise() *= leaf.packed.inverse_lengthscale().array();
    leaf.view.add_locations(inner, z, locations);
    return;
  }
  const double* seen = see(leaf, x, n, scratch);
  const Map data(seen, z.rows(), n);
  if (kernel.kind() == Kernel::Kind::linear) {
    inner.noalias() =
        kernel.variance() * data * Map(g, columns(), n).transpose();
  } else {
    double* slope = detail::reserve(scratch.leaf, columns() * n);
    leaf.packed.block(seen, n, scratch.group, slope);
    for (Index i = 0; i < columns() * n; ++i) {
      slope[i] = g[i] * kernel.variance() * kernel.degree() *
                 power(slope[i] + kernel.offset(), kernel.degree() - 1);
    }
    inner.noalias() = data * Map(slope, columns(), n).transpose();
  }
  leaf.view.add_locations(inner, z, locations);
}

Index KernelColumns::weigh(const Node& node, const double* x, Index n,
                           const double* g, const double* value,
                           Scratch& scratch) const {
  const Leaf& leaf = *node.leaf;
  const MatrixXd& z = seen_z(leaf);
  const Index d = z.rows(), m = columns();
  const double* seen = see(leaf, x, n, scratch);
  const double* slope = value;
  if (node.kernel.kind() == Kernel::Kind::matern) {
    double* own = detail::reserve(scratch.slope, m * n);
    leaf.packed.block(seen, n, scratch.group, own);
    matern(node, seen, n, scratch, true, own);
    slope = own;
  }
  double* weighted = detail::reserve(scratch.leaf, m * n);
  scratch.row_sums.setZero(m);
  scratch.column_sums.resize(n);
  for (Index i = 0; i < n; ++i) {
    Eigen::Map<VectorXd> a(weighted + i * m, m);
    a = Map(g + i * m, m, 1).cwiseProduct(Map(slope + i * m, m, 1));
    scratch.row_sums += a;
    scratch.column_sums[i] = a.sum();
  }
  double* scaled = detail::reserve(scratch.scaled, d * n);
  leaf.packed.scale(seen, n, scaled);
  leaf.packed.scale(z.data(), m, detail::reserve(scratch.scaled_z, d * m));
  scratch.inner.noalias() = Map(scaled, d, n) * Map(weighted, m, n).transpose();
  return d;
}

void KernelColumns::matern(const Node& node, const double* x, Index n,
                           Scratch& scratch, bool slope, double* out) const {
  constexpr double kNear = -1e-3, kFar = 1e3;
  const detail::PackedColumns& packed = node.leaf->packed;
  const MatrixXd& z = seen_z(*node.leaf);
  const int twice_nu = node.kernel.twice_nu();
  const double root = std::sqrt(static_cast<double>(twice_nu));
  const Index m = columns();
  double* u = detail::reserve(scratch.distances, m);
  for (Index i = 0; i < n; ++i, x += z.rows(), out += m) {
    for (Index j = 0; j < m; ++j) {
      double squared = -2.0 * out[j];
      if (out[j] > kNear) {
        squared = packed.squared_distance(x, z.col(j).data());
      }
      u[j] = std::min(root * std::sqrt(squared), kFar);
      out[j] = -u[j];
    }
    packed.exp(out, m, node.kernel.variance());
    for (Index j = 0; j < m; ++j) {
      out[j] *=
          slope ? matern_slope(twice_nu, u[j]) : matern_value(twice_nu, u[j]);
    }
  }
}
}  // namespace bayeskernel
