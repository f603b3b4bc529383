// Mean field of the exact process: f_i = u_i + e_i, u ~ N(0, K), e_i ~ N(0, g).
// In function space q(u) = N(m, (K^-1 + D)^-1) with D = diag(kappa),
// m = K alpha and B = I + D^1/2 K D^1/2:
//   var u_i = (1 - (B^-1)_ii) / kappa_i,
//   KL = (tr B^-1 + m'alpha - n + log|B|) / 2.
// Cost of a pass: n^3 / 2 multiply-adds.
#ifndef BAYESKERNEL_GP_EXACT_HPP
#define BAYESKERNEL_GP_EXACT_HPP

#include <Eigen/Core>
#include <algorithm>
#include <cmath>
#include <optional>

#include "ep/influence.hpp"
#include "likelihood/rules.hpp"
#include "simd/dense_factor.hpp"
#include "optim/ascent.hpp"
#include "gp/features.hpp"

namespace bayeskernel {

// B = I + D^1/2 K D^1/2, factored; its lower triangle.
struct WeightedKernel {
  VectorXd root;  // of D
  MatrixXd b;

  bool factor(const MatrixXd& k, const VectorXd& weight) {
    const Index n = k.rows();
    root = weight.cwiseSqrt();
    b.resize(n, n);
    for (Index j = 0; j < n; ++j) {
      const Index below = n - j;
      b.col(j).tail(below) =
          (k.col(j).tail(below).array() * root.tail(below).array()) * root[j];
    }
    b.diagonal().array() += 1.0;
    return factor_lower(b);
  }
  double log_det() const { return 2.0 * b.diagonal().array().log().sum(); }
  // Var u_i of a row without weight: K_ii - |L^-1 D^1/2 K_i|^2, from the
  // inverse of the factor.
  double unseen(const MatrixXd& k, const MatrixXd& inverse, Index i) const {
    const VectorXd column = root.cwiseProduct(k.col(i));
    return std::max(
        k(i, i) -
            (inverse.triangularView<Eigen::Lower>() * column).squaredNorm(),
        0.0);
  }
};

// Where an iteration may start.
struct ExactStart {
  VectorXd alpha, kappa;
};

// The linear response of mean field (ep/influence.hpp) in function space:
//   s = diag (K^-1 + diag kappa)^-1, at the means and variances of the fit.
inline RowInfluence exact_response(const MatrixXd& k, double nugget,
                                   const VectorXd& y, const VectorXd& weight,
                                   const VectorXd& mean,
                                   const VectorXd& variance) {
  const Index n = k.rows();
  RowInfluence out(n);
  out.mean = mean;
  out.variance = (variance.array() - nugget).max(0.0);
  WeightedKernel scaled;
  for (int pass = 0; pass < LinearResponse::kPasses; ++pass) {
    double change = 0.0;
    for (Index i = 0; i < n; ++i) {
      const RowTerms row = row_response(y[i], weight[i], mean[i],
                                        out.variance[i] + nugget);
      change = std::max(change, std::abs(row.kappa - out.kappa[i]) *
                                    out.variance[i]);
      out.kappa[i] = row.kappa;
      out.gradient[i] = row.gradient;
    }
    if (pass > 0 && change < LinearResponse::kTolerance) break;
    if (!scaled.factor(k, out.kappa)) {
      throw NumericError("a precision matrix is not positive definite");
    }
    const MatrixXd inverse = invert_lower(scaled.b);
    for (Index i = 0; i < n; ++i) {
      out.variance[i] =
          out.kappa[i] * k(i, i) > 1e-4
              ? (1.0 - inverse.col(i).tail(n - i).squaredNorm()) / out.kappa[i]
              : scaled.unseen(k, inverse, i);
    }
  }
  return out;
}

class ExactFit final : private AscentModel {
 public:
  // K with its jitter; labels and likelihood powers of its rows.
  ExactFit(const MatrixXd& k, double nugget, const VectorXd& y,
           const VectorXd& weight)
      : k_(k), nugget_(nugget), y_(y), weight_(weight), n_(k.rows()) {}

  MeanFieldResult run(const MeanFieldSettings& settings,
                      const KeepGoing& keep_going,
                      const ExactStart* warm = nullptr) {
    MeanFieldResult result;
    warm_ = warm;
    start(result);
    ascend(*this, AscentSchedule(), settings, keep_going, result);
    const double* from = accepted_state_.data();
    alpha_ = Eigen::Map<const VectorXd>(from + n_, n_);
    kappa_ = Eigen::Map<const VectorXd>(from + 2 * n_, n_);
    return result;
  }

  const VectorXd& alpha() const { return alpha_; }
  const VectorXd& kappa() const { return kappa_; }
  ExactStart warm_start() const { return {alpha_, kappa_}; }
  // E f and Var f of the rows.
  VectorXd mean() const { return accepted_state_.head(n_); }
  const VectorXd& variance() const { return accepted_.variance; }
  // Sum of the kappa that the moments imply.
  double next_kappa() const { return accepted_.kappa.sum(); }

 private:
  struct RowSums {
    VectorXd kappa, gradient, newton, variance;
  };

