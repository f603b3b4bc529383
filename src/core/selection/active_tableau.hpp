// The tableau (math/tableau.hpp) of the columns that are in alone, for models
// with more columns than rows: of the others only what a visit reads is
// computed, from the rows. With S the members, P their precision and C = X_S'W
// X,
//   column k that is out: pivot a_k + lambda_k - c_k' P^-1 c_k,
//                         shift h_k - c_k' P^-1 h_S.
// O(n p |S|) for a new tableau, O(|S|^2) a visit, O(n p) a column that enters.
#pragma once

#include "eigen.hpp"

namespace bayeskernel {
class ActiveTableau {
 public:
  // `x`: p x n, which stays.
  explicit ActiveTableau(const MatrixXd& x);

  // Rows weigh w, columns have linear part `shift` (the prior's with it) and
  // prior precision `lambda`. Returns the jitter of the factorisation.
  double build(const VectorRef& w, const VectorXd& shift,
               const VectorXd& lambda, std::vector<Index> members);

  bool in(Index k) const { return place_[k] >= 0; }
  const std::vector<Index>& members() const { return members_; }

  // log of the integral with column k over the integral without it, apart from
  // log sqrt(2 pi).
  double log_ratio(Index k);

  // In when it is out, out when it is in; right after log_ratio(k).
  void sweep(Index k);

  // One draw of the members' coefficients into theta, P^-1 h + L^-T z.
  template <class Normal>
  double draw(Normal&& normal, VectorXd& theta) {
    const Index q = size();
    if (q == 0) return 0.0;
    const double jitter = factor();
    VectorXd out = member_shift();
    llt_.matrixL().solveInPlace(out);
    for (Index j = 0; j < q; ++j) out[j] += normal();
    llt_.matrixU().solveInPlace(out);
    for (Index j = 0; j < q; ++j) theta[members_[j]] = out[j];
    return jitter;
  }

 private:
  Index size() const { return count_of(members_); }

  void grow(Index q);

  void set_row(Index j, Index k);

  VectorXd member_shift() const;

  double factor();

  void enter(Index k);

  // The last member takes the place of the one that leaves.
  void leave(Index k);

  const MatrixXd& x_;
  MatrixXd squares_x_;
  VectorXd w_, shift_, lambda_, squares_;
  std::vector<Index> members_, place_;
  MatrixXd cross_, inverse_;  // C, P^-1: their first |S| rows
  VectorXd mean_, work_;      // P^-1 h_S
  double pivot_ = 1.0, gap_ = 0.0;
  Eigen::LLT<MatrixXd> llt_;
};
}  // namespace bayeskernel
