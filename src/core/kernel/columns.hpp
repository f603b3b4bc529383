// Blocks of a kernel matrix: k(z_j, x_i) for fixed columns z and the columns
// of any tile x, and what a function F of the block has as derivatives, given
// G = dF/dK. O(m d) a column of x for the block and again for a gradient.
#ifndef BAYESKERNEL_KERNEL_COLUMNS_HPP
#define BAYESKERNEL_KERNEL_COLUMNS_HPP

#include <Eigen/Core>
#include <algorithm>
#include <cmath>
#include <optional>
#include <utility>
#include <vector>

#include "kernel/leaf_view.hpp"
#include "kernel/packed_columns.hpp"
#include "kernel/tree.hpp"

namespace bayeskernel {

class KernelColumns {
 public:
  // Buffers, one for each thread; they grow with the first calls.
  struct Scratch {
    VectorXd group;                 // four packed columns
    VectorXd seen;                  // x as a leaf sees it
    std::vector<VectorXd> values;   // blocks of the nodes below the root
    std::vector<VectorXd> weights;  // their dF/dK
    VectorXd leaf;                  // G times what a leaf makes of it
    VectorXd slope;                 // of a leaf in its squared distances
    VectorXd scaled, scaled_z;      // columns in units of the length-scales
    MatrixXd inner;                 // d x m
    VectorXd row_sums, column_sums, squares, distances;
  };

  KernelColumns(const Kernel& kernel, MatrixXd z, bool wide = simd::enabled())
      : kernel_(kernel), z_(std::move(z)) {
    add_node(kernel_, 0, wide);
  }

  const MatrixXd& z() const { return z_; }
  Index columns() const { return z_.cols(); }

  // out, m x n, becomes k(z_j, x_i); x is d x n. A column of `out` depends on
  // its column of x alone, to the last bit.
  void block(const double* x, Index n, Scratch& scratch, double* out) const {
    prepare(scratch);
    evaluate(0, x, n, scratch, out);
  }

  // gradient += sum_ij G_ji dk(z_j, x_i) / d log parameter; `k` as made by
  // block().
  void add_gradient(const double* x, Index n, const double* g, const double* k,
                    Scratch& scratch, Eigen::Ref<VectorXd> gradient) const {
    descend(x, n, g, k, scratch,
            [&](const Node& node, const double* weight, const double* value) {
              leaf_gradient(node, x, n, weight, value, scratch, gradient);
            });
  }

  // gradient += sum_i g_i dk(x_i, x_i) / d log parameter.
  void add_diagonal_gradient(const double* x, Index n, const double* g,
                             Scratch&, Eigen::Ref<VectorXd> gradient) const {
    const Index d = z_.rows();
    if (kernel_.stationary()) {
      gradient[0] += kernel_.variance() * Map(g, n, 1).sum();
      return;
    }
    for (Index i = 0; i < n; ++i) {
      kernel_.add_gradient_at(x + i * d, d, g[i], gradient);
    }
  }

  // locations (d x m) += sum_i G_ji dk(z_j, x_i) / dz_j, the derivative with
  // respect to the first argument.
  void add_location_gradient(const double* x, Index n, const double* g,
                             const double* k, Scratch& scratch,
                             Eigen::Ref<MatrixXd> locations) const {
    descend(x, n, g, k, scratch,
            [&](const Node& node, const double* weight, const double* value) {
              leaf_locations(node, x, n, weight, value, scratch, locations);
            });
  }

 private:
  using Map = Eigen::Map<const MatrixXd>;
  using Array = Eigen::Map<Eigen::ArrayXXd>;
  using ConstArray = Eigen::Map<const Eigen::ArrayXXd>;

  // The fixed columns for one leaf, `z` as it sees them where that is not as
  // they are.
  struct Leaf {
    Leaf(const Kernel& kernel, const MatrixXd& all, bool wide)
        : view(kernel, all),
          z(seen(view, all)),
          packed(kernel, view.whole() ? all : z, wide) {}

    static MatrixXd seen(const detail::LeafView& view, const MatrixXd& all) {
      MatrixXd out;
      if (view.whole()) return out;
      out.resize(view.size(), all.cols());
      view.see(all.data(), all.cols(), out.data());
      return out;
    }

    detail::LeafView view;
    MatrixXd z;
    detail::PackedColumns packed;
  };

  // A node of the kernel with the place of its parameters.
  struct Node {
    Kernel kernel;
    Index parameter;
    std::vector<std::size_t> children;
    std::optional<Leaf> leaf;
  };

