#include "mcmc/learned_step.hpp"

namespace bayeskernel {
LearnedStep::LearnedStep(Index size)
    : mean_(VectorXd::Zero(size)),
      covariance_(kFirst * MatrixXd::Identity(size, size)) {}

void LearnedStep::observe(const VectorXd& at) {
  if (seen_ == 0.0) mean_ = at;
  seen_ += 1.0;
  const double gain = std::max(1.0 / (seen_ + kEarly), kLeastGain);
  const VectorXd gap = at - mean_;
  mean_ += gain * gap;
  covariance_ *= 1.0 - gain;
  covariance_ += gain * (1.0 - gain) * gap * gap.transpose();
  fresh_ = false;
}

VectorXd LearnedStep::step(const VectorXd& normal, double sd) {
  if (!fresh_) {
    root_ = covariance_;
    root_.diagonal().array() += kLeast;
    Eigen::LLT<Eigen::Ref<MatrixXd>> factor(root_);
    fresh_ = true;
  }
  const double scale = 2.38 * sd / std::sqrt(static_cast<double>(size()));
  return root_.triangularView<Eigen::Lower>() * (scale * normal);
}

std::vector<double> LearnedStep::learned() const {
  std::vector<double> out{seen_};
  out.insert(out.end(), mean_.data(), mean_.data() + mean_.size());
  out.insert(out.end(), covariance_.data(),
             covariance_.data() + covariance_.size());
  return out;
}

void LearnedStep::restore(const std::vector<double>& learned) {
  seen_ = learned[0];
  std::copy_n(learned.data() + 1, mean_.size(), mean_.data());
  std::copy_n(learned.data() + 1 + mean_.size(), covariance_.size(),
              covariance_.data());
  fresh_ = false;
}
}  // namespace bayeskernel
