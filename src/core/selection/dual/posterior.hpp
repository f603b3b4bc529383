// q(theta) of a model with selection among more columns than rows, and the step
// in gamma, through an n x n system: O(n^2 K) where the dense form takes
// O(K^3). With w the rows' weights, F the other columns, X those of selection,
//   a_k = sum w x_k^2,  D = prior precision + a o g (1 - g),  Y = X diag(g),
//   Q = Y D^-1 Y',      M = W^1/2 (I + W^1/2 Q W^1/2)^-1 W^1/2,
// g = E gamma, which uses A o E gamma gamma' = diag(g) A diag(g) +
// diag(a g (1 - g)). Flat columns of F never meet a D^-1. Columns that are out
// do not touch the n x n matrices. W Q M = W - M, so that as long as no E gamma
// has moved far enough to matter to others a log odds needs no product with Q.
#pragma once

#include "eigen.hpp"
#include "simd/gram.hpp"
#include "simd/lower_product.hpp"

namespace bayeskernel {
class WidePosterior {
 public:
  // `fixed` n x f, `columns` n x K; the prior of the former is
  // N(mean, diag(precision)^-1).
  WidePosterior(MatrixXd fixed, MatrixXd columns, VectorXd precision,
                VectorXd mean)
      : f_(std::move(fixed)),
        x_(std::move(columns)),
        fixed_precision_(std::move(precision)),
        fixed_mean_(std::move(mean)) {}

  const MatrixXd& columns() const { return x_; }

  // Rows count as exp(-w f^2 / 2 + l f), f without its known part, columns as
  // in the model with `inclusion`, v_k with prior precision `slab`.
  void set(const VectorXd& w, const VectorXd& l, const VectorXd& inclusion,
           const VectorXd& slab);

  // log odds of gamma in the order of the columns, always with the newest E
  // gamma; `prior` is their prior part. That column j has moved by d changes
  // those of k by Cov(v_j, v_k) times d x_j' W x_k, at most
  //   c_j g_k a_k / D_k,  c_j = |d| g_j a_j / D_j,
  // beside what the mean of f says. Where all of that together is below kLittle
  // it is left out. The others, as terms of W (change of Q) M*, are kept as
  // pairs of vectors, and added to an n x n matrix when these are many.
  void update_odds(double prior, VectorXd& odds);

  // E f and Var f of the rows, without f's known part, at the last E gamma.
  void rows(VectorXd& m, VectorXd& s) const;

  // Of the other columns, then those of selection.
  MatrixXd covariance() const;

  VectorXd shift, squares;  // h_k and a_k of the bare columns
  VectorXd mean, variance;  // of v
  VectorXd fixed_mean;
  MatrixXd fixed_covariance;
  double log_det = 0.0;  // of the precision

 private:
  // Beyond kNothing a change of Q is seen in the bound.
  static constexpr double kOut = 1e-12, kLittle = 1e-7, kNothing = 1e-13;
  static constexpr Index kBatch = 16, kHeld = 32, kTile = 256;

  // a diag(weight) a', both triangles.
  template <class Weight>
  void outer_product(const MatrixXd& a, MatrixXd& out, Weight&& weight) {
    out = MatrixXd::Zero(a.rows(), a.rows());
    const VectorXd w = VectorXd::NullaryExpr(a.cols(), weight);
    for (Index first = 0; first < a.cols(); first += kTile) {
      const Index count = std::min(kTile, a.cols() - first);
      weighted_gram(a.middleCols(first, count), w.segment(first, count), half_,
                    out);
    }
    out.triangularView<Eigen::StrictlyUpper>() = out.transpose();
  }

  // Pairs l, r in the matrix C of changes, of which quadratic forms alone are
  // read: the lower triangle of C + C' has the same, its diagonal halved. With
  // l r' + r l' = ((l + r)(l + r)' - (l - r)(l - r)') / 2.
  void keep_pairs(Index count);

  // The part of the log odds that the other columns leave alone; the column's
  // own share of their sum is taken off it.
  double odds_without(double prior, Index k) const;
  // The change of E gamma.
  double set_odds(Index k, double value, VectorXd& odds);

  void list_used(const VectorXd& inclusion);
  VectorXd pick(const VectorXd& v) const;

  MatrixXd f_, x_;
  VectorXd fixed_precision_, fixed_mean_;
  VectorXd w_, inclusion_, prior_;  // E gamma now, D
  std::vector<Index> used_, place_;
  MatrixXd work_, half_, cross_;  // Y D^-1/2, a work space, Cov(theta_F, v)
  VectorXd gone_;
  MatrixXd m_, q_;  // M*, X diag(g now) D^-1 Y'
  LowerProduct lower_;
  MatrixXd left_, right_, pairs_, change_, batch_, inner_;
  double norms_[kBatch];
  VectorXd f_mean_;
};
}  // namespace bayeskernel