  std::size_t add_node(const Kernel& kernel, Index parameter, bool wide) {
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

  void prepare(Scratch& scratch) const {
    if (scratch.values.size() < nodes_.size()) {
      scratch.values.resize(nodes_.size());
      scratch.weights.resize(nodes_.size());
    }
  }

  // The block of a node, in `out`, and those of all nodes below it in
  // scratch.values.
  void evaluate(std::size_t at, const double* x, Index n, Scratch& scratch,
                double* out) const {
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

  // x and z as a leaf sees them, which is as they are for most.
  const double* see(const Leaf& leaf, const double* x, Index n,
                    Scratch& scratch) const {
    if (leaf.view.whole()) return x;
    double* out = detail::reserve(scratch.seen, leaf.view.size() * n);
    leaf.view.see(x, n, out);
    return out;
  }
  const MatrixXd& seen_z(const Leaf& leaf) const {
    return leaf.view.whole() ? z_ : leaf.z;
  }

  void evaluate_leaf(const Node& node, const double* x, Index n,
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

  // Codes that were standardised in different places differ in their last
  // bits.
  static bool same_code(double a, double b) {
    return std::abs(a - b) <=
           1e-10 * std::max({1.0, std::abs(a), std::abs(b)});
  }

  static void agree(double variance, const MatrixXd& z, const double* x,
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

  // From -r^2 / 2 to the values of a matern kernel, or to -dk / d(r^2 / 2). Of
  // points near to each other r is found anew: its root would magnify the
  // rounding of their norms.
  void matern(const Node& node, const double* x, Index n, Scratch& scratch,
              bool slope, double* out) const {
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
        out[j] *= slope ? matern_slope(twice_nu, u[j])
                        : matern_value(twice_nu, u[j]);
      }
    }
  }

  static double matern_value(int twice_nu, double u) {
    if (twice_nu == 1) return 1.0;
    return twice_nu == 3 ? 1.0 + u : 1.0 + u * (1.0 + u / 3.0);
  }

  // At u = 0 that of nu = 1/2 has no bound; its functions have a kink there,
  // and no step counts.
  static double matern_slope(int twice_nu, double u) {
    if (twice_nu == 1) return u > 0.0 ? 1.0 / u : 0.0;
    return twice_nu == 3 ? 3.0 : 5.0 / 3.0 * (1.0 + u);
  }

  static double power(double base, int exponent) {
    double out = 1.0;
    for (; exponent > 0; exponent /= 2, base *= base) {
      if (exponent % 2 == 1) out *= base;
    }
    return out;
  }

  // Calls leaf(node, dF/d block of the leaf, block of the leaf) for every
  // leaf.
  template <class Leaf>
  void descend(const double* x, Index n, const double* g, const double* k,
               Scratch& scratch, const Leaf& leaf) const {
    if (nodes_.size() == 1) return leaf(nodes_[0], g, k);
    prepare(scratch);
    double* root = detail::reserve(scratch.values[0], columns() * n);
    evaluate(0, x, n, scratch, root);
    spread(0, n, g, scratch, leaf);
  }

  template <class Leaf>
  void spread(std::size_t at, Index n, const double* g, Scratch& scratch,
              const Leaf& leaf) const {
    const Node& node = nodes_[at];
    if (node.kernel.leaf()) {
      return leaf(node, g, scratch.values[at].data());
    }
    for (const std::size_t child : node.children) {
      if (node.kernel.kind() == Kernel::Kind::sum) {
        spread(child, n, g, scratch, leaf);
        continue;
      }
      double* weight = detail::reserve(scratch.weights[child], columns() * n);
      Array product(weight, columns(), n);
      product = ConstArray(g, columns(), n);
      for (const std::size_t other : node.children) {
        if (other == child) continue;
        product *= ConstArray(scratch.values[other].data(), columns(), n);
      }
      spread(child, n, weight, scratch, leaf);
    }
  }

  // With A = -G * dk / d(r^2 / 2) elementwise, of an rbf G * K, and columns in
  // units of the length-scales,
  //   dF/d log lengthscale_k = sum_ij A_ji (x_ki - z_kj)^2
  //     = sum_i r_i x_ki^2 + sum_j c_j z_kj^2 - 2 sum_j z_kj (X A')_kj,
  // r_i the sum of column i of A, c_j that of row j.
  void leaf_gradient(const Node& node, const double* x, Index n,
                     const double* g, const double* value, Scratch& scratch,
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
          x, n, z_, scaled, scaled_z,
          Map(scratch.leaf.data(), columns(), n), scratch.inner,
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
          node.leaf->view.turned(x, z_.data(),
                                 Map(scratch.seen.data(), d, n), node.leaf->z,
                                 Map(scratch.leaf.data(), columns(), n)) /
          (lengthscale * lengthscale);
    }
  }

  double inner_product(const double* a, const double* b, Index n) const {
    return ConstArray(a, columns(), n)
        .cwiseProduct(ConstArray(b, columns(), n))
        .sum();
  }

  void leaf_locations(const Node& node, const double* x, Index n,
                      const double* g, const double* value, Scratch& scratch,
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

  // Of a leaf of distances, into scratch: A and its row and column sums, x and
  // z in units of the length-scales, and inner = X A', d x m. Gives d, the
  // numbers of a point as the leaf sees it.
  Index weigh(const Node& node, const double* x, Index n, const double* g,
              const double* value, Scratch& scratch) const {
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
    scratch.inner.noalias() =
        Map(scaled, d, n) * Map(weighted, m, n).transpose();
    return d;
  }

  Kernel kernel_;
  MatrixXd z_;
  std::vector<Node> nodes_;  // depth first, the root in front
};

}  // namespace bayeskernel

#endif
