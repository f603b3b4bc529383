// From a data matrix, its transforms and the grouping factors to the rows and
// prior of the hinge engine (svm.md section 2).
#ifndef BAYESKERNEL_BSVM_PROBLEM_HPP
#define BAYESKERNEL_BSVM_PROBLEM_HPP

#include <Eigen/Core>
#include <Eigen/QR>
#include <vector>

#include "../data/rows.hpp"
#include "../hinge/blocks.hpp"

namespace bayeskernel {

// A random term whose effects stay in theta as indicator columns, member by
// member: `group` in 0 .. members - 1, `z` n x r.
struct KeptTerm {
  std::vector<int> group;
  Index members;
  Eigen::Map<const MatrixXd> z;
};

struct BsvmData {
  Eigen::Map<const MatrixXd> x;  // n x p, data scale
  Eigen::Map<const VectorXd> center, scale;
  Eigen::Map<const VectorXd> y, weight, offset;
  std::vector<KeptTerm> kept;
  // The eliminated term: rows in the order that makes groups contiguous.
  std::vector<Index> order;        // position -> row
  std::vector<Index> group_begin;  // empty without groups
  Eigen::Map<const MatrixXd> z;    // n x r
};

inline PackedRows pack_rows(const BsvmData& data) {
  const Index n = data.x.rows(), p = data.x.cols(), r = data.z.cols();
  Index columns = p;
  for (const KeptTerm& term : data.kept) columns += term.members * term.z.cols();
  PackedRows rows;
  rows.x.resize(columns, n);
  rows.z.resize(r, n);
  rows.y.resize(n);
  rows.weight.resize(n);
  rows.offset.resize(n);
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

// A block of more columns than rows, turned by an orthogonal basis Q of the
// row space: the data reach n directions, the others keep their prior. Exact
// for a prior that is a multiple of the identity, O(n^2 q) once, and every
// later step is free of q.
struct WideBlock {
  Index first = 0;
  MatrixXd basis;  // q x n, empty when the block was left alone
};

inline WideBlock reduce_wide(PackedRows& rows, Prior& prior) {
  WideBlock wide;
  const Index n = rows.x.cols(), p = rows.x.rows();
  if (static_cast<double>(p) <= 1.2 * static_cast<double>(n)) return wide;
  for (Block& block : prior.blocks) {
    const bool last = block.first + block.members == p;
    if (block.eliminated || block.width != 1 || block.members <= n || !last) {
      continue;
    }
    wide.first = block.first;
    Eigen::HouseholderQR<MatrixXd> qr(rows.x.bottomRows(block.members));
    wide.basis = qr.householderQ() * MatrixXd::Identity(block.members, n);
    const MatrixXd reduced =
        qr.matrixQR().topRows(n).triangularView<Eigen::Upper>();
    MatrixXd x(block.first + n, n);
    x.topRows(block.first) = rows.x.topRows(block.first);
    x.bottomRows(n) = reduced;
    rows.x.swap(x);
    block.hidden = block.members - n;
    block.members = n;
    prior.precision.conservativeResize(block.first + n);
    prior.mean.conservativeResize(block.first + n);
    break;
  }
  return wide;
}

}  // namespace bayeskernel

#endif
