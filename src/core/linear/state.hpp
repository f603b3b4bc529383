// What one step of a mean-field fit starts from, as numbers that an
// extrapolation may move: every value is a proper q (logarithms of positive
// numbers, Cholesky factors of precisions).
#pragma once

#include "eigen.hpp"
#include "prior/blocks.hpp"
#include "rows/sums.hpp"

namespace bayeskernel {
struct MeanFieldState {
  ArrowVector mean;                 // of theta, u
  std::vector<MatrixXd> precision;  // E[1/sigma^2], E[Psi^-1] by block
  double noise = 1.0;               // E[1/v] of Gaussian rows
  VectorXd log_b, log_odds;         // of E b, gamma: selection columns
  double log_slab = 0.0;            // of E[1/sigma_v^2]
  MatrixXd missing_precision;       // O
  VectorXd missing_center;          // m_x
  VectorXd missing_scale;           // c of the rows with missing values
  Curvature curvature;              // A
};

// The same as one vector: first the coordinates that steer an extrapolation,
// then what only follows.
class StateVector {
 public:
  // `noise`: whether that of Gaussian rows is learned.
  explicit StateVector(const Prior& prior, bool noise = false)
      : prior_(prior), noise_(noise) {}

  // Number of coordinates that steer; `out` receives all.
  Index pack(const MeanFieldState& s, VectorXd& out) const;

  // Into `s`, which has the sizes and, for log odds beyond the clip, the
  // values that stay.
  void unpack(const VectorXd& from, MeanFieldState& s) const;

 private:
  // Log odds move far and matter little.
  static constexpr double kOddsWeight = 0.1;
  static constexpr double kClip = 30.0;
  static constexpr double kMostNoise = 1000.0;  // factor of an extrapolation

  static Index root_size(Index r) { return r * (r + 1) / 2; }

  bool learned(std::size_t l) const {
    return prior_.blocks[l].kind != Block::Kind::held;
  }

  Index size(const MeanFieldState& s) const;

  template <class M>
  static void put(double*& to, const M& m) {
    to = std::copy_n(m.data(), m.size(), to);
  }
  template <class M>
  static void take(const double*& at, M& m) {
    std::copy_n(at, m.size(), m.data());
    at += m.size();
  }

  static void put_root(double*& to, const MatrixXd& a);
  static void take_root(const double*& at, MatrixXd& a);

  const Prior& prior_;
  bool noise_;
};
}  // namespace bayeskernel
