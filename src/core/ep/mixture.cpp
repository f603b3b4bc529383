#include "ep/mixture.hpp"

#include "ep/sites.hpp"
#include "linear/gaussian.hpp"
#include "rows/sums.hpp"

namespace bayeskernel {
LinearMoments linear_moments(const EpFit& fit, bool groups) {
  const GaussianPosterior& q = fit.posterior();
  LinearMoments out;
  out.theta_mean = q.mean.x;
  out.theta_cov = q.theta_covariance();
  if (!groups) return out;
  out.group_mean = q.mean.group;
  out.group_cov = q.group_covariances();
  out.schur = fit.system().group_inverse();
  out.loading = fit.system().loading();
  return out;
}

RowMoments row_moments(const EpFit& fit, const RowEvidence& evidence) {
  return {fit.sites.mean, fit.sites.variance, evidence.log_p,
          fit.left_out_moments(), evidence.expected};
}

void PosteriorMixture::add(const EpFit& fit, const MatrixXd& sigma,
                           double weight) {
  const ArrowVector& mean = fit.posterior().mean;
  const Index p = mean.x.size(), r = mean.group.rows(),
              groups = mean.group.cols();
  if (total_ == 0.0) {
    origin_ = {mean.x,     MatrixXd::Zero(p, p),
               mean.group, MatrixXd::Zero(r, r * groups),
               MatrixXd(), MatrixXd(p, 0)};
    cross_ = MatrixXd::Zero(p, r * groups);
    theta_ = VectorXd::Zero(p);
    group_ = MatrixXd::Zero(r, groups);
  }
  total_ += weight;
  const VectorXd d = mean.x - origin_.theta_mean;
  const MatrixXd e = mean.group - origin_.group_mean;
  theta_ += weight * d;
  group_ += weight * e;
  origin_.theta_cov += weight * (sigma + d * d.transpose());
  if (r > 0) add_groups(fit.system(), sigma, d, e, weight, fit.executor());
}

void PosteriorMixture::add_rows(const EpFit& fit, double weight) {
  const RowEvidence evidence = RowEvidenceRule(fit)();
  const RowMoments rows = row_moments(fit, evidence);
  const VectorXd& log_z = evidence.log_z;
  if (row_origin_.size() == 0) {
    row_origin_ = rows.mean;
    log_z_origin_ = log_z;
    mean_ = square_ = kept_ = held_out_ = VectorXd::Zero(rows.mean.size());
    left_out_ = {mean_, mean_};
    expected_ = VectorXd::Zero(rows.expected.size());
  }
  expected_ += weight * rows.expected;
  const auto shift = rows.mean.array() - row_origin_.array();
  mean_.array() += weight * shift;
  square_.array() += weight * (rows.variance.array() + shift.square());
  // p_i = sum w p_ij / Z_ij / sum w / Z_ij.
  const auto scale = (log_z_origin_ - log_z).array();
  held_out_.array() += weight * scale.exp();
  const auto away = rows.left_out.mean.array() - row_origin_.array();
  left_out_.mean.array() += weight * scale.exp() * away;
  left_out_.variance.array() +=
      weight * scale.exp() * (rows.left_out.variance.array() + away.square());
  kept_.array() += weight * (rows.leave_one_out.array() + scale).exp();
}

LinearMoments PosteriorMixture::linear() const {
  LinearMoments out = origin_;
  const VectorXd d = theta_ / total_;
  const MatrixXd e = group_ / total_;
  out.theta_mean += d;
  out.theta_cov = origin_.theta_cov / total_ - d * d.transpose();
  const Index r = e.rows();
  if (r == 0) return out;
  out.loading.resize(d.size(), e.size());
  out.group_mean += e;
  out.group_cov /= total_;
  for (Index g = 0; g < e.cols(); ++g) {
    out.group_cov.middleCols(g * r, r) -= e.col(g) * e.col(g).transpose();
  }
  out.schur = out.group_cov;
  if (d.size() == 0) return out;
  const VectorMap effects(e.data(), e.size());
  const MatrixXd cross = cross_ / total_ - d * effects.transpose();
  out.loading = -Eigen::LLT<MatrixXd>(out.theta_cov).solve(cross);
  for (Index g = 0; g < e.cols(); ++g) {
    out.schur.middleCols(g * r, r) += cross.middleCols(g * r, r).transpose() *
                                      out.loading.middleCols(g * r, r);
  }
  return out;
}

RowMoments PosteriorMixture::rows() const {
  if (row_origin_.size() == 0) return RowMoments();
  const VectorXd shift = mean_ / total_;
  const VectorXd away = left_out_.mean.cwiseQuotient(held_out_);
  return {row_origin_ + shift,
          square_ / total_ - shift.cwiseAbs2(),
          (kept_.array() / held_out_.array()).log(),
          {row_origin_ + away,
           left_out_.variance.cwiseQuotient(held_out_) - away.cwiseAbs2()},
          expected_ / total_};
}

void PosteriorMixture::add_groups(const ArrowSystem& system,
                                  const MatrixXd& sigma, const VectorXd& d,
                                  const MatrixXd& e, double weight,
                                  Executor& executor) {
  constexpr Index kStrip = 256;
  const LowerProduct times(sigma, true);
  const Index p = d.size(), r = e.rows(), groups = e.cols();
  executor.run((groups + kStrip - 1) / kStrip, [&](Index strip) {
    const Index first = strip * kStrip;
    const Index count = std::min(kStrip, groups - first);
    const auto loading = system.loading().middleCols(first * r, count * r);
    MatrixXd product(p, count * r);
    if (p > 0) {
      VectorXd norms(count * r);
      times.apply(loading.data(), count * r, product.data(), norms.data());
      for (Index k = 0; k < count * r; ++k) {
        cross_.col(first * r + k) +=
            weight * (e.data()[first * r + k] * d - product.col(k));
      }
    }
    MatrixXd own(r, r);
    for (Index g = 0; g < count; ++g) {
      own = system.group_inverse().middleCols((first + g) * r, r);
      own.noalias() += loading.middleCols(g * r, r).transpose() *
                       product.middleCols(g * r, r);
      own.noalias() += e.col(first + g) * e.col(first + g).transpose();
      origin_.group_cov.middleCols((first + g) * r, r) += weight * own;
    }
  });
}
}  // namespace bayeskernel
