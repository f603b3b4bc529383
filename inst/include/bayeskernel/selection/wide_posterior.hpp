// q(theta) of a model with selection among more columns than rows, and the step
// in gamma, through an n x n system: O(n^2 K) where the dense form takes
// O(K^3). With w the rows' weights, F the other columns, X those of selection,
//   a_k = sum w x_k^2,  D = prior precision + a o g (1 - g),  Y = X diag(g),
//   Q = Y D^-1 Y',      M = W^1/2 (I + W^1/2 Q W^1/2)^-1 W^1/2,
// g = E gamma, which uses A o E gamma gamma' = diag(g) A diag(g) +
// diag(a g (1 - g)). Flat columns of F never meet a D^-1. Columns that are out
// do not touch the n x n matrices.
#ifndef BAYESKERNEL_SELECTION_WIDE_POSTERIOR_HPP
#define BAYESKERNEL_SELECTION_WIDE_POSTERIOR_HPP

#include <Eigen/Cholesky>
#include <Eigen/Core>
#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

#include "../error.hpp"
#include "../math/cholesky.hpp"
#include "../math/special.hpp"

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
    y_.resize(n, used);
    VectorXd pull(used), precision(used);
    for (Index u = 0; u < used; ++u) {
      const Index k = used_[u];
      y_.col(u) = inclusion[k] * x_.col(k);
      precision[u] = prior_[k];
      pull[u] = inclusion[k] * shift[k] / prior_[k];
    }
    work_.noalias() =
        y_ * precision.cwiseSqrt().cwiseInverse().asDiagonal();
    MatrixXd inner = MatrixXd::Identity(n, n);
    inner.selfadjointView<Eigen::Lower>().rankUpdate(root.asDiagonal() * work_);
    Eigen::LLT<MatrixXd> llt;
    jittered_cholesky(inner, llt);
    MatrixXd m = root.asDiagonal();
    llt.matrixL().solveInPlace(m);
    m = (m.transpose() * m).eval();
    const VectorXd z0 = y_ * pull;
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
    const VectorXd back = m * z0 + mf * fixed_mean;
    z_.noalias() = m_ * y_;
    mean = VectorXd::Zero(size);
    variance = prior_.cwiseInverse();
    cross_ = MatrixXd::Zero(fixed, used);
    if (fixed > 0) {
      cross_.noalias() = -fixed_covariance * (mf.transpose() * y_);
      cross_ *= precision.cwiseInverse().asDiagonal();
    }
    for (Index u = 0; u < used; ++u) {
      const Index k = used_[u];
      mean[k] = pull[u] - y_.col(u).dot(back) / precision[u];
      variance[k] -= y_.col(u).dot(z_.col(u)) / (precision[u] * precision[u]);
      // The data's share of a precision may leave no digit of the variance.
      if (!(variance[k] * precision[u] > 1e-10)) {
        throw NumericError("a column's variance is lost to rounding");
      }
    }
    if (!mean.allFinite()) throw NumericError("a mean is not finite");
    f_mean_ = f_ * fixed_mean;
    f_mean_.noalias() += y_ * pick(mean);
    q_.noalias() = work_ * work_.transpose();
  }

  // log odds of gamma in the order of the columns, always with the newest E
  // gamma; `prior` is their prior part. Products with the n x n matrix are made
  // for a batch of columns at once, and mended for what the batch has changed.
  void update_odds(double prior, VectorXd& odds) {
    for (Index k = 0; k < x_.cols(); ++k) {
      if (place_[k] < 0) set_odds(k, odds_without(prior, k), odds);
    }
    const Index used = static_cast<Index>(used_.size());
    VectorXd t(x_.rows());
    for (Index first = 0; first < used; first += kBatch) {
      const Index count = std::min(kBatch, used - first);
      const auto z = z_.middleCols(first, count);
      const auto y = y_.middleCols(first, count);
      batch_.noalias() = q_ * z;
      inner_.noalias() = y.transpose() * z;
      moved_ = MatrixXd::Zero(x_.rows(), count);
      bool any = false;
      for (Index j = 0; j < count; ++j) {
        const Index u = first + j, k = used_[u];
        t = f_mean_ * mean[k] - batch_.col(j) / prior_[k];
        t.noalias() += f_ * cross_.col(u);
        const double change = set_odds(
            k, odds_without(prior, k) - x_.col(k).cwiseProduct(w_).dot(t),
            odds);
        if (std::abs(change) < kLeast) continue;
        any = true;
        f_mean_ += (change * mean[k]) * x_.col(k);
        moved_.col(j) = change / prior_[k] * x_.col(k);
        const Index later = count - j - 1;
        batch_.rightCols(later).noalias() +=
            moved_.col(j) * inner_.row(j).tail(later);
      }
      if (any) q_.noalias() += moved_ * y.transpose();
    }
  }

  // E f and Var f of the rows, without f's known part, at the last E gamma.
  void rows(VectorXd& m, VectorXd& s) const {
    const Index n = x_.rows();
    m = f_mean_;
    s = VectorXd::Zero(n);
    MatrixXd now(n, static_cast<Index>(used_.size()));
    for (std::size_t u = 0; u < used_.size(); ++u) {
      now.col(static_cast<Index>(u)) =
          inclusion_[used_[u]] * x_.col(used_[u]);
    }
    s += (f_ * fixed_covariance).cwiseProduct(f_).rowwise().sum();
    s += 2.0 * (f_ * cross_).cwiseProduct(now).rowwise().sum();
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
    const MatrixXd inner = y_.transpose() * z_;
    for (std::size_t u = 0; u < used_.size(); ++u) {
      const Index at = static_cast<Index>(u), k = used_[u];
      out.block(0, fixed + k, fixed, 1) = cross_.col(at);
      out.block(fixed + k, 0, 1, fixed) = cross_.col(at).transpose();
      for (std::size_t v = 0; v < used_.size(); ++v) {
        out(fixed + used_[v], fixed + k) -=
            inner(static_cast<Index>(v), at) / (prior_[k] * prior_[used_[v]]);
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
  static constexpr double kOut = 1e-12, kLeast = 1e-10;
  static constexpr Index kBatch = 16;

  // The part of the log odds that the other columns leave alone; the column's
  // own share of their sum is taken off it.
  double odds_without(double prior, Index k) const {
    const double second = variance[k] + mean[k] * mean[k];
    return prior + mean[k] * shift[k] - 0.5 * squares[k] * second +
           squares[k] * inclusion_[k] * (second - 1.0 / prior_[k]);
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
  MatrixXd y_, work_, z_, cross_;   // Y, Y D^-1/2, M* Y, Cov(theta_F, v)
  MatrixXd m_, q_;                  // M*, X diag(g now) D^-1 Y'
  MatrixXd batch_, inner_, moved_;
  VectorXd f_mean_;
};

}  // namespace bayeskernel

#endif
