// Blocks of a kernel matrix: k(z_j, x_i) for fixed columns z and the columns
// of any tile x, and what a function F of the block has as derivatives, given
// G = dF/dK. O(m d) a column of x for the block and again for a gradient.
#ifndef BAYESKERNEL_KERNEL_COLUMNS_HPP
#define BAYESKERNEL_KERNEL_COLUMNS_HPP

#include <Eigen/Core>
#include <utility>
#include <vector>

#include "packed_columns.hpp"
#include "tree.hpp"

namespace bayeskernel {

class KernelColumns {
 public:
  // Buffers, one for each thread; they grow with the first calls.
  struct Scratch {
    VectorXd group;                 // four packed columns
    std::vector<VectorXd> values;   // blocks of the nodes below the root
    std::vector<VectorXd> weights;  // their dF/dK
    VectorXd leaf;                  // G times what a leaf makes of it
    VectorXd scaled, scaled_z;      // columns as an rbf sees them
    MatrixXd inner;                 // d x m
    VectorXd row_sums, column_sums, squares;
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
    if (kernel_.kind() == Kernel::Kind::rbf) {
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

  // A node of the kernel with the place of its parameters; leaves hold their
  // packed columns.
  struct Node {
    Kernel kernel;
    Index parameter;
    std::vector<std::size_t> children;
    std::vector<detail::PackedColumns> packed;
  };

  std::size_t add_node(const Kernel& kernel, Index parameter, bool wide) {
    const std::size_t at = nodes_.size();
    nodes_.push_back(Node{kernel, parameter, {}, {}});
    if (kernel.leaf()) nodes_[at].packed.emplace_back(kernel, z_, wide);
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

  void evaluate_leaf(const Node& node, const double* x, Index n,
                     Scratch& scratch, double* out) const {
    node.packed[0].block(x, n, scratch.group, out);
    const Kernel& kernel = node.kernel;
    if (kernel.kind() == Kernel::Kind::rbf) return;
    // A linear kernel is a polynomial one of degree 1 and offset 0.
    for (Index i = 0; i < columns() * n; ++i) {
      out[i] =
          kernel.variance() * power(out[i] + kernel.offset(), kernel.degree());
    }
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

  // With A = G * K elementwise and columns as the rbf sees them,
  //   dF/d log lengthscale_k = sum_ij A_ji (x_ki - z_kj)^2
  //     = sum_i r_i x_ki^2 + sum_j c_j z_kj^2 - 2 sum_j z_kj (X A')_kj,
  // r_i the sum of column i of A, c_j that of row j.
  void leaf_gradient(const Node& node, const double* x, Index n,
                     const double* g, const double* value, Scratch& scratch,
                     Eigen::Ref<VectorXd> gradient) const {
    if (node.kernel.kind() != Kernel::Kind::rbf) {
      gradient[node.parameter] +=
          ConstArray(g, columns(), n)
              .cwiseProduct(ConstArray(value, columns(), n))
              .sum();
      return;
    }
    weigh_rbf(node, x, n, g, value, scratch);
    gradient[node.parameter] += scratch.row_sums.sum();
    const Map scaled(scratch.scaled.data(), z_.rows(), n);
    const Map scaled_z(scratch.scaled_z.data(), z_.rows(), columns());
    VectorXd& squares = scratch.squares;
    squares.setZero(z_.rows());
    for (Index i = 0; i < n; ++i) {
      squares += scratch.column_sums[i] * scaled.col(i).cwiseAbs2();
    }
    for (Index j = 0; j < columns(); ++j) {
      const auto z = scaled_z.col(j);
      squares.array() += z.array() * (scratch.row_sums[j] * z.array() -
                                      2.0 * scratch.inner.col(j).array());
    }
    const Index count = node.kernel.lengthscale().size();
    if (count == 1) {
      gradient[node.parameter + 1] += squares.sum();
    } else {
      gradient.segment(node.parameter + 1, count) += squares;
    }
  }

  void leaf_locations(const Node& node, const double* x, Index n,
                      const double* g, const double* value, Scratch& scratch,
                      Eigen::Ref<MatrixXd> locations) const {
    const Kernel& kernel = node.kernel;
    const Map data(x, z_.rows(), n);
    if (kernel.kind() == Kernel::Kind::rbf) {
      weigh_rbf(node, x, n, g, value, scratch);
      MatrixXd& inner = scratch.inner;
      inner.noalias() -= Map(scratch.scaled_z.data(), z_.rows(), columns()) *
                         scratch.row_sums.asDiagonal();
      locations.noalias() +=
          node.packed[0].inverse_lengthscale().asDiagonal() * inner;
      return;
    }
    if (kernel.kind() == Kernel::Kind::linear) {
      locations.noalias() +=
          kernel.variance() * data * Map(g, columns(), n).transpose();
      return;
    }
    double* slope = detail::reserve(scratch.leaf, columns() * n);
    node.packed[0].block(x, n, scratch.group, slope);
    for (Index i = 0; i < columns() * n; ++i) {
      slope[i] = g[i] * kernel.variance() * kernel.degree() *
                 power(slope[i] + kernel.offset(), kernel.degree() - 1);
    }
    locations.noalias() += data * Map(slope, columns(), n).transpose();
  }

  // Into scratch: row and column sums of A = G * K, x and z as the rbf sees
  // them, and inner = X A', d x m.
  void weigh_rbf(const Node& node, const double* x, Index n, const double* g,
                 const double* value, Scratch& scratch) const {
    const Index d = z_.rows(), m = columns();
    double* weighted = detail::reserve(scratch.leaf, m * n);
    scratch.row_sums.setZero(m);
    scratch.column_sums.resize(n);
    for (Index i = 0; i < n; ++i) {
      Eigen::Map<VectorXd> a(weighted + i * m, m);
      a = Map(g + i * m, m, 1).cwiseProduct(Map(value + i * m, m, 1));
      scratch.row_sums += a;
      scratch.column_sums[i] = a.sum();
    }
    double* scaled = detail::reserve(scratch.scaled, d * n);
    node.packed[0].scale(x, n, scaled);
    node.packed[0].scale(z_.data(), m,
                         detail::reserve(scratch.scaled_z, d * m));
    scratch.inner.noalias() =
        Map(scaled, d, n) * Map(weighted, m, n).transpose();
  }

  Kernel kernel_;
  MatrixXd z_;
  std::vector<Node> nodes_;  // depth first, the root in front
};

}  // namespace bayeskernel

#endif
