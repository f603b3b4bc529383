#include "gp/exact_ep.hpp"

#include "ep/start.hpp"
#include "gp/features.hpp"
#include "parallel/executor.hpp"

namespace bayeskernel {
void exact_rows(Index n, double nugget, PackedRows& out) {
  out.x.resize(0, n);
  out.z.resize(0, n);
  out.residual = VectorXd::Constant(n, nugget);
  out.offset = VectorXd::Zero(n);
  out.finish({});
}

ExactEp::ExactEp(const MatrixXd& k, const RowSource& rows, Family family,
                 double noise_variance)
    : sites(rows.rows()),
      k_(k),
      rows_(rows),
      family_(family),
      n_(rows.rows()),
      rule_(rows, family, sites),
      mean_(VectorXd::Zero(n_)),
      alpha_(VectorXd::Zero(n_)),
      linear_(n_),
      kappa_(n_),
      newton_(n_),
      variance_(n_) {
  sites.residual_slope = VectorXd::Zero(n_);
  rule_.noise_variance = noise_variance;
}

void ExactEp::start_from(const VectorXd& kappa, const VectorXd& b) {
  sites.kappa = kappa;
  sites.b = b;
  mean_.setZero();
  alpha_.setZero();
  linear_ = b - kappa.cwiseProduct(offset());
  started_ = true;
}

EpResult ExactEp::run(const EpSettings& settings) {
  EpResult result;
  progress_ = {0.0, static_cast<double>(settings.max_passes), "ep"};
  if (!started_) start(result);
  settle(
      rule_, family_, settings, [&] { solve(); },
      [&](EpResult& pass) { step(pass); }, result);
  solve();  // function_kappa() and alpha() belong together
  return result;
}

VectorXd ExactEp::offset() const {
  VectorXd out(n_);
  each_tile([&](const TileSpan& span, const Tile& tile) {
    out.segment(span.row_begin, span.rows()) = tile.offset;
  });
  return out;
}

double ExactEp::pass(const Rule& rule) {
  if (keep_going_ && !keep_going_(progress_)) throw PassInterrupted();
  ++progress_.done;
  const VectorXd f = mean();
  double sum = 0.0;
  each_tile([&](const TileSpan& span, const Tile& tile) {
    const Index first = span.row_begin;
    sum += rule.tile(span, tile, &f[first], &variance_[first],
                     {&kappa_[first], &linear_[first], &newton_[first]});
  });
  return sum;
}

void ExactEp::start(EpResult& result) {
  StartSites rule(family_);
  rule.noise_variance = rule_.noise_variance;
  variance_.setOnes();
  for (int k = 0; k < StartSites::passes(family_); ++k) {
    rule.cold = k == 0;
    if (k > 0) solve();
    pass(rule);
    ++result.passes;
    sites.kappa = kappa_;
  }
  sites.b = linear_ + sites.kappa.cwiseProduct(mean());
  started_ = true;
}

void ExactEp::step(EpResult& result) {
  log_z_ = pass(rule_) - 0.5 * scaled_.log_det();
  ++result.passes;
  result.change = rule_.change();
  if (!std::isfinite(log_z_)) {
    throw NumericError("the evidence of a pass is not finite");
  }
}

void ExactEp::solve() {
  const VectorXd& kappa = sites.kappa;
  if (!scaled_.factor(k_, kappa)) {
    throw NumericError("a precision matrix is not positive definite");
  }
  const MatrixXd inverse = invert_lower(scaled_.b);
  const auto lower = inverse.triangularView<Eigen::Lower>();

  const VectorXd gradient = linear_ - alpha_;
  const VectorXd left = lower * scaled_.root.cwiseProduct(k_ * gradient).eval();
  alpha_ += gradient - scaled_.root.cwiseProduct(lower.transpose() * left);
  mean_.noalias() = k_ * alpha_;

  constexpr double kFaint = 1e-4;
  for (Index i = 0; i < n_; ++i) {
    variance_[i] =
        kappa[i] * k_(i, i) > kFaint
            ? (1.0 - inverse.col(i).tail(n_ - i).squaredNorm()) / kappa[i]
            : scaled_.unseen(k_, inverse, i);
  }
  each_tile([&](const TileSpan& span, const Tile& tile) {
    auto variance = variance_.segment(span.row_begin, span.rows());
    variance = variance.cwiseMax(0.0) + tile.residual;
  });
}
}  // namespace bayeskernel
