// Posterior mode of f by expectation conditional maximisation (gpsvm.md section
// 9): a_i = |1 - y_i f_i|, then f given a, for f_i = x_i'theta + e_i with
// theta ~ N(0, I) and e_i ~ N(0, r_i). The fixed point is the hinge-loss
// machine: 2 sum w (1 - y f)_+ + theta'theta / 2 + sum e^2 / (2 r). Sublinear
// near the margin: it stops when the objective does. Cost of a pass: n p^2.
#ifndef BAYESKERNEL_HINGE_MODE_HPP
#define BAYESKERNEL_HINGE_MODE_HPP

#include <Eigen/Core>
#include <algorithm>
#include <cmath>
#include <vector>

#include "../chain/progress.hpp"
#include "../data/rows.hpp"
#include "../math/cholesky.hpp"
#include "../math/gram.hpp"
#include "../parallel/executor.hpp"
#include "../parallel/scratch_pool.hpp"

namespace bayeskernel {

struct ModeSettings {
  double tolerance = 1e-8;  // relative change of the objective
  int max_passes = 2000;
};

struct ModeResult {
  VectorXd theta, f;
  MatrixXd whitener;  // U with U'U = (I + X' diag(kappa) X)^-1 at the last a
  std::vector<double> objective;
  bool converged = false;
  bool interrupted = false;
};

class ModeFit {
 public:
  // Rows in memory, without groups.
  ModeFit(const PackedRows& rows, Executor& executor)
      : rows_(rows),
        executor_(executor),
        kappa_(rows.rows()),
        shift_(rows.rows()) {}

  ModeResult run(const ModeSettings& settings, const KeepGoing& keep_going) {
    const Index p = rows_.x_columns(), n = rows_.rows();
    ModeResult out;
    out.theta = VectorXd::Zero(p);
    out.f = VectorXd::Zero(n);
    for (int pass = 0; pass < settings.max_passes; ++pass) {
      step(out);
      const double value = objective(out);
      const double before =
          out.objective.empty() ? value : out.objective.back();
      out.objective.push_back(value);
      if (pass > 0 && before - value < settings.tolerance * (1.0 + value)) {
        out.converged = true;
        break;
      }
      if (!keep_going({static_cast<double>(pass),
                       static_cast<double>(settings.max_passes), "ecm"})) {
        out.interrupted = true;
        break;
      }
    }
    out.whitener.setIdentity(p, p);
    llt_.matrixL().solveInPlace(out.whitener);
    return out;
  }

 private:
  struct Slot {
    MatrixXd gram;
    VectorXd shift;
  };

  double residual(Index i) const {
    return rows_.residual.size() > 0 ? rows_.residual[i] : 0.0;
  }

  // y (1 + a / w) is an observation of f with variance a / w^2.
  void step(ModeResult& out) {
    const Index p = rows_.x_columns(), blocks = rows_.blocks();
    slots_.resize(blocks);
    executor_.run(blocks, [&](Index b) {
      auto work = pool_.borrow();
      Slot& slot = slots_[b];
      slot.gram.setZero(p, p);
      slot.shift.setZero(p);
      const Index first = rows_.tiles()[rows_.block_begin(b)].row_begin;
      const Index end = rows_.tiles()[rows_.block_begin(b + 1) - 1].row_end;
      for (Index i = first; i < end; ++i) set_row(i, out.f[i]);
      const auto x = rows_.x.middleCols(first, end - first);
      weighted_gram(x, kappa_.segment(first, end - first), *work, slot.gram);
      slot.shift.noalias() += x * shift_.segment(first, end - first);
    });
    MatrixXd precision = MatrixXd::Identity(p, p);
    VectorXd rhs = VectorXd::Zero(p);
    for (const Slot& slot : slots_) {
      precision += slot.gram;
      rhs += slot.shift;
    }
    jittered_cholesky(precision, llt_);
    out.theta = llt_.solve(rhs);
    out.f.noalias() = rows_.x.transpose() * out.theta;
    for (Index i = 0; i < out.f.size(); ++i) {
      // shift - kappa x'theta is what pulls e_i.
      out.f[i] += residual(i) * (shift_[i] - kappa_[i] * out.f[i]);
    }
  }

  void set_row(Index i, double f) {
    const double w = rows_.weight[i], y = rows_.y[i];
    if (w == 0.0) {
      kappa_[i] = shift_[i] = 0.0;
      return;
    }
    const double a = std::max(w * std::abs(1.0 - y * f), 1e-10);
    kappa_[i] = 1.0 / (a / (w * w) + residual(i));
    shift_[i] = kappa_[i] * y * (1.0 + a / w);
  }

  double objective(const ModeResult& at) const {
    const VectorXd linear = rows_.x.transpose() * at.theta;
    double sum = 0.5 * at.theta.squaredNorm();
    for (Index i = 0; i < at.f.size(); ++i) {
      sum += 2.0 * rows_.weight[i] * std::max(1.0 - rows_.y[i] * at.f[i], 0.0);
      const double e = at.f[i] - linear[i];
      if (residual(i) > 0.0) sum += 0.5 * e * e / residual(i);
    }
    return sum;
  }

  const PackedRows& rows_;
  Executor& executor_;
  VectorXd kappa_, shift_;
  Eigen::LLT<MatrixXd> llt_;
  std::vector<Slot> slots_;
  ScratchPool<MatrixXd> pool_;
};

}  // namespace bayeskernel

#endif
