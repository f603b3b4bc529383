// Expectation propagation for the linear model at given block precisions and
// noise: q(theta, u) from the messages of the rows (sites.hpp) until these
// agree with the tilted moments. Log-concave rows keep every kappa >= 0, so
// that each pass is a positive definite solve.
#ifndef BAYESKERNEL_EP_FIT_HPP
#define BAYESKERNEL_EP_FIT_HPP

#include <Eigen/Core>
#include <algorithm>
#include <cmath>
#include <functional>
#include <utility>
#include <vector>

#include "optim/progress.hpp"
#include "prior/blocks.hpp"
#include "linear/gaussian.hpp"
#include "linear/conditional_variance.hpp"
#include "linear/system.hpp"
#include "ep/leave_one_out.hpp"
#include "ep/selection_sites.hpp"
#include "ep/settle.hpp"
#include "ep/site_pass.hpp"
#include "ep/sites.hpp"

namespace bayeskernel {

// Messages and their sums: from where a fit may go on, also as a combination
// of others, since all of it is linear in the messages.
struct EpState {
  VectorXd kappa, b;
  Curvature curvature;
  ArrowVector shift;  // sum (b - kappa offset) (x, z)
};

inline void add_state(const EpState& from, double weight, EpState& to) {
  to.kappa += weight * from.kappa;
  to.b += weight * from.b;
  to.curvature.gram += weight * from.curvature.gram;
  to.curvature.cross += weight * from.curvature.cross;
  to.curvature.group_gram += weight * from.curvature.group_gram;
  to.shift.x += weight * from.shift.x;
  to.shift.group += weight * from.shift.group;
}

// Messages of rows that others keep, and what goes with them: taken over from
// there, and handed over.
struct SiteMirror {
  std::function<void(SiteRows&)> pull;
  std::function<void(const SiteRows&)> push;
};

class EpFit {
 public:
  // `atoms`: rows are atoms of incomplete ones. `open`: their residuals are
  // multiples of variances. `columns`: those whose prior is not Gaussian, with
  // messages that are part of `prior`, theirs.
  EpFit(const RowSource& rows, const Prior& prior, Executor& executor,
        Family family, const AtomUnits* atoms = nullptr,
        bool row_moments = true, OpenResiduals* open = nullptr,
        SelectionSites* columns = nullptr)
      : sites(rows.rows(), row_moments),
        rows_(rows),
        prior_(prior),
        family_(family),
        open_(open),
        columns_(columns),
        executor_(executor),
        shares_(family, atoms),
        pass_(rows, executor, family, sites, &shares_),
        rule_(pass_.rule),
        system_(rows.x_columns(), rows.z_columns(), rows.groups(), &executor),
        q_(rows.x_columns(), rows.z_columns(), rows.groups()),
        sums_(rows.x_columns(), rows.z_columns(), rows.groups()),
        pull_(rows.x_columns(), rows.z_columns(), rows.groups()),
        step_(pull_) {
    moments_.q = &q_;
    if (open_ != nullptr) {
      open_->set(prior.start());
      sites.residual_slope = VectorXd::Zero(rows.rows());
    }
    if (rows.rows() > 0) {
      MatrixXd buffer;
      rows.load(0, -1);
      residuals_ = rows.tile(rows.tiles()[0], buffer).residual.size() > 0;
    }
    set(prior.start(), 1.0);
  }
  EpFit(const EpFit&) = delete;
  EpFit& operator=(const EpFit&) = delete;

  SiteRows sites;
  // Of row_evidence.hpp. Numbers by row; neighbours of one number are one row
  // of the data. Empty: each row is its own.
  std::vector<Index> units;
  // Whether leave-one-out integrates the effects of groups anew.
  bool whole_groups = false;

  // Interrupts are asked for inside passes, too, and leave by PassInterrupted.
  void watch(KeepGoing keep_going) {
    keep_going_ = std::move(keep_going);
    pass_.watch([this](double) { return keep_going_(progress_); });
  }
  // Hands the passes to who keeps the rows, and their messages.
  void delegate(RemoteSites remote) {
    sites = SiteRows();
    pass_.delegate(std::move(remote));
  }
  // The same with a copy of the messages here, which follows each run, and which
  // a run begins with where it was changed.
  void delegate(RemoteSites remote, SiteMirror mirror) {
    mirror_ = std::move(mirror);
    pass_.delegate(std::move(remote));
  }
  const AtomUnits* atoms() const { return shares_.units(); }
  // What the user is told: units done of a total.
  void progress(double done, double total) {
    progress_ = {done, total, "ep"};
  }

