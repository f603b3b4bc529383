// One step of the structured mean-field fit over the columns in use: from a
// state to its q, the bound and the sums, and from those to the next state.
// Plain steps are the updates 1 to 6 of svm.md section 4 in their order.
// Accelerated ones take the step in the mean with the exact curvature of the
// bound instead of the conditional precision, and gamma from the sums at the
// new weights, because a long step makes the old ones a bad guide.
#ifndef BAYESKERNEL_BSVM_STRUCTURED_MAP_HPP
#define BAYESKERNEL_BSVM_STRUCTURED_MAP_HPP

#include <Eigen/Core>
#include <cmath>
#include <limits>
#include <memory>
#include <utility>
#include <vector>

#include "../error.hpp"
#include "../hinge/gaussian.hpp"
#include "../hinge/system.hpp"
#include "structured_active.hpp"
#include "structured_holes.hpp"
#include "structured_pass.hpp"
#include "structured_selection.hpp"
#include "structured_state.hpp"

namespace bayeskernel {

// What an evaluation leaves behind.
struct StructuredEvaluation {
  StructuredSums sums;
  SelectionPosterior selection;
  HolesPosterior holes;
  std::vector<BlockPosterior> variances;
  std::vector<MatrixXd> precision;  // for the next step
  VectorXd next_log_odds;
  VectorXd slack;  // share of Var v_k in E v_k^2: curvature of the Laplace law
  double bound = -std::numeric_limits<double>::infinity();
};

class StructuredMap {
 public:
  StructuredMap(ActiveModel model, const Selection& selection,
                const Holes& holes, Executor& executor)
      : model_(std::move(model)),
        p_(model_.rows->x_columns()),
        r_(model_.rows->z_columns()),
        groups_(model_.rows->groups()),
        selection_(selection, model_.hidden),
        layout_(model_.prior),
        pass_(*model_.rows, executor),
        system_(p_, r_, groups_),
        step_system_(p_, r_, groups_),
        q_(p_, r_, groups_),
        pull_(p_, r_, groups_),
        step_(p_, r_, groups_),
        scaled_(p_, r_, groups_),
        doubt_(VectorXd::Zero(p_)),
        trial_{sums(), {}, {}, {}, {}, {}, {}},
        accepted_{sums(), {}, {}, {}, {}, {}, {}} {
    if (holes.predictors() > 0) {
      holes_ = std::make_unique<HolesUpdate>(holes, model_.position,
                                             *model_.rows, executor);
    }
  }

  // c = 1, unit precisions, holes at their observed means, E gamma given.
  void start(double inclusion) {
    const Index k = selected();
    state.precision = model_.prior.start();
    state.mean = ArrowVector(p_, r_, groups_);
    state.curvature = Curvature(p_, r_, groups_);
    StructuredEvaluation& out = accepted_;
    out.precision = state.precision;
    out.selection.expected_b = VectorXd::Ones(k);
    // 1 stands for a probability that no factor can tell from it.
    const double odds = std::log(inclusion) - std::log1p(-inclusion);
    out.next_log_odds = VectorXd::Constant(k, std::min(odds, 40.0));
    out.selection.log_odds = out.next_log_odds;
    out.slack = VectorXd::Ones(k);
    state.log_b = state.log_odds = VectorXd::Zero(k);
    selection_.update_rho(VectorXd::Zero(0), out.selection);
    if (holes_) holes_->start(out.holes);
    pass_.run(nullptr, VectorXd(), doubt_, false, out.sums);
    if (holes_) {
      holes_->add_curvature(out.holes, out.sums.kappa, out.sums.em, nullptr);
    }
    accepted_state = state;
    propose(1.0);
  }

  // Bound and sums at `state`; false when the state is no proper q. `plain`
  // takes gamma in its place among the updates, `hold` leaves it alone.
  bool evaluate(bool plain, bool with_newton, bool hold = false) {
    StructuredEvaluation& out = trial_;
    out.bound = -std::numeric_limits<double>::infinity();
    try {
      if (!set_posterior()) return false;
      out.selection.log_odds = state.log_odds;
      if (plain && selected() > 0) {
        out.selection.rho_in = accepted_.selection.rho_in;
        out.selection.rho_out = accepted_.selection.rho_out;
        next_log_odds(accepted_.sums, out.selection, out.selection.log_odds);
      }
      double bound = 0.5 * q_.log_det() +
                     0.5 * static_cast<double>(p_ + r_ * groups_) +
                     model_.prior.fixed_bound(q_.mean.x, q_.theta_variance());
      bound += update_selection(out);
      bound += update_blocks(out);
      bound += update_holes(out);
      pass_.run(&q_, inclusion_, doubt_, with_newton, out.sums);
      out.bound = bound + out.sums.bound;
      if (holes_) {
        holes_->add_curvature(out.holes, out.sums.kappa, out.sums.em,
                              with_newton ? &out.sums.newton : nullptr);
      }
      out.next_log_odds = out.selection.log_odds;
      if (!plain && !hold && selected() > 0) {
        next_log_odds(out.sums, out.selection, out.next_log_odds);
      }
    } catch (const NumericError&) {
      return false;
    }
    return std::isfinite(out.bound);
  }

