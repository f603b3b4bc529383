// Mean-field fit of the hinge engine: coordinate ascent (svm.md section 4),
// whose step in the mean is taken with the exact curvature of the bound
// instead of the conditional precision, and which Anderson's method then
// extrapolates. Every state is a proper q, so its bound is exact: a step that
// lowers it is taken back, and a plain coordinate step cannot lower it.
#ifndef BAYESKERNEL_HINGE_MEAN_FIELD_HPP
#define BAYESKERNEL_HINGE_MEAN_FIELD_HPP

#include <Eigen/Core>
#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "ascent.hpp"
#include "blocks.hpp"
#include "gaussian.hpp"
#include "mean_field_pass.hpp"
#include "system.hpp"

namespace bayeskernel {

// Where an iteration may start: a point, the curvature kappa (x, z)(x, z)'
// around it and the precisions of the blocks.
struct MeanFieldStart {
  ArrowVector mean;
  Curvature curvature;
  std::vector<MatrixXd> precision;
};

class MeanFieldFit {
 public:
  // Without `row_moments` nothing of the size of the data is kept.
  MeanFieldFit(const RowSource& rows, const Prior& prior, Executor& executor,
               bool row_moments = true)
      : rows_(rows),
        prior_(prior),
        p_(rows.x_columns()),
        r_(rows.z_columns()),
        groups_(rows.groups()),
        pass_(rows, executor),
        system_(p_, r_, groups_),
        step_system_(p_, r_, groups_),
        q_(p_, r_, groups_),
        trial_(p_, r_, groups_),
        accepted_(p_, r_, groups_),
        step_(p_, r_, groups_),
        pull_(p_, r_, groups_),
        blended_(p_, r_, groups_),
        mean_(VectorXd::Zero(row_moments ? rows.rows() : 0)),
        variance_(VectorXd::Zero(row_moments ? rows.rows() : 0)),
        variances_(prior.blocks.size()) {}

  // `warm`, if given, replaces the start c = 1 and the pass that it takes.
  MeanFieldResult run(const MeanFieldSettings& settings,
                      const KeepGoing& keep_going,
                      const MeanFieldStart* warm = nullptr) {
    MeanFieldResult result;
    pass_.watch([&](double share) {
      return keep_going({result.passes + share,
                         static_cast<double>(settings.max_passes), "vb"});
    });
    try {
      warm_ = warm;
      start(result);
      moments_current_ = ascend(*this, settings, keep_going, result);
    } catch (const PassInterrupted&) {
      result.interrupted = true;
    }
    finish();
    return result;
  }

  // The fit: q(theta, u), the variances' q, moments of f by row.
  const GaussianPosterior& posterior() const { return q_; }
  const ArrowSystem& system() const { return system_; }
  const std::vector<BlockPosterior>& variances() const { return variances_; }
  // E[1/sigma^2], E[Psi^-1] under which q(theta, u) was formed.
  const std::vector<MatrixXd>& precisions() const { return precision_; }
  const VectorXd& mean() const { return mean_; }
  const VectorXd& variance() const { return variance_; }
  // From where another fit of these columns may start.
  MeanFieldStart state() const {
    return {q_.mean, accepted_.em, precision_};
  }
  // Passes are run elsewhere (mean_field_pass.hpp).
  void delegate(RemotePass remote) { pass_.delegate(std::move(remote)); }
  // The smallest y E f of all rows.
  double margin() const { return accepted_.margin; }

 private:
  template <class Model>
  friend bool ascend(Model& model, const MeanFieldSettings& settings,
                     const KeepGoing& keep_going, MeanFieldResult& result);

  // State: theta, u, log-Cholesky of the blocks' precisions (the coordinates
  // that steer the extrapolation), then the curvature.
  Index precision_coordinates() const {
    Index count = 0;
    for (const Block& block : prior_.blocks) {
      if (block.kind != Block::Kind::held) {
        count += block.width * (block.width + 1) / 2;
      }
    }
    return count;
  }
  Index coordinates() const {
    return p_ + r_ * groups_ + precision_coordinates();
  }
  Index state_size() const {
    return coordinates() + p_ * (p_ + 1) / 2 + (p_ + r_) * r_ * groups_;
  }

  void pack(const ArrowVector& point, const std::vector<MatrixXd>& precision,
            const Curvature& curvature, VectorXd& state) const {
    state.resize(state_size());
    double* to = state.data();
    to = std::copy_n(point.x.data(), p_, to);
    to = std::copy_n(point.group.data(), r_ * groups_, to);
    for (std::size_t l = 0; l < prior_.blocks.size(); ++l) {
      if (prior_.blocks[l].kind == Block::Kind::held) continue;
      const MatrixXd root = Eigen::LLT<MatrixXd>(precision[l]).matrixL();
      for (Index c = 0; c < root.cols(); ++c) {
        *to++ = std::log(root(c, c));
        for (Index k = c + 1; k < root.rows(); ++k) *to++ = root(k, c);
      }
    }
    for (Index c = 0; c < p_; ++c) {
      to = std::copy_n(curvature.gram.data() + c * p_ + c, p_ - c, to);
    }
    to = std::copy_n(curvature.cross.data(), curvature.cross.size(), to);
    std::copy_n(curvature.group_gram.data(), curvature.group_gram.size(), to);
  }

