// The variances integrated over: log Z + log prior of x (hyperparameters.hpp)
// on the points of a lattice about the mode, along the axes of its Hessian and
// as far as the density reaches. The sum over a lattice of a smooth density is
// wrong by exp(-2 pi^2 / step^2), step in standard deviations, so few points
// will do, and a long tail is followed where it goes.
#ifndef BAYESKERNEL_EP_GRID_HPP
#define BAYESKERNEL_EP_GRID_HPP

#include <Eigen/Core>
#include <Eigen/Eigenvalues>
#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <map>
#include <optional>
#include <queue>
#include <utility>
#include <vector>

#include "fit.hpp"
#include "group_evidence.hpp"
#include "hyperparameters.hpp"
#include "left_out_means.hpp"
#include "mixture.hpp"
#include "mode.hpp"
#include "variational.hpp"

namespace bayeskernel {

struct GridSettings {
  double step = 0.0;  // in standard deviations
  double drop = 0.0;  // nats below the mode where the grid ends
  int most = 0;       // points

  static GridSettings of(Index parameters) {
    switch (parameters) {
      case 1: return {1.0, 8.5, 60};
      case 2: return {1.25, 8.0, 200};
      default: return {1.5, 6.5, 250};
    }
  }
};

struct EpPoint {
  VectorXd x;
  double log_z = 0.0;
  double log_density = 0.0;  // log Z + log prior of x
  std::vector<MatrixXd> precision;
  double noise_variance = 1.0;
  bool converged = false;
  LinearMoments moments;  // of groups: where there is room
};

class EpGrid {
 public:
  static constexpr Index kMost = 3;  // parameters

  // `by_group`: points weigh by the evidence of whole groups where that applies
  // (group_evidence.hpp). `left_out` sees all points. `rows`: with moments of
  // rows.
  EpGrid(EpFit& fit, const Hyperparameters& hyper, bool by_group = false,
         LeftOutMeans* left_out = nullptr, bool rows = true)
      : fit_(fit), hyper_(hyper), left_out_(left_out), rows_(rows) {
    if (by_group && GroupEvidence::applies(fit)) groups_.emplace(fit);
  }

  bool by_group() const { return groups_.has_value(); }

  // Numbers that all points together may hold of groups, and of messages, six
  // of which are kept in any case.
  double room = 2e7;

  void run(const EpSettings& settings) {
    settings_ = settings;
    find_mode();
    set_axes();
    spread();
  }

  // The fit as it was at the mode.
  void return_to_mode() {
    fit_.set(points_[0].precision, points_[0].noise_variance);
    fit_.restore(states_[0]);
    fit_.solve();
  }

  const std::vector<EpPoint>& points() const { return points_; }
  std::vector<EpPoint> take_points() { return std::move(points_); }
  const PosteriorMixture& mixture() const { return mixture_; }
  int passes() const { return passes_; }
  // Of the mode.
  double change() const { return change_; }
  const SiteRows& sites() const { return sites_; }

  // Their sum is one.
  VectorXd weights() const {
    VectorXd out(points_.size());
    for (Index j = 0; j < out.size(); ++j) {
      out[j] = std::exp(points_[j].log_density - points_[0].log_density);
    }
    return out / out.sum();
  }
  // log p(y) with the prior density of x.
  double log_evidence() const {
    return points_[0].log_density + std::log(mixture_.total()) +
           std::log(std::abs(axes_.determinant()));
  }
  // Whether the points that matter did converge.
  bool converged() const {
    const VectorXd w = weights();
    double lost = failed_;
    for (Index j = 0; j < w.size(); ++j) {
      if (!points_[j].converged) lost += w[j];
    }
    return lost < 0.01;
  }

 private:
  using Place = std::array<int, kMost>;

  // log Z + log prior.
  double evaluate(const VectorXd& x, double tolerance) {
    std::vector<MatrixXd> precision = fit_.precisions();
    double noise = fit_.noise_variance();
    hyper_.unpack(x, precision, noise);
    fit_.set(precision, noise);
    EpSettings settings = settings_;
    settings.tolerance = tolerance;
    fit_.progress(static_cast<double>(passes_),
                  static_cast<double>(settings_.max_passes));
    result_ = fit_.run(settings);
    passes_ += result_.passes;
    return fit_.log_z() + hyper_.log_prior(x);
  }
  HyperValue with_gradient(const VectorXd& x, double tolerance) {
    HyperValue out;
    out.value = evaluate(x, tolerance);
    out.gradient = hyper_.gradient(fit_, x);
    return out;
  }