  void accept() {
    std::swap(accepted_, trial_);
    accepted_state = state;
  }

  // The next plain state from the accepted evaluation into `state`: sums and
  // factors by coordinate ascent, the mean by a step of precision
  //   damping * conditional precision + (1 - damping) * exact curvature
  // (damping = 1 is the coordinate step). Returns the gain that the step in
  // the mean promises.
  double propose(double damping) {
    const StructuredEvaluation& from = accepted_;
    const Index k_selected = selected();
    state.precision = from.precision;
    state.log_odds = from.next_log_odds;
    state.log_b = from.selection.expected_b.array().log();
    state.log_slab = std::log(from.selection.precision);
    state.curvature = from.sums.em;
    if (holes_) {
      state.hole_precision = from.holes.precision;
      state.hole_center = from.holes.center;
      state.hole_scale = holes_->scales(from.sums.kappa);
    }
    state.mean = accepted_state.mean;
    set_inclusion(state.log_odds);
    scale(from.sums.em, state.log_b, state.log_slab);
    // pull = gamma o h + h_0 - (A o Omega + Lambda) (theta, u).
    const VectorXd at = state.mean.x;
    pull_.x = -(scaled_.gram.selfadjointView<Eigen::Lower>() * at);
    pull_.group = from.sums.shift.group;
    if (k_selected > 0) {
      pull_.x += inclusion_.cwiseProduct(from.sums.shift.x);
    } else {
      pull_.x += from.sums.shift.x;
    }
    subtract_groups();
    model_.prior.subtract_pull(state.precision, state.mean, pull_);
    if (damping < 1.0) blend(from, damping);
    step_system_.factor(scaled_, model_.prior, state.precision);
    step_system_.solve(pull_, step_);
    state.mean.x += step_.x;
    state.mean.group += step_.group;
    return 0.5 * pull_.dot(step_);
  }

  // Takes over an accepted step of the same model on more columns: `columns`
  // and `chosen` are those kept, as positions there.
  void restrict(const StructuredMap& from, const std::vector<Index>& columns,
                const std::vector<Index>& chosen) {
    accepted_ = from.accepted_;
    accepted_state = from.accepted_state;
    StructuredEvaluation& a = accepted_;
    keep(columns, a.sums.em);
    keep(columns, a.sums.newton);
    keep(columns, a.sums.shift.x);
    keep(chosen, a.selection.log_odds);
    keep(chosen, a.selection.expected_b);
    keep(chosen, a.next_log_odds);
    keep(chosen, a.slack);
    keep(columns, accepted_state.mean.x);
    keep(chosen, accepted_state.log_b);
    keep(chosen, accepted_state.log_odds);
    keep(columns, accepted_state.curvature);
    state = accepted_state;
  }

  // Starts where the same model on fewer columns was accepted; those columns
  // are at `columns` and `chosen` here, the others are at zero.
  void widen(const StructuredMap& from, const std::vector<Index>& columns,
             const std::vector<Index>& chosen) {
    const MeanFieldState& old = from.accepted_state;
    state = old;
    state.mean.x = VectorXd::Zero(p_);
    state.log_b = state.log_odds = VectorXd::Zero(selected());
    state.curvature = Curvature(p_, r_, groups_);
    state.curvature.group_gram = old.curvature.group_gram;
    for (std::size_t k = 0; k < columns.size(); ++k) {
      const Index at = static_cast<Index>(k);
      state.mean.x[columns[k]] = old.mean.x[at];
      state.curvature.cross.row(columns[k]) = old.curvature.cross.row(at);
      for (std::size_t j = 0; j < columns.size(); ++j) {
        state.curvature.gram(columns[j], columns[k]) =
            old.curvature.gram(static_cast<Index>(j), at);
      }
    }
    for (std::size_t k = 0; k < chosen.size(); ++k) {
      state.log_b[chosen[k]] = old.log_b[static_cast<Index>(k)];
      state.log_odds[chosen[k]] = old.log_odds[static_cast<Index>(k)];
    }
  }

  // q(theta, u) of the accepted state.
  void finish() {
    state = accepted_state;
    set_posterior();
  }

