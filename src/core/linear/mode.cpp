#include "linear/mode.hpp"

#include "linear/moments.hpp"
#include "math/cholesky.hpp"

namespace bayeskernel {
double ModeRule::tile(const TileSpan& span, const Tile& tile, const double*,
                      const double*, RowNumbers out) const {
  for (Index i = 0; i < span.rows(); ++i) {
    const double w = tile.weight[i], y = tile.y[i];
    if (w == 0.0) {
      out.kappa[i] = out.linear[i] = 0.0;
      continue;
    }
    const double r = tile.residual_of(i);
    const double a =
        std::max(w * std::abs(1.0 - y * f_[span.row_begin + i]), 1e-10);
    out.kappa[i] = 1.0 / (a / (w * w) + r);
    out.linear[i] = out.kappa[i] * y * (1.0 + a / w);
  }
  return 0.0;
}

ModeResult ModeFit::run(const ModeSettings& settings,
                        const KeepGoing& keep_going) {
  const Index p = rows_.x_columns(), n = rows_.rows();
  ModeResult out;
  out.theta = VectorXd::Zero(p);
  out.f = VectorXd::Zero(n);
  for (int pass = 0; pass < settings.max_passes; ++pass) {
    step(out);
    const double value = objective(out);
    const double before = out.objective.empty() ? value : out.objective.back();
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

void ModeFit::step(ModeResult& out) {
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
    // linear - kappa x'theta is the gradient in e_i.
    out.f[i] += residual(i) * (linear_[i] - kappa_[i] * out.f[i]);
  }
}

double ModeFit::objective(const ModeResult& at) const {
  const VectorXd linear = rows_.x.transpose() * at.theta;
  double sum = 0.5 * at.theta.squaredNorm();
  for (Index i = 0; i < at.f.size(); ++i) {
    sum += 2.0 * rows_.weight[i] * std::max(1.0 - rows_.y[i] * at.f[i], 0.0);
    const double e = at.f[i] - linear[i];
    if (residual(i) > 0.0) sum += 0.5 * e * e / residual(i);
  }
  return sum;
}
}  // namespace bayeskernel
