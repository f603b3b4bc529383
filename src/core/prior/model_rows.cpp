#include "prior/model_rows.hpp"

namespace bayeskernel {
namespace {
void look(const ColumnData& data, const std::vector<Index>& unit, Index width,
          std::optional<ViewedRows>& out) {
  out.emplace(data, unit, width > 0 ? width + data.z.cols() : 0);
}
}  // namespace

bool ModelRows::many(const ColumnData& data) {
  return data.x.rows() >= data.columns() &&
         data.x.rows() * data.columns() > kMostPacked;
}

ModelRows::ModelRows(const ColumnData& data, bool fixed,
                     const std::vector<Index>& unit, Prior& prior, bool reduce,
                     Index width, bool remote)
    : view(width > 0 || remote || (fixed && many(data))) {
  if (view) {
    look(data, unit, width, viewed);
    return;
  }
  packed = pack_rows(data);
  if (reduce) wide = reduce_wide(packed, prior);
  packed.finish(data.group_begin, unit);
}

ModelRows::ModelRows(const ColumnData& data, const std::vector<Index>& unit,
                     Index width, bool many, Index first)
    : view(width > 0 || many) {
  if (view) {
    look(data, unit, width, viewed);
    return;
  }
  packed = pack_rows(data, first);
  packed.finish(data.group_begin, unit);
}
}  // namespace bayeskernel