  // First EP in VB, which comes near from anywhere.
  void find_mode() {
    EpSettings rough = settings_;
    rough.tolerance = std::max(settings_.tolerance, 0.02);
    passes_ += EpInVb(fit_, hyper_).run(rough, 0.1).passes;
    const VectorXd x = hyper_.pack(fit_.precisions(), fit_.noise_variance());
    const double tolerance = std::max(settings_.tolerance, 1e-3);
    mode_ = climb(
        [&](const VectorXd& at) { return with_gradient(at, tolerance); }, x,
        hyper_.inverse_curvature(x), 2e-3);
  }

  // Forward differences: a scale and directions are all that is asked for.
  void set_axes() {
    const Index d = hyper_.size();
    MatrixXd hessian(d, d);
    if (d == 1 && mode_.updates > 0) {
      hessian(0, 0) = 1.0 / mode_.inverse_hessian(0, 0);
    } else {
      const double tolerance = std::max(settings_.tolerance, 1e-3);
      for (Index k = 0; k < d; ++k) {
        const double step = 0.3 * std::sqrt(mode_.inverse_hessian(k, k));
        VectorXd x = mode_.x;
        x[k] += step;
        hessian.col(k) =
            (mode_.at.gradient - with_gradient(x, tolerance).gradient) / step;
      }
      hessian = (0.5 * (hessian + hessian.transpose())).eval();
    }
    constexpr double kLongest = 3.0;
    Eigen::SelfAdjointEigenSolver<MatrixXd> eigen(hessian);
    const GridSettings grid = GridSettings::of(d);
    axes_ = eigen.eigenvectors();
    for (Index k = 0; k < d; ++k) {
      const double curvature =
          std::max(eigen.eigenvalues()[k], 1.0 / (kLongest * kLongest));
      axes_.col(k) *= grid.step / std::sqrt(curvature);
    }
  }

  void spread() {
    const GridSettings grid = GridSettings::of(hyper_.size());
    using Entry = std::pair<double, int>;  // density, minus the number
    std::priority_queue<Entry> open;
    const Place origin{};
    visit(origin, -1, 0, 0);
    open.emplace(points_[0].log_density, 0);
    double best = points_[0].log_density;
    while (!open.empty()) {
      const auto [density, minus] = open.top();
      open.pop();
      if (density < best - grid.drop) break;
      const Place from = places_[-minus];
      for (Index k = 0; k < hyper_.size(); ++k) {
        for (int side : {1, -1}) {
          Place to = from;
          to[k] += side;
          if (number_.count(to) > 0 ||
              static_cast<int>(number_.size()) >= grid.most) {
            continue;
          }
          if (!visit(to, -minus, k, side)) continue;
          const int at = static_cast<int>(points_.size()) - 1;
          open.emplace(points_[at].log_density, -at);
          best = std::max(best, points_[at].log_density);
        }
      }
    }
  }

  // One step from a point that is known.
  bool visit(const Place& place, int parent, Index axis, int side) {
    VectorXd x = mode_.x;
    for (Index k = 0; k < x.size(); ++k) x += place[k] * axes_.col(k);
    double below = 0.0;
    if (parent >= 0) {
      below = points_[0].log_density - points_[parent].log_density;
      start_from(place, axis, side);
    }
    // What weighs little may be less exact.
    const double tolerance =
        settings_.tolerance * std::clamp(std::exp(0.5 * below), 1.0, 10.0);
    double value = -std::numeric_limits<double>::infinity();
    number_[place] = -1;
    try {
      value = evaluate(x, tolerance);
    } catch (const NumericError&) {
      if (points_.empty()) throw;
    }
    GroupEvidence::Missed missed;
    if (groups_ && std::isfinite(value)) {
      const bool axes = below < 1.0;
      missed = (*groups_)(axes);
      if (!axes) missed.axes = missed_axes_[parent];
      value += missed.sum();
    }
    if (!std::isfinite(value)) {
      failed_ += std::exp(-below);
      return false;
    }
    number_[place] = static_cast<int>(points_.size());
    places_.push_back(place);
    if (points_.empty()) {
      change_ = result_.change;
      if (rows_) sites_ = fit_.sites;
    }
    EpPoint point;
    point.x = x;
    point.log_z = fit_.log_z() + missed.sum();
    point.log_density = value;
    point.precision = fit_.precisions();
    point.noise_variance = fit_.noise_variance();
    point.converged = result_.converged;
    point.moments = linear_moments(fit_);
    points_.push_back(std::move(point));
    missed_axes_.push_back(missed.axes);
    const double weight = std::exp(value - points_[0].log_density);
    mixture_.add(points_.back().moments, weight, fit_.executor());
    if (rows_) mixture_.add_rows(fit_, weight);
    if (left_out_ != nullptr) left_out_->add(fit_, weight);
    const double loading =
        static_cast<double>(points_.back().moments.loading.size());
    if (static_cast<double>(points_.size()) * loading > room) {
      drop_groups();
    }
    const double size =
        2.0 * static_cast<double>(fit_.rows().rows()) + loading;
    const bool full =
        kept_ >= 6 && static_cast<double>(kept_ + 1) * size > room;
    // On a line the oldest but that of the mode makes room: no start misses one
    // if six are kept. Elsewhere those in the middle are worth more.
    const bool line = hyper_.size() == 1;
    if (full && line) states_[oldest_++] = EpState();
    states_.emplace_back();
    if (!full || line) states_.back() = fit_.state();
    if (!full) ++kept_;
    return true;
  }

