// Posterior mode of f by expectation conditional maximisation: a_i = |1 - y_i f_i|, then f given a, for f_i = x_i'theta + e_i with
// theta ~ N(0, I) and e_i ~ N(0, r_i). The fixed point is the hinge-loss
// machine: 2 sum w (1 - y f)_+ + theta'theta / 2 + sum e^2 / (2 r). Sublinear
// near the margin: it stops when the objective does. Cost of a pass: n p^2.
#ifndef BAYESKERNEL_LINEAR_MODE_HPP
#define BAYESKERNEL_LINEAR_MODE_HPP

#include <Eigen/Core>
#include <algorithm>
#include <cmath>
#include <vector>

#include "optim/progress.hpp"
#include "math/cholesky.hpp"
#include "linear/pass.hpp"

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

// f is known; y (1 + a / w) is an observation of it with variance a / w^2.
class ModeRule final : public Rule {
 public:
  explicit ModeRule(const VectorXd& f) : f_(f) {}

  double tile(const TileSpan& span, const Tile& tile, const double*,
              const double*, RowNumbers out) const override {
    for (Index i = 0; i < span.rows(); ++i) {
      const double w = tile.weight[i], y = tile.y[i];
      if (w == 0.0) {
        out.kappa[i] = out.linear[i] = 0.0;
        continue;
      }
      const double r = tile.residual_of(i);
      const double a = std::max(
          w * std::abs(1.0 - y * f_[span.row_begin + i]), 1e-10);
      out.kappa[i] = 1.0 / (a / (w * w) + r);
      out.linear[i] = out.kappa[i] * y * (1.0 + a / w);
    }
    return 0.0;
  }

 private:
  const VectorXd& f_;
};

class ModeFit {
 public:
  // Rows in memory, without groups.
  ModeFit(const PackedRows& rows, Executor& executor)
      : rows_(rows),
        pass_(rows, executor),
        sums_(rows.x_columns(), 0, 0),
        kappa_(rows.rows()),
        linear_(rows.rows()) {}

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
  double residual(Index i) const {
    return rows_.residual.size() > 0 ? rows_.residual[i] : 0.0;
  }

  void step(ModeResult& out) {
    RowStore store;
    store.kappa = kappa_.data();
    store.linear = linear_.data();
    pass_.run(Moments(), ModeRule(out.f), Second::none, sums_, store);
    MatrixXd& precision = sums_.curvature.gram;
    precision.diagonal().array() += 1.0;
    jittered_cholesky(precision, llt_);
    out.theta = llt_.solve(sums_.linear.x);
    out.f.noalias() = rows_.x.transpose() * out.theta;
    for (Index i = 0; i < out.f.size(); ++i) {
      // linear - kappa x'theta is what pulls e_i.
      out.f[i] += residual(i) * (linear_[i] - kappa_[i] * out.f[i]);
    }
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
  Pass pass_;
  Sums sums_;
  VectorXd kappa_, linear_;
  Eigen::LLT<MatrixXd> llt_;
};

}  // namespace bayeskernel

#endif
