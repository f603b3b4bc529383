#include "rows/nonzero_columns.hpp"

namespace bayeskernel {
void NonzeroColumns::find(const Columns& x) {
  const Index p = x.rows(), n = x.cols();
  index_.clear();
  if (p < kLeast || n == 0 || kPart * (x.col(0).array() != 0.0).count() > p) {
    return;
  }
  most_.setZero(p);
  for (Index i = 0; i < n; ++i) most_ = most_.cwiseMax(x.col(i).cwiseAbs());
  const Index count = (most_.array() != 0.0).count();
  if (kPart * count > p) return;
  for (Index k = 0; k < p; ++k) {
    if (most_[k] != 0.0) index_.push_back(k);
  }
  x_.resize(count * n);
  double* to = x_.data();
  for (Index i = 0; i < n; ++i) {
    for (const Index k : index_) *to++ = x(k, i);
  }
}

bool NonzeroColumns::cover(const double* column, Index p) const {
  const Eigen::Map<const ArrayXd> all(column, p);
  Index seen = 0;
  for (const Index k : index_) seen += column[k] != 0.0;
  return (all != 0.0).count() == seen;
}

void NonzeroColumns::add_lower(const MatrixXd& m,
                               Eigen::Ref<MatrixXd> out) const {
  for (Index c = 0; c < size(); ++c) {
    for (Index r = c; r < size(); ++r) out(index_[r], index_[c]) += m(r, c);
  }
}

MatrixXd NonzeroColumns::rows_of(const Columns& from) const {
  MatrixXd out(size(), from.cols());
  for (Index i = 0; i < from.cols(); ++i) {
    for (Index k = 0; k < size(); ++k) out(k, i) = from(index_[k], i);
  }
  return out;
}

MatrixXd NonzeroColumns::columns_of(const Columns& from) const {
  MatrixXd out(from.rows(), size());
  for (Index k = 0; k < size(); ++k) out.col(k) = from.col(index_[k]);
  return out;
}
}  // namespace bayeskernel
