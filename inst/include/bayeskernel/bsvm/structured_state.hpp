// What one step of the structured mean-field fit starts from, as numbers that
// an extrapolation may move: every value is a proper q (logarithms of positive
// numbers, Cholesky factors of precisions).
#ifndef BAYESKERNEL_BSVM_STRUCTURED_STATE_HPP
#define BAYESKERNEL_BSVM_STRUCTURED_STATE_HPP

#include <Eigen/Cholesky>
#include <Eigen/Core>
#include <algorithm>
#include <cmath>
#include <vector>

#include "../hinge/blocks.hpp"
#include "../hinge/statistics.hpp"

namespace bayeskernel {

struct MeanFieldState {
  ArrowVector mean;                 // of theta, u
  std::vector<MatrixXd> precision;  // E[1/sigma^2], E[Psi^-1] by block
  VectorXd log_b, log_odds;         // of E b, gamma: selection columns
  double log_slab = 0.0;            // of E[1/sigma_v^2]
  MatrixXd hole_precision;          // O
  VectorXd hole_center;             // m_x
  VectorXd hole_scale;              // c of the rows with holes
  Curvature curvature;              // A
};

// The same as one vector: first the coordinates that steer an extrapolation,
// then what only follows.
class StateVector {
 public:
  explicit StateVector(const Prior& prior) : prior_(prior) {}

  // Number of coordinates that steer; `out` receives all.
  Index pack(const MeanFieldState& s, VectorXd& out) {
    values_.clear();
    put(s.mean.x);
    put(s.mean.group);
    for (std::size_t l = 0; l < prior_.blocks.size(); ++l) {
      if (prior_.blocks[l].kind != Block::Kind::held) put_root(s.precision[l]);
    }
    put(s.log_b);
    if (s.log_b.size() > 0) values_.push_back(s.log_slab);
    const VectorXd odds = s.log_odds.array().max(-kClip).min(kClip);
    put((kOddsWeight * odds).eval());
    if (s.hole_center.size() > 0) {
      put(s.hole_center);
      put_root(s.hole_precision);
    }
    const Index steering = static_cast<Index>(values_.size());
    put(s.hole_scale.array().log().matrix().eval());
    const Index p = s.curvature.gram.rows();
    for (Index c = 0; c < p; ++c) {
      const double* column = s.curvature.gram.data() + c * p;
      values_.insert(values_.end(), column + c, column + p);
    }
    put(s.curvature.cross);
    put(s.curvature.group_gram);
    out = Eigen::Map<const VectorXd>(values_.data(),
                                     static_cast<Index>(values_.size()));
    return steering;
  }

  // Into `s`, which has the sizes and, for log odds beyond the clip, the
  // values that stay.
  void unpack(const VectorXd& from, MeanFieldState& s) const {
    const double* at = from.data();
    take(at, s.mean.x);
    take(at, s.mean.group);
    for (std::size_t l = 0; l < prior_.blocks.size(); ++l) {
      if (prior_.blocks[l].kind != Block::Kind::held) {
        take_root(at, s.precision[l]);
      }
    }
    take(at, s.log_b);
    if (s.log_b.size() > 0) s.log_slab = *at++;
    for (Index k = 0; k < s.log_odds.size(); ++k) {
      const double moved = *at++ / kOddsWeight;
      if (std::abs(s.log_odds[k]) < kClip) {
        s.log_odds[k] = std::clamp(moved, -kClip, kClip);
      }
    }
    if (s.hole_center.size() > 0) {
      take(at, s.hole_center);
      take_root(at, s.hole_precision);
    }
    take(at, s.hole_scale);
    s.hole_scale = s.hole_scale.array().exp().matrix().eval();
    const Index p = s.curvature.gram.rows();
    for (Index c = 0; c < p; ++c) {
      double* column = s.curvature.gram.data() + c * p;
      std::copy_n(at, p - c, column + c);
      at += p - c;
    }
    take(at, s.curvature.cross);
    take(at, s.curvature.group_gram);
  }

 private:
  // Log odds move far and matter little: weight and clip of svm.md section 11.
  static constexpr double kOddsWeight = 0.1;
  static constexpr double kClip = 30.0;

  template <class M>
  void put(const M& m) {
    values_.insert(values_.end(), m.data(), m.data() + m.size());
  }
  template <class M>
  static void take(const double*& at, M& m) {
    std::copy_n(at, m.size(), m.data());
    at += m.size();
  }

  void put_root(const MatrixXd& a) {
    const MatrixXd root = Eigen::LLT<MatrixXd>(a).matrixL();
    for (Index c = 0; c < root.cols(); ++c) {
      values_.push_back(std::log(root(c, c)));
      for (Index k = c + 1; k < root.rows(); ++k) values_.push_back(root(k, c));
    }
  }
  static void take_root(const double*& at, MatrixXd& a) {
    MatrixXd root = MatrixXd::Zero(a.rows(), a.cols());
    for (Index c = 0; c < root.cols(); ++c) {
      root(c, c) = std::exp(*at++);
      for (Index k = c + 1; k < root.rows(); ++k) root(k, c) = *at++;
    }
    a.noalias() = root * root.transpose();
  }

  const Prior& prior_;
  std::vector<double> values_;
};

}  // namespace bayeskernel

#endif
