// The equations of theta = (x, u_0, v), with u_0 the effects of the term that
// is eliminated and v those of the others:
//   [ A_xx  B_0   B_v ]
//   [ .     D     C   ]   sum of kappa (x, z)(x, z)' and the prior's precision.
//   [ .     .     E   ]
// What is left without u_0 is solved by conjugate gradients under its block
// diagonal: O(entries) a step. For levels that meet at random the number of
// steps does not grow with rows and levels; where v nests in u_0 or u_0 in v
// the matrix is block diagonal and one step is exact.
#pragma once

#include "eigen.hpp"
#include "linear/crossed/rows.hpp"
#include "parallel/executor.hpp"
#include "prior/blocks.hpp"

namespace bayeskernel {
// inverse = the inverses of r x r blocks side by side; returns the sum of their
// log determinants.
double invert_blocks(const MatrixXd& square, MatrixXd& inverse);

class CrossedSystem {
 public:
  CrossedSystem(const CrossedRows& rows, const Prior& prior,
                Executor& executor);

  // Sums with weights kappa, and the prior's precision.
  void factor(const VectorXd& kappa,
              const std::vector<MatrixXd>& block_precision);

  // out = A^-1 rhs; the number of steps.
  int solve(const VectorXd& rhs, double tolerance, VectorXd& out);

  // H' = Cov(u)^-1 Cov(u, x), p x effects, so that E(u | x) = mean -
  // H (x - mean); from H' as it is. Returns the precision of x.
  MatrixXd regress(double tolerance, MatrixXd& loading);

  // For rows w of combinations of v: sets what u_0 does with them, -w C'D^-1,
  // and returns w S w' with S what is left of E.
  MatrixXd combine(MatrixXd& w);

  double jitter() const { return jitter_; }
  // Blocks of D, or of what is left of E, by level, and their inverses.
  const MatrixXd& diagonal(std::size_t k) const;
  const MatrixXd& inverse(std::size_t k) const { return inverse_[k]; }

  // Entries of A: see CrossedRows::block().
  auto block(Index a, Index at, Index r) const {
    return rows_.block(values_, a, at, r);
  }
  const Prior& dense_prior() const { return dense_; }

 private:
  static constexpr Index kEffects = 256;

  void add_rows(const VectorXd& kappa);

  // D_g of term 0; E_h - sum_g C_gh' D_g^-1 C_gh of the others.
  void set_diagonal(std::size_t k);

  // Is entry e of row a in the columns of u_0?
  bool inner(Index a, Index e) const;

  // out = v times the inverse blocks of term k.
  template <class V, class Out>
  void times_inverse(std::size_t k, const V& v, Out&& out) const {
    const Index r = rows_.terms[k].width;
    if (r == 1) {
      out = v * inverse_[k].row(0).asDiagonal();
      return;
    }
    for (Index at = 0; at < v.cols(); at += r) {
      out.middleCols(at, r) =
          v.middleCols(at, r).lazyProduct(inverse_[k].middleCols(at, r));
    }
  }

  // out(m) += sum of the entries e .. of row a times the columns of w.
  void add_entries(const MatrixXd& w, Index e, Index end, double* out) const;

  // Points are rows (x, u_0, v). u_0 = (rhs_0 - x B_0 - v C') D^-1.
  void set_inner(MatrixXd& w, const MatrixXd* rhs);

  // The parts of w A for v and, if asked for, x; 0 elsewhere.
  void product(const MatrixXd& w, bool with_x, MatrixXd& out);

  // Every row of `rhs`; without x its part of the answer is 0.
  int solve_rows(const MatrixXd& rhs, bool with_x, double tolerance,
                 MatrixXd& x, bool cold);

  const CrossedRows& rows_;
  Executor& executor_;
  Prior dense_;  // of x alone
  Index p_, effects_;
  VectorXd values_;        // of A
  MatrixXd gram_, cross_;  // A_xx, B
  std::vector<MatrixXd> diagonal_, inverse_;
  Eigen::LLT<MatrixXd> llt_;
  double jitter_ = 0.0;
};
}  // namespace bayeskernel
