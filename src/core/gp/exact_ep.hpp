// Expectation propagation of the exact process, in function space as exact.hpp:
// f_i = o_i + u_i + e_i, u ~ N(0, K), the messages exp(b f - kappa f^2 / 2).
//   log Z = rows - log|B| / 2, B = I + D^1/2 K D^1/2, D = diag(kappa).
// Cost of a pass: n^3 / 2 multiply-adds, and n^2 / 2 for each row whose message
// says next to nothing.
//
// Rasmussen and Williams (2006), algorithm 3.5.
#pragma once

#include "eigen.hpp"
#include "ep/leave_one_out.hpp"
#include "ep/settle.hpp"
#include "ep/sites.hpp"
#include "error.hpp"
#include "gp/exact.hpp"
#include "likelihood/family.hpp"
#include "likelihood/rules.hpp"
#include "optim/progress.hpp"
#include "rows/rows.hpp"
#include "simd/dense_factor.hpp"

namespace bayeskernel {
// Rows of the exact process without their features: y and weight are the
// caller's.
void exact_rows(Index n, double nugget, PackedRows& out);

class ExactEp {
 public:
  // K with its jitter; rows as exact_rows() makes them.
  ExactEp(const MatrixXd& k, const RowSource& rows, Family family,
          double noise_variance = 1.0);
  ExactEp(const ExactEp&) = delete;
  ExactEp& operator=(const ExactEp&) = delete;

  SiteRows sites;

  // Interrupts are asked for between passes and leave by PassInterrupted.
  void watch(KeepGoing keep_going) { keep_going_ = std::move(keep_going); }

  // Messages to start from, in place of the usual start.
  void start_from(const VectorXd& kappa, const VectorXd& b);

  EpResult run(const EpSettings& settings);

  // The approximate log p(y | kernel, noise) at the last pass; not a bound.
  double log_z() const { return log_z_; }
  double noise_slope() const {
    return 0.5 * (rule_.squares() / rule_.noise_variance - rule_.weight());
  }
  VectorXd leave_one_out() const {
    return bayeskernel::leave_one_out(rows_, rule_, sites);
  }
  LeftOutMoments left_out_moments() const {
    return bayeskernel::left_out_moments(rows_, sites);
  }
  // q(u): E u = K alpha.
  const VectorXd& alpha() const { return alpha_; }
  // Messages are of u: e is integrated out of each.
  const VectorXd& function_kappa() const { return sites.kappa; }
  // E f, and Var f with the nugget.
  VectorXd mean() const { return offset() + mean_; }
  const VectorXd& variance() const { return variance_; }

 private:
  VectorXd offset() const;

  template <class Visit>
  void each_tile(Visit&& visit) const {
    MatrixXd unused;
    for (const TileSpan& span : rows_.tiles()) {
      visit(span, rows_.tile(span, unused));
    }
  }

  // The rule of a pass at the moments of f; gradients at them into linear_.
  double pass(const Rule& rule);

  void start(EpResult& result);

  void step(EpResult& result);

  // The mean moves by S r, r = b - kappa f - alpha, alpha by
  // r - D^1/2 B^-1 D^1/2 K r.
  void solve();

  const MatrixXd& k_;
  const RowSource& rows_;
  Family family_;
  Index n_;
  SiteRule rule_;
  VectorXd mean_, alpha_, linear_, kappa_, newton_, variance_;
  WeightedKernel scaled_;
  double log_z_ = 0.0;
  bool started_ = false;
  KeepGoing keep_going_;
  Progress progress_{0.0, 0.0, "ep"};
};
}  // namespace bayeskernel
