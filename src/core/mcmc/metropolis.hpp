// Metropolis-Hastings steps: random walks whose width adapts during warmup, and
// a table of what was proposed and accepted after it.
#pragma once

#include "eigen.hpp"

namespace bayeskernel {
// Log ratio of what is never accepted.
constexpr double kNeverAccepted = -std::numeric_limits<double>::infinity();

// Steps of random walks on log scales, tuned during warmup to accept a share of
// them: 44 % is best along one coordinate, less along many.
class RandomWalkStep {
 public:
  explicit RandomWalkStep(double sd = 0.5, double target = 0.44)
      : log_sd_(std::log(sd)), target_(target) {}

  double sd() const { return std::exp(log_sd_); }
  double log_sd() const { return log_sd_; }
  void set_log_sd(double log_sd) { log_sd_ = log_sd; }

  void adapt(double log_ratio);

 private:
  double log_sd_, target_;
  double uses_ = 0.0;
};

// `Move`: an enumeration of the moves, closed by `count`.
template <class Move>
class AcceptanceTable {
 public:
  static constexpr int kMoves = static_cast<int>(Move::count);

  // During warmup walks adapt and nothing is counted.
  void set_warming(bool warming) { warming_ = warming; }

  bool decide(Move move, double log_ratio, double log_u) {
    const bool yes = log_u < log_ratio;
    if (!warming_) {
      counts_(static_cast<int>(move), 0) += 1.0;
      counts_(static_cast<int>(move), 1) += yes;
    }
    return yes;
  }
  bool walk(Move move, RandomWalkStep& step, double log_ratio, double log_u) {
    if (warming_) step.adapt(log_ratio);
    return decide(move, log_ratio, log_u);
  }

  // Proposed and accepted.
  const ArrayXXd& counts() const { return counts_; }

 private:
  ArrayXXd counts_ = ArrayXXd::Zero(kMoves, 2);
  bool warming_ = true;
};
}  // namespace bayeskernel