  // Block precisions as Prior::start() has them; the noise of gaussian rows.
  void set(std::vector<MatrixXd> precision, double noise_variance) {
    precision_ = std::move(precision);
    if (open_ != nullptr) {
      open_->set(precision_);
      // The messages of gaussian rows are those of their residuals.
      if (family_ == Family::gaussian) started_ = false;
    }
    if (family_ == Family::gaussian) scale_noise(noise_variance);
    read_prior();
  }

  // From the messages at hand, or from the start. q is that of the last pass:
  // evidence, cavities and moments of rows belong to it, the messages are what
  // it makes of them.
  EpResult run(const EpSettings& settings) {
    EpResult result;
    if (!started_) start(result);
    EpSettings own = settings;
    if (columns_ != nullptr && own.damping == 0.0) own.damping = 0.5;
    if (changed_ && mirror_.push) mirror_.push(sites);
    changed_ = false;
    settle(rule_, family_, own, [&] { solve(); },
           [&](EpResult& pass) { step(pass); }, result);
    if (mirror_.pull) mirror_.pull(sites);
    return result;
  }

  // q from the messages. Moves the mean by S times the gradient at it, which
  // does not cancel as h does.
  void solve() {
    system_.factor(sums_.curvature, prior_, precision_);
    pull_ = sums_.linear;
    prior_.subtract_pull(precision_, q_.mean, pull_);
    system_.solve(pull_, step_);
    q_.mean.x += step_.x;
    q_.mean.group += step_.group;
    // There the rows pull as the prior does: no product needed.
    sums_.linear.x.setZero();
    sums_.linear.group.setZero();
    prior_.subtract_pull(precision_, q_.mean, sums_.linear);
    sums_.linear.x *= -1.0;
    sums_.linear.group *= -1.0;
    q_.set_covariance(system_);
  }

  // One pass: the messages from the tilted moments at q, and log Z at q.
  void step(EpResult& result) {
    ask();
    pass_.run(SiteStep::update, moments_, sums_);
    ++result.passes;
    result.change = std::max(rule_.change(), mean_change());
    log_z_ = sums_.bound + prior_part();
    if (columns_ != nullptr) {
      log_z_ += columns_->update(q_.mean.x, q_.theta_variance(), rule_.damping);
      result.change = std::max(result.change, columns_->change());
      read_prior();
    }
    if (!std::isfinite(log_z_)) {
      throw NumericError("the evidence of a pass is not finite");
    }
  }

  // Messages to start from: of another prior, say, or of other columns. Not
  // where passes are run elsewhere.
  void start_from(const VectorXd& kappa, const VectorXd& b) {
    sites.kappa = kappa;
    sites.b = b;
    q_.mean.x.setZero();
    q_.mean.group.setZero();
    ask();
    pass_.send(sums_);
    started_ = true;
  }

  EpState state() const {
    EpState out;
    save(out);
    return out;
  }
  // In the memory of `out`.
  void save(EpState& out) const {
    out.kappa = sites.kappa;
    out.b = sites.b;
    out.curvature = sums_.curvature;
    out.shift = sums_.linear;
    add_product(sums_.curvature, q_.mean, 1.0, out.shift);
  }
  void restore(EpState from) { take(from); }
  // `from` has other memory after it, and nothing of use in it.
  void take(EpState& from) {
    std::swap(sites.kappa, from.kappa);
    std::swap(sites.b, from.b);
    std::swap(sums_.curvature, from.curvature);
    std::swap(sums_.linear, from.shift);
    add_product(sums_.curvature, q_.mean, -1.0, sums_.linear);
    started_ = changed_ = true;
  }

  // A draw from N(0, S) for `rhs` of zeros (system.hpp).
  template <class Normal>
  void sample_noise(const ArrowVector& rhs, Normal&& normal, ArrowVector& out) {
    system_.sample(rhs, normal, out);
  }

  // The approximate log p(y | precisions, noise), of the last pass; not a
  // bound.
  double log_z() const { return log_z_; }
  // What the shares of atoms add to it.
  double atom_part() const { return rule_.atoms(); }
  // Sites stationary: d log Z / d log of the noise variance.
  double noise_slope() const {
    return 0.5 * (rule_.squares() / rule_.noise_variance - rule_.weight());
  }
  // sum w E(y - f)^2, sum w.
  double squares() const { return rule_.squares(); }
  double weight() const { return rule_.weight(); }

