// From a data matrix, its transforms and the grouping factors to packed rows.
#pragma once

#include "eigen.hpp"
#include "rows/rows.hpp"

namespace bayeskernel {
// A random term whose effects stay in theta as indicator columns, member by
// member: `group` in 0 .. members - 1, `z` n x r.
struct KeptTerm {
  std::vector<int> group;
  Index members;
  MatrixMap z;
};

struct ColumnData {
  MatrixMap x;  // n x p, data scale
  VectorMap center, scale;
  VectorMap y, weight, offset;
  std::vector<KeptTerm> kept;
  // The eliminated term: rows in the order that makes groups contiguous.
  std::vector<Index> order;        // position -> row
  std::vector<Index> group_begin;  // empty without groups
  MatrixMap z;                     // n x r
  // Variance of what f has beside its columns, by row; empty: none.
  VectorMap residual{nullptr, 0};
  // Columns after those of x that stay as they are, n x q.
  MatrixMap variables{nullptr, 0, 0};

  Index columns() const;

  // An ArgumentError unless all parts are of these rows.
  void check() const;
};

namespace detail {
// Rows begin .. end - 1 of the order: columns() numbers each, one row after the
// other.
void pack_columns(const ColumnData& data, const VectorXd& inverse_scale,
                  Index begin, Index end, double* out);

void pack_beside(const ColumnData& data, PackedRows& rows);
}  // namespace detail

// `first`: the rows before these, where they are part of more.
PackedRows pack_rows(const ColumnData& data, Index first = 0);

// The same rows, whose columns stay where they are: a tile is put together when
// it is asked for. The data have to outlive it.
class ViewedRows final : public RowSource {
 public:
  // `width`, if given, takes the place of the number of columns in the size of
  // a chunk.
  ViewedRows(const ColumnData& data, const std::vector<Index>& unit,
             Index width = 0);
  VectorXd& residual() { return beside_.residual; }

  Index rows() const override { return data_.x.rows(); }
  Index x_columns() const override { return columns_; }
  Index z_columns() const override { return data_.z.cols(); }

  Tile tile(const TileSpan& span, MatrixXd& buffer) const override;

 private:
  const ColumnData& data_;
  Index columns_;
  VectorXd inverse_scale_;
  PackedRows beside_;
};

// Above so many numbers columns are not copied: a fit would need twice the
// memory of its data.
constexpr Index kMostPacked = Index{1} << 25;
}  // namespace bayeskernel
