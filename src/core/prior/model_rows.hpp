// Rows of a model as they are packed, or viewed where they are many and nothing
// has to change their columns.
#pragma once

#include "eigen.hpp"
#include "prior/blocks.hpp"
#include "prior/wide_block.hpp"
#include "rows/pack.hpp"
#include "rows/rows.hpp"

namespace bayeskernel {
struct ModelRows {
  static bool many(const ColumnData& data);

  // `unit`: as of PackedRows::finish(). `fixed`: nothing changes the columns;
  // `reduce`: a block wider than the rows becomes one of as many columns.
  // With columns that are computed, `width` in all, or where others read the
  // rows (`remote`), they are viewed always.
  ModelRows(const ColumnData& data, bool fixed, const std::vector<Index>& unit,
            Prior& prior, bool reduce, Index width = 0, bool remote = false);

  // Part of more rows, after `first` others; `many`, of all.
  ModelRows(const ColumnData& data, const std::vector<Index>& unit, Index width,
            bool many, Index first);

  const RowSource& source() const {
    return view ? static_cast<const RowSource&>(*viewed) : packed;
  }
  VectorXd& residual() { return view ? viewed->residual() : packed.residual; }

  bool view;
  PackedRows packed;
  std::optional<ViewedRows> viewed;
  WideBlock wide;
};
}  // namespace bayeskernel
