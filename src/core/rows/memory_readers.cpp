#include "rows/memory_readers.hpp"

namespace bayeskernel {
MatrixReader::MatrixReader(MatrixMap x, VectorMap labels)
    : x_(x), labels_(labels) {}

void MatrixReader::read(Index first, Eigen::Ref<MatrixXd> rows) {
  const Index n = rows.cols(), p = x_.cols();
  rows.topRows(p) = x_.middleRows(first, n).transpose();
  if (labels_.size() > 0) {
    rows.row(p) = labels_.segment(first, n).transpose();
  } else {
    rows.row(p).setZero();
  }
}

SparseReader::SparseReader(Eigen::Map<const Eigen::VectorXi> begin,
                           Eigen::Map<const Eigen::VectorXi> column,
                           VectorMap value, Index columns, VectorMap labels)
    : begin_(begin),
      column_(column),
      value_(value),
      columns_(columns),
      labels_(labels) {}

void SparseReader::read(Index first, Eigen::Ref<MatrixXd> rows) {
  rows.setZero();
  for (Index i = 0; i < rows.cols(); ++i) {
    for (Index k = begin_[first + i]; k < begin_[first + i + 1]; ++k) {
      rows(column_[k], i) = value_[k];
    }
    if (labels_.size() > 0) rows(columns_, i) = labels_[first + i];
  }
}
}  // namespace bayeskernel