  const GaussianPosterior& posterior() const { return q_; }
  const ArrowSystem& system() const { return system_; }
  const std::vector<MatrixXd>& precisions() const { return precision_; }
  double noise_variance() const { return rule_.noise_variance; }
  const Prior& prior() const { return prior_; }
  const RowSource& rows() const { return rows_; }
  const OpenResiduals* open() const { return open_; }
  Executor& executor() const { return executor_; }
  Family family() const { return family_; }
  bool residuals() const { return residuals_; }

  VectorXd leave_one_out() const {
    return bayeskernel::leave_one_out(rows_, rule_, sites);
  }
  LeftOutMoments left_out_moments() const {
    return bayeskernel::left_out_moments(rows_, sites);
  }

 private:
  // log|Lambda|.
  void read_prior() {
    log_det_prior_ = 0.0;
    for (Index k = 0; k < prior_.columns(); ++k) {
      if (prior_.precision[k] > 0.0) {
        log_det_prior_ += std::log(prior_.precision[k]);
      }
    }
    for (std::size_t l = 0; l < prior_.blocks.size(); ++l) {
      log_det_prior_ += static_cast<double>(prior_.blocks[l].members) *
                        log_det(Eigen::LLT<MatrixXd>(precision_[l]));
    }
  }

  // The messages of gaussian rows are known.
  void scale_noise(double noise_variance) {
    const double factor = rule_.noise_variance / noise_variance;
    rule_.noise_variance = noise_variance;
    if (!started_ || factor == 1.0) return;
    if (residuals_) {
      started_ = false;
      return;
    }
    changed_ = true;
    for (VectorXd* v : {&sites.kappa, &sites.b, &sums_.linear.x}) *v *= factor;
    for (MatrixXd* m : {&sums_.curvature.gram, &sums_.curvature.cross,
                        &sums_.curvature.group_gram, &sums_.linear.group}) {
      *m *= factor;
    }
  }

  // By how much the new messages move the mean, in standard deviations: the
  // largest of theta, and the root mean square of all. Changes of many rows that
  // agree add up to more than that of any row.
  double mean_change() {
    pull_ = sums_.linear;
    prior_.subtract_pull(precision_, q_.mean, pull_);
    system_.solve(pull_, step_);
    const double size =
        static_cast<double>(pull_.x.size() + pull_.group.size());
    double change = std::sqrt(
        std::max(pull_.dot(step_), 0.0) / std::max(size, 1.0));
    if (pull_.x.size() > 0) {
      const VectorXd sd = q_.theta_variance().cwiseSqrt();
      change = std::max(
          change, (step_.x.array().abs() / sd.array()).maxCoeff());
    }
    return change;
  }

  void ask() const {
    if (keep_going_ && !keep_going_(progress_)) throw PassInterrupted();
  }

  void start(EpResult& result) {
    if (shares_.units() != nullptr) {
      sites.share = shares_.units()->log_prior.array().exp();
    }
    q_.mean.x.setZero();
    q_.mean.group.setZero();
    for (int k = 0; k < StartSites::passes(family_); ++k) {
      if (k > 0) solve();
      ask();
      pass_.run(k == 0 ? SiteStep::cold : SiteStep::warm, moments_, sums_);
      ++result.passes;
    }
    started_ = true;
    changed_ = false;
  }

  // (mu0'Lambda (mu - mu0) + log|S| + log|Lambda|) / 2.
  double prior_part() const {
    const VectorXd& mu0 = prior_.mean;
    const double shift =
        (prior_.precision.array() * mu0.array() * (q_.mean.x - mu0).array())
            .sum();
    return 0.5 * (shift + log_det_prior_ + q_.log_det());
  }

  const RowSource& rows_;
  const Prior& prior_;
  Family family_;
  OpenResiduals* open_;
  SelectionSites* columns_;
  Executor& executor_;
  AtomShares shares_;
  SitePass pass_;
  SiteRule& rule_;
  ArrowSystem system_;
  GaussianPosterior q_;
  Moments moments_;
  Sums sums_;
  ArrowVector pull_, step_;
  std::vector<MatrixXd> precision_;
  double log_det_prior_ = 0.0;
  double log_z_ = 0.0;
  bool started_ = false;
  bool residuals_ = false;
  bool changed_ = false;  // the messages, beside passes
  SiteMirror mirror_;
  KeepGoing keep_going_;
  Progress progress_{0.0, 0.0, "ep"};
};

}  // namespace bayeskernel

#endif
