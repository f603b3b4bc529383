// q(theta) of a model with selection among more columns than rows, and the step
// in gamma, through an n x n system: O(n^2 K) where the dense form takes
// O(K^3). With w the rows' weights, F the other columns, X those of selection,
//   a_k = sum w x_k^2,  D = prior precision + a o g (1 - g),  Y = X diag(g),
//   Q = Y D^-1 Y',      M = W^1/2 (I + W^1/2 Q W^1/2)^-1 W^1/2,
// g = E gamma, which uses A o E gamma gamma' = diag(g) A diag(g) +
// diag(a g (1 - g)). Flat columns of F never meet a D^-1. Columns that are out
// do not touch the n x n matrices. W Q M = W - M, so that as long as no E gamma
// has moved far enough to matter to others a log odds needs no product with Q.
#ifndef BAYESKERNEL_SELECTION_DUAL_POSTERIOR_HPP
#define BAYESKERNEL_SELECTION_DUAL_POSTERIOR_HPP

#include <Eigen/Cholesky>
#include <Eigen/Core>
#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

#include "error.hpp"
#include "math/cholesky.hpp"
#include "simd/gram.hpp"
#include "simd/lower_product.hpp"
#include "math/special.hpp"

namespace bayeskernel {

using Eigen::Index;
using Eigen::MatrixXd;
using Eigen::VectorXd;

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

  // Rows count as exp(-w f^2 / 2 + l f), f without its known part, columns as in
  // the model with `inclusion`, v_k with prior precision `slab`.
  void set(const VectorXd& w, const VectorXd& l, const VectorXd& inclusion,
           const VectorXd& slab) {
    const Index size = x_.cols(), fixed = f_.cols(), n = x_.rows();
    w_ = w;
    inclusion_ = inclusion;
    shift = x_.transpose() * l;
    squares = x_.cwiseAbs2().transpose() * w;
    prior_ = slab.array() +
             squares.array() * inclusion.array() * (1.0 - inclusion.array());
    const VectorXd root = w.cwiseSqrt();
    list_used(inclusion);
    const Index used = static_cast<Index>(used_.size());
    work_.resize(n, used);
    VectorXd pull(used), scale(used);
    for (Index u = 0; u < used; ++u) {
      const Index k = used_[u];
      scale[u] = std::sqrt(prior_[k]);
      work_.col(u) = inclusion[k] / scale[u] * x_.col(k);
      pull[u] = inclusion[k] * shift[k] / scale[u];
    }
    outer_product(work_, q_, [](Index) { return 1.0; });
    MatrixXd inner = root.asDiagonal() * q_ * root.asDiagonal();
    inner.diagonal().array() += 1.0;
    Eigen::LLT<MatrixXd> llt;
    jittered_cholesky(inner, llt);
    MatrixXd m = root.asDiagonal();
    llt.matrixL().solveInPlace(m);
    lower_.set(m);
    m = (m.transpose() * m).eval();
    const VectorXd z0 = work_ * pull;
    const MatrixXd mf = m * f_;
    log_det = bayeskernel::log_det(llt) + prior_.array().log().sum();
    if (fixed > 0) {
      MatrixXd inverse = f_.transpose() * mf;
      inverse.diagonal() += fixed_precision_;
      Eigen::LLT<MatrixXd> outer;
      jittered_cholesky(inverse, outer);
      log_det += bayeskernel::log_det(outer);
      fixed_covariance = outer.solve(MatrixXd::Identity(fixed, fixed));
      fixed_mean = fixed_covariance *
                   (fixed_precision_.cwiseProduct(fixed_mean_) +
                    f_.transpose() * l - mf.transpose() * z0);
      m_.noalias() = m - mf * fixed_covariance * mf.transpose();
    } else {
      m_ = m;
      fixed_mean.resize(0);
      fixed_covariance.resize(0, 0);
    }
    // y_k' M* y_k / D_k, the share of the prior's variance that is gone.
    gone_ = VectorXd::Zero(used);
    lower_.add_norms(work_.data(), used, half_, gone_.data());
    cross_ = MatrixXd::Zero(fixed, used);
    if (fixed > 0) {
      const MatrixXd fy = mf.transpose() * work_;
      cross_.noalias() = -fixed_covariance * fy;
      gone_ += fy.cwiseProduct(cross_).colwise().sum().transpose();
      cross_ *= scale.cwiseInverse().asDiagonal();
    }
    const VectorXd away =
        pull - work_.transpose() * (m * z0 + mf * fixed_mean);
    mean = VectorXd::Zero(size);
    variance = prior_.cwiseInverse();
    for (Index u = 0; u < used; ++u) {
      const Index k = used_[u];
      mean[k] = away[u] / scale[u];
      variance[k] = (1.0 - gone_[u]) / prior_[k];
      // The data's share of a precision may leave no digit of the variance.
      if (!(1.0 - gone_[u] > 1e-10)) {
        throw NumericError("a column's variance is lost to rounding");
      }
    }
    if (!mean.allFinite()) throw NumericError("a mean is not finite");
    f_mean_ = f_ * fixed_mean;
    f_mean_.noalias() += work_ * scale.cwiseProduct(pick(mean));
  }

