#include "rows/pack.hpp"

#include <string>

#include "error.hpp"

namespace bayeskernel {
Index ColumnData::columns() const {
  Index out = x.cols() + variables.cols();
  for (const KeptTerm& term : kept) out += term.members * term.z.cols();
  return out;
}

void ColumnData::check() const {
  const Index n = x.rows(), p = x.cols();
  const auto demand = [](bool fits, const char* what) {
    if (!fits) throw ArgumentError(std::string(what) + " is not of these rows");
  };
  demand(center.size() == p && scale.size() == p, "the scale of the columns");
  demand(y.size() == n, "the response");
  demand(weight.size() == n, "the weight");
  demand(offset.size() == n, "the offset");
  demand(count_of(order) == n, "the order");
  demand(z.cols() == 0 || z.rows() == n, "the random term");
  demand(residual.size() == 0 || residual.size() == n, "the residual");
  demand(variables.cols() == 0 || variables.rows() == n, "a variable");
  for (const KeptTerm& term : kept) {
    demand(count_of(term.group) == n && term.z.rows() == n &&
               std::all_of(term.group.begin(), term.group.end(),
                           [&](int g) { return g >= 0 && g < term.members; }),
           "a random term");
  }
}

namespace detail {
void pack_columns(const ColumnData& data, const VectorXd& inverse_scale,
                  Index begin, Index end, double* out) {
  const Index n = data.x.rows(), p = data.x.cols(), width = data.columns();
  for (Index k = 0; k < p; ++k) {
    const double c = data.center[k], s = inverse_scale[k];
    const double* column = data.x.data() + k * n;
    double* to = out + k;
    for (Index i = begin; i < end; ++i, to += width) {
      *to = (column[data.order[i]] - c) * s;
    }
  }
  for (Index k = 0; k < data.variables.cols(); ++k) {
    double* to = out + p + k;
    for (Index i = begin; i < end; ++i, to += width) {
      *to = data.variables(data.order[i], k);
    }
  }
  Index first = p + data.variables.cols();
  for (const KeptTerm& term : data.kept) {
    const Index r = term.z.cols();
    double* to = out + first;
    for (Index i = begin; i < end; ++i, to += width) {
      const Index row = data.order[i];
      std::fill_n(to, term.members * r, 0.0);
      for (Index k = 0; k < r; ++k)
        to[term.group[row] * r + k] = term.z(row, k);
    }
    first += term.members * r;
  }
}

void pack_beside(const ColumnData& data, PackedRows& rows) {
  data.check();
  const Index n = data.x.rows(), r = data.z.cols();
  rows.z.resize(r, n);
  rows.y.resize(n);
  rows.weight.resize(n);
  rows.offset.resize(n);
  rows.residual.resize(data.residual.size());
  for (Index i = 0; i < n; ++i) {
    const Index row = data.order[i];
    rows.y[i] = data.y[row];
    rows.weight[i] = data.weight[row];
    rows.offset[i] = data.offset[row];
    if (data.residual.size() > 0) rows.residual[i] = data.residual[row];
    for (Index k = 0; k < r; ++k) rows.z(k, i) = data.z(row, k);
  }
}
}  // namespace detail

ViewedRows::ViewedRows(const ColumnData& data, const std::vector<Index>& unit,
                       Index width)
    : data_(data),
      columns_(data.columns()),
      inverse_scale_(data.scale.cwiseInverse()) {
  detail::pack_beside(data, beside_);
  beside_.x.resize(0, data.x.rows());
  partition(rows(), data.group_begin, width, kBlockRows, unit);
}

Tile ViewedRows::tile(const TileSpan& span, MatrixXd& buffer) const {
  const Tile beside = beside_.tile(span, buffer);
  if (buffer.size() < columns_ * span.rows()) {
    buffer.resize(columns_, std::max(span.rows(), kTileRows));
  }
  detail::pack_columns(data_, inverse_scale_, span.row_begin, span.row_end,
                       buffer.data());
  return Tile{MatrixMap(buffer.data(), columns_, span.rows()),
              beside.z,
              beside.y,
              beside.weight,
              beside.offset,
              beside.residual};
}

PackedRows pack_rows(const ColumnData& data, Index first) {
  const Index n = data.x.rows();
  PackedRows rows;
  detail::pack_beside(data, rows);
  rows.lead = first % 8;  // 64 bytes are the widest alignment
  rows.x.resize(data.columns(), rows.lead + n);
  const VectorXd inverse_scale = data.scale.cwiseInverse();
  constexpr Index kStrip = 64;  // rows at a time: both sides stay in cache
  for (Index begin = 0; begin < n; begin += kStrip) {
    detail::pack_columns(data, inverse_scale, begin,
                         std::min(n, begin + kStrip),
                         rows.x.data() + (rows.lead + begin) * rows.x.rows());
  }
  return rows;
}
}  // namespace bayeskernel
