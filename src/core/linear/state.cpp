#include "linear/state.hpp"

namespace bayeskernel {
Index StateVector::pack(const MeanFieldState& s, VectorXd& out) const {
  out.resize(size(s));
  double* to = out.data();
  put(to, s.mean.x);
  put(to, s.mean.group);
  for (std::size_t l = 0; l < prior_.blocks.size(); ++l) {
    if (learned(l)) put_root(to, s.precision[l]);
  }
  if (noise_) *to++ = std::log(s.noise);
  put(to, s.log_b);
  if (s.log_b.size() > 0) *to++ = s.log_slab;
  for (Index k = 0; k < s.log_odds.size(); ++k) {
    *to++ = kOddsWeight * std::clamp(s.log_odds[k], -kClip, kClip);
  }
  put(to, s.missing_center);
  if (s.missing_center.size() > 0) put_root(to, s.missing_precision);
  const Index steering = to - out.data();
  for (Index k = 0; k < s.missing_scale.size(); ++k) {
    *to++ = std::log(s.missing_scale[k]);
  }
  const Index p = s.curvature.gram.rows();
  for (Index c = 0; c < p; ++c) {
    to = std::copy_n(s.curvature.gram.data() + c * p + c, p - c, to);
  }
  put(to, s.curvature.cross);
  put(to, s.curvature.group_gram);
  return steering;
}

void StateVector::unpack(const VectorXd& from, MeanFieldState& s) const {
  const double* at = from.data();
  take(at, s.mean.x);
  take(at, s.mean.group);
  for (std::size_t l = 0; l < prior_.blocks.size(); ++l) {
    if (learned(l)) take_root(at, s.precision[l]);
  }
  // Farther off, the rows' part of the bound and the noise's, which grow with
  // the precision, would cancel to nothing.
  if (noise_) {
    s.noise =
        std::clamp(std::exp(*at++), s.noise / kMostNoise, s.noise * kMostNoise);
  }
  take(at, s.log_b);
  if (s.log_b.size() > 0) s.log_slab = *at++;
  for (Index k = 0; k < s.log_odds.size(); ++k) {
    double& odds = s.log_odds[k];
    const double moved = *at++ / kOddsWeight;
    if (std::abs(odds) < kClip) odds = std::clamp(moved, -kClip, kClip);
  }
  take(at, s.missing_center);
  if (s.missing_center.size() > 0) take_root(at, s.missing_precision);
  for (Index k = 0; k < s.missing_scale.size(); ++k) {
    s.missing_scale[k] = std::exp(*at++);
  }
  const Index p = s.curvature.gram.rows();
  for (Index c = 0; c < p; ++c) {
    std::copy_n(at, p - c, s.curvature.gram.data() + c * p + c);
    at += p - c;
  }
  take(at, s.curvature.cross);
  take(at, s.curvature.group_gram);
}

Index StateVector::size(const MeanFieldState& s) const {
  Index out = s.mean.x.size() + s.mean.group.size() + (noise_ ? 1 : 0) +
              s.log_b.size() + (s.log_b.size() > 0 ? 1 : 0) +
              s.log_odds.size() + s.missing_center.size() +
              root_size(s.missing_center.size()) + s.missing_scale.size() +
              root_size(s.curvature.gram.rows()) + s.curvature.cross.size() +
              s.curvature.group_gram.size();
  for (std::size_t l = 0; l < prior_.blocks.size(); ++l) {
    if (learned(l)) out += root_size(s.precision[l].rows());
  }
  return out;
}

void StateVector::put_root(double*& to, const MatrixXd& a) {
  const MatrixXd root = Eigen::LLT<MatrixXd>(a).matrixL();
  for (Index c = 0; c < root.cols(); ++c) {
    *to++ = std::log(root(c, c));
    for (Index k = c + 1; k < root.rows(); ++k) *to++ = root(k, c);
  }
}

void StateVector::take_root(const double*& at, MatrixXd& a) {
  MatrixXd root = MatrixXd::Zero(a.rows(), a.cols());
  for (Index c = 0; c < root.cols(); ++c) {
    root(c, c) = std::exp(*at++);
    for (Index k = c + 1; k < root.rows(); ++k) root(k, c) = *at++;
  }
  a.noalias() = root * root.transpose();
}
}  // namespace bayeskernel
