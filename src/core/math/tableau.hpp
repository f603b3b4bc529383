// Symmetric tableau of a Gaussian exp(-t'At / 2 + h't) in which columns come
// and go. Sweeping a column in integrates its coefficient out; what its coming
// or going does to the integral is then read off in O(1). With a the columns
// swept in and b the others, h among them, the lower triangle holds
//   [ -A_aa^-1   A_aa^-1 A_ab              ]
//   [            A_bb - A_ba A_aa^-1 A_ab  ].
// A sweep is one rank-one update, d^2 / 2 multiply-adds, the same in and out.
#pragma once

#include "eigen.hpp"

namespace bayeskernel {
class Tableau {
 public:
  explicit Tableau(Index size);

  Index size() const { return size_; }
  bool in(Index k) const { return in_[k] != 0; }

  // `a` (lower triangle) and h with the columns `in` swept in, all at once:
  // q d^2 / 2 + q^2 d multiply-adds.
  void build(const MatrixXd& a, const VectorXd& h,
             const std::vector<Index>& in);

  // log of the integral with column k over the integral without it, apart from
  // log sqrt(2 pi). Without k: pivot s, shift r, -log(s) / 2 + r^2 / 2s; with
  // it: variance v and mean m of its coefficient, log(v) / 2 + m^2 / 2v.
  double log_ratio(Index k) const;

  // In when it is out, out when it is in.
  void sweep(Index k);

  // Row and column size() are those of h.
  double operator()(Index i, Index j) const {
    return entries_(std::max(i, j), std::min(i, j));
  }

 private:
  static constexpr double kRounding = 1e-13;

  // A pivot that rounding has taken away (a column in the span of those in)
  // counts as the rounding error.
  double pivot(Index k) const;

  Index size_;
  std::vector<char> in_;
  MatrixXd entries_, rows_, block_;
  VectorXd column_, floor_;
  Eigen::LLT<MatrixXd> llt_;
};
}  // namespace bayeskernel