  const ActiveModel& model() const { return model_; }
  const GaussianPosterior& posterior() const { return q_; }
  const ArrowSystem& system() const { return system_; }
  const StructuredEvaluation& accepted() const { return accepted_; }
  const StructuredEvaluation& trial() const { return trial_; }
  const HolesUpdate* holes() const { return holes_.get(); }
  const SelectionUpdate& selection() const { return selection_; }
  StateVector& layout() { return layout_; }
  // Whether the trial takes a column across E gamma = 1/2.
  bool decides() const {
    const VectorXd& before = accepted_.next_log_odds;
    const VectorXd& now = trial_.next_log_odds;
    return ((before.array() > 0.0) != (now.array() > 0.0)).any();
  }
  // The selection column, not `tried`, whose removal costs least in the bound
  // at the present weights, or -1 when all cost `limit`: gamma_k, v_k and b_k
  // go to their optimum without data, the other columns make up for it.
  Index weakest(const std::vector<bool>& tried, double limit) const {
    const SelectionPosterior& q = accepted_.selection;
    const VectorXd variance = q_.theta_variance();
    Index out = -1;
    for (Index k = 0; k < selected(); ++k) {
      if (tried[model_.chosen[k]] || q.log_odds[k] < 0.0) continue;
      const Index c = model_.selected[k];
      const double mu = accepted_state.mean.x[c], v = variance[c];
      const double cost = selection_.log_odds(q) + 0.5 * mu * mu / v +
                          0.5 * std::log(q.precision * v) +
                          0.5 * (1.0 - 1.0 / q.expected_b[k]);
      if (cost < limit) {
        limit = cost;
        out = k;
      }
    }
    return out;
  }
  Index selected() const { return static_cast<Index>(model_.selected.size()); }

  MeanFieldState state, accepted_state;

 private:
  static void keep(const std::vector<Index>& at, VectorXd& v) {
    for (std::size_t k = 0; k < at.size(); ++k) v[k] = v[at[k]];
    v.conservativeResize(static_cast<Index>(at.size()));
  }

  // Positions increase, so that the lower triangle stays one.
  static void keep(const std::vector<Index>& at, Curvature& c) {
    const Index p = static_cast<Index>(at.size());
    MatrixXd gram(p, p), cross(p, c.cross.cols());
    for (Index k = 0; k < p; ++k) {
      for (Index j = 0; j < p; ++j) gram(j, k) = c.gram(at[j], at[k]);
      cross.row(k) = c.cross.row(at[k]);
    }
    c.gram.swap(gram);
    c.cross.swap(cross);
  }

  StructuredSums sums() const {
    return StructuredSums(p_, r_, groups_, model_.rows->rows());
  }

  // E gamma by column of x, empty without selection.
  void set_inclusion(const VectorXd& log_odds) {
    if (selected() == 0) return;
    inclusion_ = VectorXd::Ones(p_);
    for (Index k = 0; k < selected(); ++k) {
      inclusion_[model_.selected[k]] = expit(log_odds[k]);
    }
  }

  // scaled_ = A o Omega, with the prior precision of the selection columns.
  void scale(const Curvature& a, const VectorXd& log_b, double log_slab) {
    scaled_ = a;
    if (selected() == 0) return;
    scaled_.gram = inclusion_.asDiagonal() * a.gram * inclusion_.asDiagonal();
    scaled_.cross = inclusion_.asDiagonal() * a.cross;
    for (Index k = 0; k < selected(); ++k) {
      const Index c = model_.selected[k];
      scaled_.gram(c, c) =
          inclusion_[c] * a.gram(c, c) + std::exp(log_b[k] + log_slab);
    }
  }

  void subtract_groups() {
    if (groups_ == 0) return;
    const ArrowVector& at = state.mean;
    if (p_ > 0) {
      const Eigen::Map<const VectorXd> u(at.group.data(), r_ * groups_);
      pull_.x.noalias() -= scaled_.cross * u;
      Eigen::Map<VectorXd>(pull_.group.data(), r_ * groups_).noalias() -=
          scaled_.cross.transpose() * at.x;
    }
    for (Index g = 0; g < groups_; ++g) {
      pull_.group.col(g).noalias() -=
          scaled_.group_gram.middleCols(g * r_, r_) * at.group.col(g);
    }
  }

  // scaled_ becomes the matrix of the step in the mean.
  void blend(const StructuredEvaluation& from, double damping) {
    const double w = 1.0 - damping;
    const Curvature& n = from.sums.newton;
    if (selected() == 0) {
      scaled_.gram += w * (n.gram - from.sums.em.gram);
      scaled_.cross += w * (n.cross - from.sums.em.cross);
    } else {
      // gamma's own variance and the prior stay on the diagonal.
      const MatrixXd change = n.gram - from.sums.em.gram;
      scaled_.gram +=
          w * (inclusion_.asDiagonal() * change * inclusion_.asDiagonal());
      scaled_.cross +=
          w * (inclusion_.asDiagonal() * (n.cross - from.sums.em.cross));
      for (Index k = 0; k < selected(); ++k) {
        const Index c = model_.selected[k];
        scaled_.gram(c, c) -= w * (1.0 - from.slack[k]) *
                              std::exp(state.log_b[k] + state.log_slab);
      }
    }
    scaled_.group_gram += w * (n.group_gram - from.sums.em.group_gram);
  }

