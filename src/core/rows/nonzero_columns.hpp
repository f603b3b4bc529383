// The columns of a few rows in which there is anything but 0, where these are a
// small part of all: levels of a factor in which groups lie, as schools of
// classes, are columns of which the rows of a tile see few.
#pragma once

#include "eigen.hpp"

namespace bayeskernel {
class NonzeroColumns {
 public:
  using Columns = MatrixRef;

  // Of x, p x rows. A look at the first row tells where all are dense.
  void find(const Columns& x);

  // Whether they are few; none of the following has a meaning otherwise.
  bool few() const { return !index_.empty(); }
  const std::vector<Index>& index() const { return index_; }  // ascending
  Index size() const { return count_of(index_); }
  // x without the other columns.
  MatrixMap x() const { return {x_.data(), size(), x_.size() / size()}; }

  // Whether all others are 0 in another column of p numbers.
  bool cover(const double* column, Index p) const;

  // out += m, of the active columns, lower triangle.
  void add_lower(const MatrixXd& m, Eigen::Ref<MatrixXd> out) const;

  // Those of a matrix, by row and by column.
  MatrixXd rows_of(const Columns& from) const;
  MatrixXd columns_of(const Columns& from) const;

 private:
  // Below it there is little to gain.
  static constexpr Index kLeast = 24, kPart = 4;

  std::vector<Index> index_;
  VectorXd x_, most_;
};
}  // namespace bayeskernel