  // All points have moments of their groups, or none.
  void drop_groups() {
    for (EpPoint& point : points_) {
      for (MatrixXd* m : {&point.moments.group_mean, &point.moments.group_cov,
                          &point.moments.loading, &point.moments.schur}) {
        m->resize(0, 0);
      }
    }
  }

  const EpState* state(const Place& place) const {
    const auto found = number_.find(place);
    if (found == number_.end() || found->second < 0) return nullptr;
    const EpState& out = states_[found->second];
    return out.kappa.size() > 0 ? &out : nullptr;
  }

  // The messages of the neighbour, extrapolated along the axis.
  void start_from(const Place& place, Index axis, int side) {
    std::array<const EpState*, 3> behind{};
    Place at = place;
    for (const EpState*& s : behind) {
      at[axis] -= side;
      s = state(at);
      if (s == nullptr) break;
    }
    if (behind[0] == nullptr) return;
    EpState next;
    if (behind[2] != nullptr && combine(behind, {3.0, -3.0, 1.0}, next)) {
      fit_.restore(next);
    } else if (behind[1] != nullptr &&
               combine(behind, {2.0, -1.0, 0.0}, next)) {
      fit_.restore(next);
    } else {
      fit_.restore(*behind[0]);
    }
  }

  // False where a message would lose its sign.
  static bool combine(const std::array<const EpState*, 3>& from,
                      const std::array<double, 3>& weight, EpState& out) {
    out = *from[0];
    scale(weight[0], out);
    for (std::size_t k = 1; k < 3; ++k) {
      if (weight[k] == 0.0) continue;
      const EpState& s = *from[k];
      out.kappa += weight[k] * s.kappa;
      out.b += weight[k] * s.b;
      out.curvature.gram += weight[k] * s.curvature.gram;
      out.curvature.cross += weight[k] * s.curvature.cross;
      out.curvature.group_gram += weight[k] * s.curvature.group_gram;
      out.shift.x += weight[k] * s.shift.x;
      out.shift.group += weight[k] * s.shift.group;
    }
    return (out.kappa.array() >= 0.2 * from[0]->kappa.array()).all();
  }

  static void scale(double factor, EpState& s) {
    s.kappa *= factor;
    s.b *= factor;
    s.curvature.gram *= factor;
    s.curvature.cross *= factor;
    s.curvature.group_gram *= factor;
    s.shift.x *= factor;
    s.shift.group *= factor;
  }

  EpFit& fit_;
  const Hyperparameters& hyper_;
  LeftOutMeans* left_out_;
  bool rows_;
  EpSettings settings_;
  std::optional<GroupEvidence> groups_;
  std::vector<double> missed_axes_;  // by point
  EpResult result_;
  HyperMode mode_;
  MatrixXd axes_;
  std::vector<EpPoint> points_;
  std::vector<Place> places_;
  std::vector<EpState> states_;
  std::map<Place, int> number_;
  PosteriorMixture mixture_;
  SiteRows sites_;
  std::size_t oldest_ = 1;  // of the states on a line, the mode's aside
  int passes_ = 0, kept_ = 0;
  double change_ = 0.0, failed_ = 0.0;
};

}  // namespace bayeskernel

#endif
