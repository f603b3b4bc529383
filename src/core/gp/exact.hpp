// Mean field of the exact process: f_i = u_i + e_i, u ~ N(0, K), e_i ~ N(0, g),
// so f ~ N(0, A) with A = K + g I.
// In function space q(f) = N(m, (A^-1 + D)^-1) with D = diag(kappa),
// m = A alpha and B = I + D^1/2 A D^1/2:
//   var f_i = (1 - (B^-1)_ii) / kappa_i,
//   KL = (tr B^-1 + m'alpha - n + log|B|) / 2.
// q(u) has the mean K alpha and the weights kappa / (1 + g kappa).
// Cost of a pass: n^3 / 2 multiply-adds.
//
// Wenzel et al. (2017), section 4.1, of eq. 5; for B see Rasmussen and Williams
// (2006), chapter 3.
#pragma once

#include "eigen.hpp"
#include "ep/influence.hpp"
#include "error.hpp"
#include "gp/features.hpp"
#include "optim/ascent.hpp"
#include "optim/progress.hpp"
#include "simd/dense_factor.hpp"
#include "simd/gram.hpp"

namespace bayeskernel {
// B = I + D^1/2 (K + g I) D^1/2, factored; its lower triangle.
struct WeightedKernel {
  VectorXd root;  // of D
  MatrixXd b;

  bool factor(const MatrixXd& k, const VectorXd& weight,
              double nugget = 0.0);
  double log_det() const;
  // Var u_i of a row without weight: K_ii - |L^-1 D^1/2 K_i|^2, from the
  // inverse of the factor.
  double unseen(const MatrixXd& k, const MatrixXd& inverse, Index i) const;
};

// What weights of f_i are of u_i, with e_i integrated out.
VectorXd seen_through(const VectorXd& kappa, double nugget);

// Where an iteration may start.
struct ExactStart {
  VectorXd alpha, kappa;
};

// The linear response of mean field (ep/influence.hpp) in function space:
//   s = diag (K^-1 + diag kappa)^-1, at the means and variances of f. What it
// gives is of u.
RowInfluence exact_response(const MatrixXd& k, double nugget, const VectorXd& y,
                            const VectorXd& weight, const VectorXd& mean,
                            const VectorXd& variance);

class ExactFit final : private AscentModel {
 public:
  // K with its jitter; labels and likelihood powers of its rows.
  ExactFit(const MatrixXd& k, double nugget, const VectorXd& y,
           const VectorXd& weight)
      : k_(k), nugget_(nugget), y_(y), weight_(weight), n_(k.rows()) {}

  MeanFieldResult run(const MeanFieldSettings& settings,
                      const KeepGoing& keep_going,
                      const ExactStart* warm = nullptr);

  const VectorXd& alpha() const { return alpha_; }
  VectorXd function_kappa() const { return seen_through(kappa_, nugget_); }
  ExactStart warm_start() const { return {alpha_, kappa_}; }
  // E f and Var f of the rows.
  VectorXd mean() const;
  const VectorXd& variance() const { return accepted_.variance; }
  // Derivative of the bound in g.
  double nugget_slope() const;

 private:
  struct RowSums {
    VectorXd kappa, gradient, newton, variance;
  };

  // State: m, alpha, kappa.
  Index pack(VectorXd& accepted, VectorXd& proposal) override;
  void unpack(const VectorXd& proposal) override { state_ = proposal; }

  void place(const VectorXd& alpha, const VectorXd& kappa, VectorXd& to) const;

  void start(MeanFieldResult& result);

  bool restart(MeanFieldResult& result) override;

  double bound() const override { return trial_bound_; }

  bool evaluate(const Step&) override;

  bool accept() override;

  // m moves by (K^-1 + H)^-1 r, alpha by r - H^1/2 B_H^-1 H^1/2 K r.
  double propose(double damping) override;

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

// q(v) of the fit, v = L^-1 u: mean L'alpha, and U with U'U = (I + L'D L)^-1,
// D of function_kappa(), the weights of u.
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
  const VectorXd weight = fit.function_kappa();
  // Row i of L ends at column i: rows from r on make the columns from r on.
  constexpr Index kStrip = 64;
  MatrixXd scratch;
  MatrixXd precision = MatrixXd::Identity(n, n);
  for (Index first = 0; first < n; first += kStrip) {
    const Index count = std::min(kStrip, n - first), size = first + count;
    const MatrixXd strip = upper.block(0, first, size, count);
    weighted_gram(strip, weight.segment(first, count), scratch,
                  precision.topLeftCorner(size, size));
  }
  if (!factor_lower(precision)) {
    throw NumericError("a precision matrix is not positive definite");
  }
  out.whitener = invert_lower(precision);
  return out;
}
}  // namespace bayeskernel