  // State: m, alpha, kappa.
  Index pack(VectorXd& accepted, VectorXd& proposal) override {
    accepted = accepted_state_;
    proposal = state_;
    return n_;
  }
  void unpack(const VectorXd& proposal) override { state_ = proposal; }

  void place(const VectorXd& alpha, const VectorXd& kappa, VectorXd& to) const {
    to.resize(3 * n_);
    to.head(n_).noalias() = k_ * alpha;
    to.segment(n_, n_) = alpha;
    to.tail(n_) = kappa;
  }

  void start(MeanFieldResult& result) {
    if (warm_ != nullptr) {
      place(warm_->alpha, warm_->kappa, state_);
      accepted_state_ = state_;
      return;
    }
    accepted_.kappa = weight_;
    accepted_.gradient = 2.0 * weight_.cwiseProduct(y_);
    accepted_.newton = VectorXd::Zero(n_);
    accepted_.variance = VectorXd::Zero(n_);
    place(VectorXd::Zero(n_), weight_, accepted_state_);
    propose(1.0);
    ++result.passes;
  }

  bool restart(MeanFieldResult& result) override {
    if (warm_ == nullptr) return false;
    warm_ = nullptr;
    start(result);
    return true;
  }

  double bound() const override { return trial_bound_; }

  bool evaluate(const Step&) override {
    trial_bound_ = -std::numeric_limits<double>::infinity();
    const auto mean = state_.head(n_);
    const auto kappa = state_.tail(n_);
    if (!(kappa.minCoeff() >= 0.0) || !scaled_.factor(k_, kappa)) return false;
    const double log_det = scaled_.log_det();
    const MatrixXd inverse = invert_lower(scaled_.b);
    const VectorXd diagonal = inverse.colwise().squaredNorm().transpose();
    for (VectorXd* v :
         {&trial_.kappa, &trial_.gradient, &trial_.newton, &trial_.variance}) {
      v->resize(n_);
    }
    double bound = -0.5 * (diagonal.sum() + mean.dot(state_.segment(n_, n_)) -
                           static_cast<double>(n_) + log_det);
    for (Index i = 0; i < n_; ++i) {
      const double s =
          nugget_ + (kappa[i] > 0.0
                         ? std::max(1.0 - diagonal[i], 0.0) / kappa[i]
                         : scaled_.unseen(k_, inverse, i));
      const RowTerms row = mean_field(y_[i], weight_[i], mean[i], s);
      trial_.variance[i] = s;
      trial_.kappa[i] = row.kappa;
      trial_.gradient[i] = row.gradient;
      trial_.newton[i] = row.newton;
      bound += row.bound;
    }
    trial_bound_ = bound;
    return std::isfinite(bound);
  }

  bool accept() override {
    std::swap(accepted_, trial_);
    accepted_state_ = state_;
    return false;
  }

  // m moves by (K^-1 + H)^-1 r, alpha by r - H^1/2 B_H^-1 H^1/2 K r.
  double propose(double damping) override {
    const VectorXd alpha = accepted_state_.segment(n_, n_);
    const VectorXd pull = accepted_.gradient - alpha;
    const VectorXd weight =
        damping * accepted_.kappa + (1.0 - damping) * accepted_.newton;
    if (!scaled_.factor(k_, weight)) {
      throw NumericError("a precision matrix is not positive definite");
    }
    VectorXd step = scaled_.root.cwiseProduct(k_ * pull);
    const MatrixXd& b = scaled_.b;
    b.triangularView<Eigen::Lower>().solveInPlace(step);
    b.triangularView<Eigen::Lower>().transpose().solveInPlace(step);
    step = pull - scaled_.root.cwiseProduct(step);
    place(alpha + step, accepted_.kappa, state_);
    return 0.5 * pull.dot(state_.head(n_) - accepted_state_.head(n_));
  }

  const MatrixXd& k_;
  double nugget_;
  const VectorXd& y_;
  const VectorXd& weight_;
  Index n_;
  VectorXd state_, accepted_state_, alpha_, kappa_;
  WeightedKernel scaled_;
  RowSums trial_, accepted_;
  const ExactStart* warm_ = nullptr;
  double trial_bound_ = 0.0;
};

// q(v) of the fit, v = L^-1 u: mean L'alpha, and U with U'U = (I + L'D L)^-1.
struct WhitenedPosterior {
  VectorXd mean;
  MatrixXd whitener;
};

template <class Fit>
WhitenedPosterior whitened(const Features& features, const Fit& fit) {
  const MatrixXd upper = features.factor().transpose();
  const Index n = upper.rows();
  WhitenedPosterior out;
  out.mean.noalias() = upper * fit.alpha();
  // Row i of L ends at column i: rows from r on make the columns from r on.
  constexpr Index kStrip = 64;
  MatrixXd scratch;
  MatrixXd precision = MatrixXd::Identity(n, n);
  for (Index first = 0; first < n; first += kStrip) {
    const Index count = std::min(kStrip, n - first), size = first + count;
    const MatrixXd strip = upper.block(0, first, size, count);
    weighted_gram(strip, fit.kappa().segment(first, count), scratch,
                  precision.topLeftCorner(size, size));
  }
  if (!factor_lower(precision)) {
    throw NumericError("a precision matrix is not positive definite");
  }
  out.whitener = invert_lower(precision);
  return out;
}

}  // namespace bayeskernel

#endif
