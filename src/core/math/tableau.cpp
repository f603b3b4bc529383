#include "math/tableau.hpp"

#include "math/cholesky.hpp"

namespace bayeskernel {
Tableau::Tableau(Index size)
    : size_(size),
      in_(size, 0),
      entries_(MatrixXd::Zero(size + 1, size + 1)),
      column_(size + 1),
      floor_(size) {}

void Tableau::build(const MatrixXd& a, const VectorXd& h,
                    const std::vector<Index>& in) {
  const Index q = count_of(in);
  entries_.topLeftCorner(size_, size_).triangularView<Eigen::Lower>() = a;
  entries_.row(size_).head(size_) = h.transpose();
  entries_(size_, size_) = 0.0;
  floor_ = kRounding * a.diagonal();
  std::fill(in_.begin(), in_.end(), 0);
  if (q == 0) return;
  if (rows_.rows() < q) {
    rows_.resize(q + q / 2, size_ + 1);
    block_.resize(q + q / 2, q + q / 2);
  }
  auto rows = rows_.topRows(q);  // A_a., h_a
  auto block = block_.topLeftCorner(q, q);
  for (Index i = 0; i < q; ++i) {
    const Index k = in[i];
    in_[k] = 1;
    rows.row(i).head(k) = entries_.row(k).head(k);
    rows.row(i).tail(size_ + 1 - k) =
        entries_.col(k).tail(size_ + 1 - k).transpose();
  }
  for (Index i = 0; i < q; ++i) block.col(i) = rows.col(in[i]);
  jittered_cholesky(block, llt_);
  llt_.matrixL().solveInPlace(rows);
  entries_.selfadjointView<Eigen::Lower>().rankUpdate(rows.transpose(), -1.0);
  llt_.matrixU().solveInPlace(rows);
  block.setIdentity();
  llt_.solveInPlace(block);
  for (Index i = 0; i < q; ++i) {
    const Index k = in[i];
    entries_.row(k).head(k) = rows.row(i).head(k);
    entries_.col(k).tail(size_ - k) = rows.row(i).tail(size_ - k).transpose();
  }
  for (Index i = 0; i < q; ++i) {
    for (Index j = 0; j < q; ++j) {
      if (in[i] >= in[j]) entries_(in[i], in[j]) = -block(i, j);
    }
  }
}

double Tableau::log_ratio(Index k) const {
  const double shift = entries_(size_, k);
  const double pivot = this->pivot(k);
  return 0.5 * (shift * shift / std::abs(pivot) -
                (in(k) ? -1.0 : 1.0) * std::log(std::abs(pivot)));
}

void Tableau::sweep(Index k) {
  const double pivot = this->pivot(k);
  column_.head(k) = entries_.row(k).head(k).transpose();
  column_.tail(size_ - k) = entries_.col(k).tail(size_ - k);
  column_[k] = 0.0;
  for (Index j = 0; j <= size_; ++j) {
    const Index below = size_ + 1 - j;
    entries_.col(j).tail(below) -= (column_[j] / pivot) * column_.tail(below);
  }
  const double sign = in(k) ? -1.0 : 1.0;
  column_ *= sign / pivot;
  entries_.row(k).head(k) = column_.head(k).transpose();
  entries_.col(k).tail(size_ - k) = column_.tail(size_ - k);
  entries_(k, k) = -1.0 / pivot;
  in_[k] = !in_[k];
}

double Tableau::pivot(Index k) const {
  const double value = entries_(k, k);
  if (in(k)) return std::min(value, -1e-300);
  return std::max(value, floor_[k]);
}
}  // namespace bayeskernel
