// Blocks of a kernel matrix: k(z_j, x_i) for fixed columns z and the columns
// of any tile x, and what a function F of the block has as derivatives, given
// G = dF/dK. O(m d) a column of x for the block and again for a gradient.
#pragma once

#include "eigen.hpp"
#include "kernel/leaf_view.hpp"
#include "kernel/packed_columns.hpp"
#include "kernel/tree.hpp"
#include "simd/simd.hpp"

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
  void block(const double* x, Index n, Scratch& scratch, double* out) const;

  // gradient += sum_ij G_ji dk(z_j, x_i) / d log parameter; `k` as made by
  // block().
  void add_gradient(const double* x, Index n, const double* g, const double* k,
                    Scratch& scratch, Eigen::Ref<VectorXd> gradient) const;

  // gradient += sum_i g_i dk(x_i, x_i) / d log parameter.
  void add_diagonal_gradient(const double* x, Index n, const double* g,
                             Scratch&, Eigen::Ref<VectorXd> gradient) const;

  // locations (d x m) += sum_i G_ji dk(z_j, x_i) / dz_j, the derivative with
  // respect to the first argument.
  void add_location_gradient(const double* x, Index n, const double* g,
                             const double* k, Scratch& scratch,
                             Eigen::Ref<MatrixXd> locations) const;

 private:
  using Map = MatrixMap;
  using Array = Eigen::Map<ArrayXXd>;
  using ConstArray = Eigen::Map<const ArrayXXd>;

  // The fixed columns for one leaf, `z` as it sees them where that is not as
  // they are.
  struct Leaf {
    Leaf(const Kernel& kernel, const MatrixXd& all, bool wide)
        : view(kernel, all),
          z(seen(view, all)),
          packed(kernel, view.whole() ? all : z, wide) {}

    static MatrixXd seen(const detail::LeafView& view, const MatrixXd& all);

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

  std::size_t add_node(const Kernel& kernel, Index parameter, bool wide);

  void prepare(Scratch& scratch) const;

  // The block of a node, in `out`, and those of all nodes below it in
  // scratch.values.
  void evaluate(std::size_t at, const double* x, Index n, Scratch& scratch,
                double* out) const;

  // x and z as a leaf sees them, which is as they are for most.
  const double* see(const Leaf& leaf, const double* x, Index n,
                    Scratch& scratch) const;
  const MatrixXd& seen_z(const Leaf& leaf) const {
    return leaf.view.whole() ? z_ : leaf.z;
  }

  void evaluate_leaf(const Node& node, const double* x, Index n,
                     Scratch& scratch, double* out) const;

  // Codes that were standardised in different places differ in their last
  // bits.
  static bool same_code(double a, double b);

  static void agree(double variance, const MatrixXd& z, const double* x,
                    Index n, double* out);

  // From -r^2 / 2 to the values of a matern kernel, or to -dk / d(r^2 / 2). Of
  // points near to each other r is found anew: its root would magnify the
  // rounding of their norms.
  void matern(const Node& node, const double* x, Index n, Scratch& scratch,
              bool slope, double* out) const;

  static double matern_value(int twice_nu, double u);

  // At u = 0 that of nu = 1/2 has no bound; its functions have a kink there,
  // and no step counts.
  static double matern_slope(int twice_nu, double u);

  static double power(double base, int exponent);

  // Calls leaf(node, dF/d block of the leaf, block of the leaf) for every
  // leaf.
  template <class Leaf>
  void descend(const double* x, Index n, const double* g, const double* k,
               Scratch& scratch, const Leaf& leaf) const {
    if (nodes_.size() == 1) return leaf(nodes_[0], g, k);
    prepare(scratch);
    double* root = detail::reserve(scratch.values[0], columns() * n);
    evaluate(0, x, n, scratch, root);
    propagate(0, n, g, scratch, leaf);
  }

  template <class Leaf>
  void propagate(std::size_t at, Index n, const double* g, Scratch& scratch,
                 const Leaf& leaf) const {
    const Node& node = nodes_[at];
    if (node.kernel.leaf()) {
      return leaf(node, g, scratch.values[at].data());
    }
    for (const std::size_t child : node.children) {
      if (node.kernel.kind() == Kernel::Kind::sum) {
        propagate(child, n, g, scratch, leaf);
        continue;
      }
      double* weight = detail::reserve(scratch.weights[child], columns() * n);
      Array product(weight, columns(), n);
      product = ConstArray(g, columns(), n);
      for (const std::size_t other : node.children) {
        if (other == child) continue;
        product *= ConstArray(scratch.values[other].data(), columns(), n);
      }
      propagate(child, n, weight, scratch, leaf);
    }
  }

  // With A = -G * dk / d(r^2 / 2) elementwise, of an rbf G * K, and columns in
  // units of the length-scales,
  //   dF/d log lengthscale_k = sum_ij A_ji (x_ki - z_kj)^2
  //     = sum_i r_i x_ki^2 + sum_j c_j z_kj^2 - 2 sum_j z_kj (X A')_kj,
  // r_i the sum of column i of A, c_j that of row j.
  void leaf_gradient(const Node& node, const double* x, Index n,
                     const double* g, const double* value, Scratch& scratch,
                     Eigen::Ref<VectorXd> gradient) const;

  double inner_product(const double* a, const double* b, Index n) const;

  void leaf_locations(const Node& node, const double* x, Index n,
                      const double* g, const double* value, Scratch& scratch,
                      Eigen::Ref<MatrixXd> locations) const;

  // Of a leaf of distances, into scratch: A and its row and column sums, x and
  // z in units of the length-scales, and inner = X A', d x m. Gives d, the
  // numbers of a point as the leaf sees it.
  Index weigh(const Node& node, const double* x, Index n, const double* g,
              const double* value, Scratch& scratch) const;

  Kernel kernel_;
  MatrixXd z_;
  std::vector<Node> nodes_;  // depth first, the root in front
};
}  // namespace bayeskernel
