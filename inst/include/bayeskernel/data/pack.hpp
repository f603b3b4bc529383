// From a data matrix, its transforms and the grouping factors to packed rows.
#ifndef BAYESKERNEL_DATA_PACK_HPP
#define BAYESKERNEL_DATA_PACK_HPP

#include <Eigen/Core>
#include <vector>

#include "rows.hpp"

namespace bayeskernel {

// A random term whose effects stay in theta as indicator columns, member by
// member: `group` in 0 .. members - 1, `z` n x r.
struct KeptTerm {
  std::vector<int> group;
  Index members;
  Eigen::Map<const MatrixXd> z;
};

struct ColumnData {
  Eigen::Map<const MatrixXd> x;  // n x p, data scale
  Eigen::Map<const VectorXd> center, scale;
  Eigen::Map<const VectorXd> y, weight, offset;
  std::vector<KeptTerm> kept;
  // The eliminated term: rows in the order that makes groups contiguous.
  std::vector<Index> order;        // position -> row
  std::vector<Index> group_begin;  // empty without groups
  Eigen::Map<const MatrixXd> z;    // n x r
  // Variance of what f has beside its columns, by row; empty: none.
  Eigen::Map<const VectorXd> residual{nullptr, 0};
};

inline PackedRows pack_rows(const ColumnData& data) {
  const Index n = data.x.rows(), p = data.x.cols(), r = data.z.cols();
  Index columns = p;
  for (const KeptTerm& term : data.kept) columns += term.members * term.z.cols();
  PackedRows rows;
  rows.x.resize(columns, n);
  rows.z.resize(r, n);
  rows.y.resize(n);
  rows.weight.resize(n);
  rows.offset.resize(n);
  rows.residual.resize(data.residual.size());
  const VectorXd inverse_scale = data.scale.cwiseInverse();
  constexpr Index kStrip = 64;  // rows at a time: both sides stay in cache
  for (Index begin = 0; begin < n; begin += kStrip) {
    const Index end = std::min(n, begin + kStrip);
    for (Index k = 0; k < p; ++k) {
      const double c = data.center[k], s = inverse_scale[k];
      const double* column = data.x.data() + k * n;
      for (Index i = begin; i < end; ++i) {
        rows.x(k, i) = (column[data.order[i]] - c) * s;
      }
    }
  }
  for (Index i = 0; i < n; ++i) {
    const Index row = data.order[i];
    rows.y[i] = data.y[row];
    rows.weight[i] = data.weight[row];
    rows.offset[i] = data.offset[row];
    if (data.residual.size() > 0) rows.residual[i] = data.residual[row];
    for (Index k = 0; k < r; ++k) rows.z(k, i) = data.z(row, k);
  }
  Index first = p;
  for (const KeptTerm& term : data.kept) {
    const Index width = term.z.cols();
    rows.x.middleRows(first, term.members * width).setZero();
    for (Index i = 0; i < n; ++i) {
      const Index row = data.order[i];
      for (Index k = 0; k < width; ++k) {
        rows.x(first + term.group[row] * width + k, i) = term.z(row, k);
      }
    }
    first += term.members * width;
  }
  return rows;
}

}  // namespace bayeskernel

#endif