  void unpack(const VectorXd& state) {
    const double* from = state.data();
    const auto take = [&](double* to, Index count) {
      std::copy_n(from, count, to);
      from += count;
    };
    take(q_.mean.x.data(), p_);
    take(q_.mean.group.data(), r_ * groups_);
    for (std::size_t l = 0; l < prior_.blocks.size(); ++l) {
      if (prior_.blocks[l].kind == Block::Kind::held) continue;
      const Index r = precision_[l].rows();
      MatrixXd root = MatrixXd::Zero(r, r);
      for (Index c = 0; c < root.cols(); ++c) {
        root(c, c) = std::exp(*from++);
        for (Index k = c + 1; k < root.rows(); ++k) root(k, c) = *from++;
      }
      precision_[l].noalias() = root * root.transpose();
    }
    for (Index c = 0; c < p_; ++c) {
      take(blended_.gram.data() + c * p_ + c, p_ - c);
    }
    take(blended_.cross.data(), blended_.cross.size());
    take(blended_.group_gram.data(), blended_.group_gram.size());
  }

  // By default c = 1, unit precisions, and the mean that they imply.
  void start(MeanFieldResult& result) {
    precision_ = warm_ != nullptr ? warm_->precision : prior_.start();
    next_precision_ = precision_;
    if (warm_ != nullptr) {
      pack(warm_->mean, precision_, warm_->curvature, state_);
      accepted_state_ = state_;
      return;
    }
    q_.mean.x.setZero();
    q_.mean.group.setZero();
    pack(q_.mean, precision_, accepted_.em, accepted_state_);
    pass_.run(nullptr, false, accepted_);
    ++result.passes;
    pack(q_.mean, precision_, accepted_.em, accepted_state_);
    propose(1.0, state_);
  }

  // Another start, if there is one, when the first was no proper q.
  bool restart(MeanFieldResult& result) {
    if (warm_ == nullptr) return false;
    warm_ = nullptr;
    start(result);
    return true;
  }

  // Bound and sums at the state; false when the state is no proper q.
  bool evaluate(bool with_newton) {
    try {
      unpack(state_);
      system_.factor(blended_, prior_, precision_);
    } catch (const NumericError&) {
      trial_bound_ = -std::numeric_limits<double>::infinity();
      return false;
    }
    q_.set_covariance(system_);
    double bound =
        0.5 * q_.log_det() + 0.5 * static_cast<double>(p_ + r_ * groups_);
    bound += prior_.fixed_bound(q_.mean.x, q_.theta_variance());
    trial_variances_.clear();
    trial_precision_.clear();
    for (std::size_t l = 0; l < prior_.blocks.size(); ++l) {
      const Block& block = prior_.blocks[l];
      const MatrixXd moment = q_.second_moment(block);
      trial_variances_.push_back(
          Prior::posterior(block, moment, precision_[l]));
      trial_precision_.push_back(
          Prior::expected_precision(block, trial_variances_.back()));
      bound += Prior::bound(block, trial_variances_.back(), moment,
                            precision_[l]);
      bound += 0.5 * static_cast<double>(block.hidden);
    }
    const bool keep = mean_.size() > 0;
    pass_.run(&q_, with_newton, trial_, keep ? mean_.data() : nullptr,
              keep ? variance_.data() : nullptr);
    trial_bound_ = bound + trial_.bound;
    return std::isfinite(trial_bound_);
  }

  void accept() {
    std::swap(accepted_, trial_);
    accepted_state_ = state_;
    next_precision_ = trial_precision_;
    variances_ = trial_variances_;
  }

  // The next plain state from the accepted sums: curvature and precisions by
  // coordinate ascent, the mean by a step of precision
  //   damping * conditional precision + (1 - damping) * exact curvature
  // (damping = 1 is the coordinate step). Returns the gain that the step in
  // the mean promises.
  double propose(double damping, VectorXd& proposal) {
    ArrowVector at(p_, r_, groups_);
    std::copy_n(accepted_state_.data(), p_, at.x.data());
    std::copy_n(accepted_state_.data() + p_, r_ * groups_, at.group.data());
    pull_ = accepted_.gradient;
    prior_.subtract_pull(next_precision_, at, pull_);
    if (damping < 1.0) {
      blend(accepted_.newton, accepted_.em, damping);
    } else {
      blended_ = accepted_.em;
    }
    step_system_.factor(blended_, prior_, next_precision_);
    step_system_.solve(pull_, step_);
    const double promise = 0.5 * pull_.dot(step_);
    at.x += step_.x;
    at.group += step_.group;
    pack(at, next_precision_, accepted_.em, proposal);
    return promise;
  }

  void blend(const Curvature& a, const Curvature& b, double weight) {
    blended_.gram = (1.0 - weight) * a.gram + weight * b.gram;
    blended_.cross = (1.0 - weight) * a.cross + weight * b.cross;
    blended_.group_gram = (1.0 - weight) * a.group_gram + weight * b.group_gram;
  }

  // Leaves q at the accepted state.
  void finish() {
    unpack(accepted_state_);
    system_.factor(blended_, prior_, precision_);
    q_.set_covariance(system_);
    if (!moments_current_ && mean_.size() > 0) {
      pass_.run(&q_, false, trial_, mean_.data(), variance_.data());
    }
  }

  const RowSource& rows_;
  const Prior& prior_;
  Index p_, r_, groups_;
  MeanFieldPass pass_;
  ArrowSystem system_, step_system_;
  GaussianPosterior q_;
  MeanFieldSums trial_, accepted_;
  ArrowVector step_, pull_;
  Curvature blended_;
  VectorXd mean_, variance_;
  VectorXd state_, accepted_state_;
  std::vector<MatrixXd> precision_, next_precision_, trial_precision_;
  std::vector<BlockPosterior> variances_, trial_variances_;
  const MeanFieldStart* warm_ = nullptr;
  double trial_bound_ = 0.0;
  bool moments_current_ = true;
};

}  // namespace bayeskernel

#endif
