// Random walks along many coordinates at once, whose covariance is learned
// during warmup (Haario, Saksman and Tamminen 2001, Bernoulli 7, 223-242).
#ifndef BAYESKERNEL_MCMC_LEARNED_STEP_HPP
#define BAYESKERNEL_MCMC_LEARNED_STEP_HPP

#include <Eigen/Cholesky>
#include <Eigen/Core>
#include <algorithm>
#include <cmath>
#include <vector>

namespace bayeskernel {

class LearnedStep {
 public:
  using Index = Eigen::Index;
  using VectorXd = Eigen::VectorXd;

  explicit LearnedStep(Index size)
      : mean_(VectorXd::Zero(size)),
        covariance_(kFirst * Eigen::MatrixXd::Identity(size, size)) {}

  Index size() const { return mean_.size(); }

  // Where the chain is: what was long ago counts less. size^2.
  void observe(const VectorXd& at) {
    if (seen_ == 0.0) mean_ = at;
    seen_ += 1.0;
    const double gain = std::max(1.0 / (seen_ + kEarly), kLeastGain);
    const VectorXd gap = at - mean_;
    mean_ += gain * gap;
    covariance_ *= 1.0 - gain;
    covariance_ += gain * (1.0 - gain) * gap * gap.transpose();
    fresh_ = false;
  }

  // From standard normal numbers a step of the learned covariance times
  // (2.38 sd)^2 / size, which is about the best one for sd = 1. size^2, and
  // size^3 / 6 after an observation.
  VectorXd step(const VectorXd& normal, double sd) {
    if (!fresh_) {
      root_ = covariance_;
      root_.diagonal().array() += kLeast;
      Eigen::LLT<Eigen::Ref<Eigen::MatrixXd>> factor(root_);
      fresh_ = true;
    }
    const double scale = 2.38 * sd / std::sqrt(static_cast<double>(size()));
    return root_.triangularView<Eigen::Lower>() * (scale * normal);
  }

  // All that was learned, in a row: as many numbers as numbers() says.
  std::vector<double> learned() const {
    std::vector<double> out{seen_};
    out.insert(out.end(), mean_.data(), mean_.data() + mean_.size());
    out.insert(out.end(), covariance_.data(),
               covariance_.data() + covariance_.size());
    return out;
  }
  Index numbers() const { return 1 + mean_.size() + covariance_.size(); }
  void restore(const std::vector<double>& learned) {
    seen_ = learned[0];
    std::copy_n(learned.data() + 1, mean_.size(), mean_.data());
    std::copy_n(learned.data() + 1 + mean_.size(), covariance_.size(),
                covariance_.data());
    fresh_ = false;
  }

 private:
  static constexpr double kFirst = 0.1;  // variance before the first
  static constexpr double kLeast = 1e-4;
  static constexpr double kEarly = 20.0;  // observations that it counts for
  static constexpr double kLeastGain = 5e-4;

  double seen_ = 0.0;
  VectorXd mean_;
  Eigen::MatrixXd covariance_, root_;
  bool fresh_ = false;
};

}  // namespace bayeskernel

#endif