  // log odds of gamma in the order of the columns, always with the newest E
  // gamma; `prior` is their prior part. That column j has moved by d changes
  // those of k by Cov(v_j, v_k) times d x_j' W x_k, at most
  //   c_j g_k a_k / D_k,  c_j = |d| g_j a_j / D_j,
  // beside what the mean of f says. Where all of that together is below kLittle
  // it is left out. The others, as terms of W (change of Q) M*, are kept as
  // pairs of vectors, and added to an n x n matrix when these are many.
  void update_odds(double prior, VectorXd& odds) {
    for (Index k = 0; k < x_.cols(); ++k) {
      if (place_[k] < 0) set_odds(k, odds_without(prior, k), odds);
    }
    const Index n = x_.rows(), used = static_cast<Index>(used_.size());
    VectorXd weight(used), from(used);
    for (Index u = 0; u < used; ++u) {
      const Index k = used_[u];
      from[u] = inclusion_[k];
      weight[u] = from[u] * squares[k] / prior_[k];
    }
    const double most = used > 0 ? weight.maxCoeff() : 0.0;
    double left_out = 0.0, moved = 0.0;
    VectorXd pulled = w_.cwiseProduct(f_mean_), coupled(kBatch);
    left_.resize(n, kHeld);
    right_.resize(n, kHeld);
    Index held = 0;
    bool any = false;  // in the matrix
    for (Index first = 0; first < used; first += kBatch) {
      const Index count = std::min(kBatch, used - first);
      const auto work = work_.middleCols(first, count);
      if (held + count > kHeld) {
        if (!any) change_ = MatrixXd::Zero(n, n);
        any = true;
        keep_pairs(held);
        held = 0;
      }
      coupled.setZero();
      if (any) {
        batch_.resize(n, count);
        lower_.apply(work.data(), count, batch_.data(), norms_);
        coupled.head(count) = batch_.cwiseProduct(work).colwise().sum();
      }
      const Index before = held;
      if (before > 0) {
        inner_.noalias() = left_.leftCols(before).transpose() * work;
        batch_.noalias() = right_.leftCols(before).transpose() * work;
        coupled.head(count) += inner_.cwiseProduct(batch_).colwise().sum();
      }
      for (Index j = 0; j < count; ++j) {
        const Index u = first + j, k = used_[u];
        for (Index h = before; h < held; ++h) {
          coupled[j] += left_.col(h).dot(work.col(j)) *
                        right_.col(h).dot(work.col(j));
        }
        const double change =
            set_odds(k, odds_without(prior, k) +
                            (coupled[j] - gone_[u]) / from[u] -
                            mean[k] * x_.col(k).dot(pulled),
                     odds);
        if (change == 0.0) continue;
        pulled += (change * mean[k]) * w_.cwiseProduct(x_.col(k));
        const double size = std::abs(change) * weight[u];
        moved += size;
        if ((left_out + size) * most < kLittle) {
          left_out += size;
          continue;
        }
        // x_j d y_j' / D_j = d / g_j times the square of a column of `work`.
        left_.col(held) = change / from[u] * w_.cwiseProduct(work.col(j));
        right_.col(held++).noalias() = m_ * work.col(j);
      }
    }
    for (Index u = 0; u < used; ++u) {
      f_mean_ += ((inclusion_[used_[u]] - from[u]) * mean[used_[u]]) *
                 x_.col(used_[u]);
    }
    if (moved < kNothing) return;
    outer_product(work_, q_, [&](Index u) {
      return inclusion_[used_[u]] / from[u];
    });
  }