  bool set_posterior() {
    set_inclusion(state.log_odds);
    scale(state.curvature, state.log_b, state.log_slab);
    system_.factor(scaled_, model_.prior, state.precision);
    q_.mean = state.mean;
    q_.set_covariance(system_);
    if (selected() > 0 || holes_) covariance_ = q_.theta_covariance();
    return q_.mean.x.allFinite();
  }

  // Step 2, in the order of the columns, always with the newest E gamma.
  void next_log_odds(const StructuredSums& sums, const SelectionPosterior& q,
                     VectorXd& log_odds) {
    MatrixXd a = sums.em.gram.selfadjointView<Eigen::Lower>();
    VectorXd in = inclusion_;
    VectorXd group_part = VectorXd::Zero(p_);
    if (groups_ > 0) {
      const Eigen::Map<const VectorXd> u(q_.mean.group.data(), r_ * groups_);
      const MatrixXd product =
          sums.em.cross * system_.loading().transpose();
      group_part = q_.mean.x.cwiseProduct(sums.em.cross * u) -
                   product.cwiseProduct(covariance_).rowwise().sum();
    }
    const double prior = selection_.log_odds(q);
    const VectorXd& mu = q_.mean.x;
    VectorXd in_mu = in.cwiseProduct(mu);
    for (Index k = 0; k < selected(); ++k) {
      const Index c = model_.selected[k];
      const double second = covariance_(c, c) + mu[c] * mu[c];
      const double others =
          (a.col(c).array() * covariance_.col(c).array() * in.array()).sum() +
          mu[c] * a.col(c).dot(in_mu) - a(c, c) * second * in[c];
      log_odds[k] = prior + mu[c] * sums.shift.x[c] - 0.5 * a(c, c) * second -
                    others - group_part[c];
      in[c] = expit(log_odds[k]);
      in_mu[c] = in[c] * mu[c];
    }
  }

  double update_selection(StructuredEvaluation& out) {
    if (selected() + model_.hidden == 0) return 0.0;
    set_inclusion(out.selection.log_odds);
    VectorXd second(selected()), in(selected());
    out.slack.resize(selected());
    for (Index k = 0; k < selected(); ++k) {
      const Index c = model_.selected[k];
      const double mu = q_.mean.x[c];
      second[k] = covariance_(c, c) + mu * mu;
      out.slack[k] = covariance_(c, c) / second[k];
      in[k] = inclusion_[c];
      // Beyond a log odds of 40, E gamma is 1 to the last digit.
      const double l = out.selection.log_odds[k];
      doubt_[c] = l < 40.0 ? in[k] * expit(-l) * second[k] : 0.0;
    }
    selection_.update(second, in, std::exp(state.log_slab), out.selection);
    return selection_.bound(second, out.selection);
  }

  double update_blocks(StructuredEvaluation& out) const {
    double bound = 0.0;
    out.variances.clear();
    out.precision.clear();
    for (std::size_t l = 0; l < model_.prior.blocks.size(); ++l) {
      const Block& block = model_.prior.blocks[l];
      const MatrixXd moment = q_.second_moment(block);
      out.variances.push_back(
          Prior::posterior(block, moment, state.precision[l]));
      out.precision.push_back(
          Prior::expected_precision(block, out.variances.back()));
      bound += Prior::bound(block, out.variances.back(), moment,
                            state.precision[l]);
      bound += 0.5 * static_cast<double>(block.hidden);
    }
    return bound;
  }

  double update_holes(StructuredEvaluation& out) {
    if (!holes_) return 0.0;
    if (selected() == 0 && inclusion_.size() == 0) ones_.setOnes(p_);
    const EffectMoments effect{q_, system_, covariance_,
                               selected() > 0 ? inclusion_ : ones_};
    holes_->update(effect, state.hole_scale, state.hole_precision,
                   state.hole_center, out.holes);
    return out.holes.bound;
  }

  ActiveModel model_;
  Index p_, r_, groups_;
  SelectionUpdate selection_;
  StateVector layout_;
  StructuredPass pass_;
  ArrowSystem system_, step_system_;
  GaussianPosterior q_;
  ArrowVector pull_, step_;
  Curvature scaled_;
  MatrixXd covariance_;
  VectorXd inclusion_, doubt_, ones_;
  std::unique_ptr<HolesUpdate> holes_;
  StructuredEvaluation trial_, accepted_;
};

}  // namespace bayeskernel

#endif
