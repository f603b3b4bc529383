// Fixed columns z, packed for one leaf of a kernel, against tiles of data.
#pragma once

#include "eigen.hpp"
#include "kernel/tile.hpp"
#include "kernel/tree.hpp"
#include "simd/simd.hpp"

namespace bayeskernel {
namespace detail {
// The first `size` numbers of a buffer that grows when it must.
double* reserve(VectorXd& buffer, Index size);

// A leaf of distances takes columns centred at the mean of z, so that distances
// far from the origin keep their digits, and divided by the length-scales.
// Columns are as the leaf sees them (leaf_view.hpp), where a periodic one and a
// projected one are an rbf.
class PackedColumns {
 public:
  PackedColumns(const Kernel& leaf, const MatrixXd& z, bool wide);

  // m x n, in `out`: values of an rbf, -r^2 / 2 for another leaf of distances,
  // inner products for any other.
  void block(const double* x, Index n, VectorXd& buffer, double* out) const {
#if BAYESKERNEL_HAS_AVX2
    if (wide_) return block_with<WideTile>(x, n, buffer, out);
#endif
    block_with<NarrowTile>(x, n, buffer, out);
  }

  // values <- variance exp(values), as those of an rbf are made.
  void exp(double* values, Index n, double variance) const {
#if BAYESKERNEL_HAS_AVX2
    if (wide_) return WideTile::exp(values, n, variance);
#endif
    NarrowTile::exp(values, n, variance);
  }

  // (x - shift) / lengthscale, d x n.
  void scale(const double* x, Index n, double* out) const;

  // r^2 of two columns, without the rounding of their norms.
  double squared_distance(const double* x, const double* z) const;

  const VectorXd& inverse_lengthscale() const { return inverse_; }

 private:
  Scaling scaling() const {
    return Scaling{d_, shift_.data(), inverse_.data()};
  }

  void pack(const MatrixXd& z) {
#if BAYESKERNEL_HAS_AVX2
    if (wide_) return pack_with<WideTile>(z);
#endif
    pack_with<NarrowTile>(z);
  }

  template <class Tile>
  void pack_with(const MatrixXd& z) {
    const Index groups = 2 * ((m_ + 2 * kGroup - 1) / (2 * kGroup));
    groups_ = VectorXd::Zero(groups * kGroup * d_);
    half_ = VectorXd::Zero(groups * kGroup);
    for (Index j = 0; j < m_; j += kGroup) {
      Tile::pack(FourColumns(z.data() + j * d_, d_, m_ - j), scaling(),
                 groups_.data() + j * d_, half_.data() + j);
    }
    if (!distances_) half_.setZero();
  }

  template <class Tile>
  void block_with(const double* x, Index n, VectorXd& buffer,
                  double* out) const {
    double* group = reserve(buffer, kGroup * d_);
    double half_x[kGroup];
    for (Index i = 0; i < n; i += kGroup, out += kGroup * m_) {
      const Index columns = std::min(kGroup, n - i);
      Tile::pack(FourColumns(x + i * d_, d_, columns), scaling(), group,
                 half_x);
      if (!distances_) std::fill_n(half_x, kGroup, 0.0);
      for (Index j = 0; j < m_; j += 2 * kGroup) {
        tile<Tile>(group, half_x, j, columns, out + j);
      }
      // While they are in the cache.
      if (rbf_) Tile::exp(out, columns * m_, variance_);
    }
  }

  // Rows j .. j + 7, as far as there are any, of up to four columns.
  template <class Tile>
  void tile(const double* group, const double* half_x, Index j, Index columns,
            double* out) const {
    const double* z = groups_.data() + j * d_;
    const double* half_z = half_.data() + j;
    const Index rows = std::min(2 * kGroup, m_ - j);
    if (rows == 2 * kGroup && columns == kGroup) {
      Tile::run(d_, z, half_z, group, half_x, out, m_);
      return;
    }
    double edge[2 * kGroup * kGroup];
    Tile::run(d_, z, half_z, group, half_x, edge, 2 * kGroup);
    for (Index c = 0; c < columns; ++c) {
      std::copy_n(edge + 2 * kGroup * c, rows, out + c * m_);
    }
  }

  Index d_, m_;
  bool wide_, rbf_, distances_;
  double variance_;
  VectorXd shift_, inverse_;
  VectorXd groups_;  // packed z; the last pair of groups is filled with zeros
  VectorXd half_;    // half the squared norms of z as packed, 0 of products
};
}  // namespace detail
}  // namespace bayeskernel