  // E f and Var f of the rows, without f's known part, at the last E gamma.
  void rows(VectorXd& m, VectorXd& s) const {
    const Index n = x_.rows();
    m = f_mean_;
    s = VectorXd::Zero(n);
    MatrixXd along = f_ * fixed_covariance;
    for (std::size_t u = 0; u < used_.size(); ++u) {
      along.noalias() += x_.col(used_[u]) *
                         (2.0 * inclusion_[used_[u]] *
                          cross_.col(static_cast<Index>(u)).transpose());
    }
    s += along.cwiseProduct(f_).rowwise().sum();
    s -= (q_ * m_).cwiseProduct(q_).rowwise().sum();
    for (Index k = 0; k < x_.cols(); ++k) {
      const double g = inclusion_[k];
      const double second = variance[k] + mean[k] * mean[k];
      s += (g * g / prior_[k] + g * (1.0 - g) * second) *
           x_.col(k).cwiseAbs2();
    }
    s = s.cwiseMax(0.0);
  }

  // Of the other columns, then those of selection.
  MatrixXd covariance() const {
    const Index fixed = f_.cols(), size = x_.cols();
    MatrixXd out = MatrixXd::Zero(fixed + size, fixed + size);
    out.diagonal().tail(size) = prior_.cwiseInverse();
    out.topLeftCorner(fixed, fixed) = fixed_covariance;
    const MatrixXd inner = work_.transpose() * m_ * work_;
    for (std::size_t u = 0; u < used_.size(); ++u) {
      const Index at = static_cast<Index>(u), k = used_[u];
      out.block(0, fixed + k, fixed, 1) = cross_.col(at);
      out.block(fixed + k, 0, 1, fixed) = cross_.col(at).transpose();
      for (std::size_t v = 0; v < used_.size(); ++v) {
        out(fixed + used_[v], fixed + k) -=
            inner(static_cast<Index>(v), at) /
            std::sqrt(prior_[k] * prior_[used_[v]]);
      }
    }
    return out;
  }

  VectorXd shift, squares;    // h_k and a_k of the bare columns
  VectorXd mean, variance;    // of v
  VectorXd fixed_mean;
  MatrixXd fixed_covariance;
  double log_det = 0.0;       // of the precision

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
  void keep_pairs(Index count) {
    pairs_.resize(left_.rows(), 2 * count);
    pairs_.leftCols(count) = left_.leftCols(count) + right_.leftCols(count);
    pairs_.rightCols(count) = left_.leftCols(count) - right_.leftCols(count);
    VectorXd sign = VectorXd::Constant(2 * count, 0.5);
    sign.tail(count).array() = -0.5;
    weighted_gram(pairs_, sign, half_, change_);
    batch_ = change_;
    batch_.diagonal() *= 0.5;
    lower_.set(batch_);
  }

  // The part of the log odds that the other columns leave alone; the column's
  // own share of their sum is taken off it.
  double odds_without(double prior, Index k) const {
    const double second = variance[k] + mean[k] * mean[k];
    return prior + mean[k] * shift[k] +
           squares[k] * second * (inclusion_[k] - 0.5);
  }
  // The change of E gamma.
  double set_odds(Index k, double value, VectorXd& odds) {
    odds[k] = value;
    const double change = expit(value) - inclusion_[k];
    inclusion_[k] += change;
    return change;
  }

  void list_used(const VectorXd& inclusion) {
    used_.clear();
    place_.assign(x_.cols(), -1);
    for (Index k = 0; k < x_.cols(); ++k) {
      if (inclusion[k] < kOut) continue;
      place_[k] = static_cast<Index>(used_.size());
      used_.push_back(k);
    }
  }
  VectorXd pick(const VectorXd& v) const {
    VectorXd out(used_.size());
    for (std::size_t u = 0; u < used_.size(); ++u) {
      out[static_cast<Index>(u)] = v[used_[u]];
    }
    return out;
  }

  MatrixXd f_, x_;
  VectorXd fixed_precision_, fixed_mean_;
  VectorXd w_, inclusion_, prior_;  // E gamma now, D
  std::vector<Index> used_, place_;
  MatrixXd work_, half_, cross_;    // Y D^-1/2, a work space, Cov(theta_F, v)
  VectorXd gone_;
  MatrixXd m_, q_;                  // M*, X diag(g now) D^-1 Y'
  LowerProduct lower_;
  MatrixXd left_, right_, pairs_, change_, batch_, inner_;
  double norms_[kBatch];
  VectorXd f_mean_;
};

}  // namespace bayeskernel

#endif
