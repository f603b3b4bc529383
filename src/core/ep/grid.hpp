// The variances integrated over: log Z + log prior of x (hyperparameters.hpp).
// Up to three on the points of a grid about the mode, along the axes of its
// Hessian and as far as the density reaches. The sum over a grid of a smooth
// density is wrong by exp(-2 pi^2 / step^2), step in standard deviations, so
// few points will do, and a long tail is followed where it goes. More of them
// on points that are spread over all axes at once (scatter.hpp), which weigh by
// the density over that of the points; along each axis that of the points is
// learned from a line through the mode.
#pragma once

#include <array>
#include <map>

#include "eigen.hpp"
#include "ep/fit.hpp"
#include "ep/grid_states.hpp"
#include "ep/group_evidence.hpp"
#include "ep/hyperparameters.hpp"
#include "ep/left_out_means.hpp"
#include "ep/mixture.hpp"
#include "ep/mode.hpp"
#include "ep/settle.hpp"
#include "ep/sites.hpp"
#include "likelihood/family.hpp"

namespace bayeskernel {
struct GridSettings {
  double step = 0.0;  // in standard deviations
  double drop = 0.0;  // nats below the mode where the grid ends
  int most = 0;       // points

  static GridSettings of(Index parameters);
  // Where points are dear: with two variances, and 20,000 or 300,000 groups,
  // estimates moved by 0.002 and their deviations by 0.0015 of themselves, the
  // log evidence by 0.03, for five points in eight.
  GridSettings thin() const {
    return {std::max(step, 1.5), std::min(drop, 6.5), most};
  }
};

struct EpPoint {
  VectorXd x;
  double log_z = 0.0;
  double log_density = 0.0;  // log Z + log prior of x
  double missed = 0.0;       // of groups, at the mean, and not part of these
  double log_cell = 0.0;     // of scattered points: minus that of the points
  std::array<int, GridStates::kMost> place{};  // on a grid
  std::vector<MatrixXd> precision;
  double noise_variance = 1.0;
  bool converged = false;
  LinearMoments moments;  // of groups: where there is room
};

class EpGrid {
 public:
  static constexpr Index kMost = 8;  // parameters

  // `by_group`: points weigh by the evidence of whole groups where that applies
  // (group_evidence.hpp). `left_out` sees all points. `rows`: with moments of
  // rows.
  EpGrid(EpFit& fit, const Hyperparameters& hyper, bool by_group = false,
         LeftOutMeans* left_out = nullptr, bool rows = true);

  bool by_group() const { return groups_.has_value() && weigh_groups_; }
  // By how much the evidence of groups that is not part of the weights would
  // move a coordinate, in standard deviations, the largest; NaN: not known.
  double missed_shift() const;

  // Numbers that all points together may hold of groups, and of messages, of
  // which those are kept in any case that points on lines are started from.
  double room = 2e7;
  // Instead of the one that the number of variances and the room ask for.
  std::optional<GridSettings> grid_settings;
  bool scattered = false;  // points, however few the variances

  void run(const EpSettings& settings);

  // The fit as it was at the mode.
  void return_to_mode();

  const std::vector<EpPoint>& points() const { return points_; }
  std::vector<EpPoint> take_points() { return std::move(points_); }
  const PosteriorMixture& mixture() const { return mixture_; }
  int passes() const { return passes_; }
  // Of the mode.
  double change() const { return change_; }
  const SiteRows& sites() const { return sites_; }

  // Whether they are those of a grid, by its steps.
  bool is_grid() const {
    return !scattered && hyper_.size() <= GridStates::kMost;
  }

  // Their sum is one.
  VectorXd weights() const;
  // As many points of equal weight would be worth as much.
  double effective() const;
  // log p(y) with the prior density of x.
  double log_evidence() const;
  // Whether the points that matter did converge.
  bool converged() const;

 private:
  using Place = GridStates::Place;

  // Beside that of the first point, the mode, of a grid.
  double weight_of(const EpPoint& point) const;

  // log Z + log prior.
  double evaluate(const VectorXd& x, double tolerance);
  HyperValue with_gradient(const VectorXd& x, double tolerance);

  // First EP in VB, which comes near from anywhere.
  void find_mode();

  // Forward differences: a scale and directions are all that is asked for.
  void set_axes();

  void lay_out();

  // Half the step along axes on which less than 0.7 of the points matter that
  // would of a normal density with the curvature of the mode: what sites miss
  // of groups, or a long tail, may make it narrower than that says.
  void refine();
  Place too_wide() const;

  // From the likeliest of the points that are known, as long as it is likely.
  void scatter_best();

  // Along the line through a point, and from each of its points along such a
  // line of the axis before: so a few states are all that is asked for again.
  void walk_lines(Index axis, const Place& from);

  bool is_likely(int number) const {
    return points_[number].log_density >= best_ - grid_.drop;
  }

  // Whether the place is beyond where two points on a line say that the density
  // has ended: it falls ever faster, as a rule.
  bool is_beyond(const Place& place) const;

  const EpPoint* point(const Place& place) const;

  // Numbers of the covariances of groups, and of the states of all points.
  double loading_size() const;
  bool roomy() const;

  // To a neighbour, unless it was visited or is not worth it; whether a point
  // was added.
  bool step(int from, Index axis, int side);

  // One step from a point that is known.
  bool visit(const Place& place, int parent, Index axis, int side);

  // Log Z + log prior, with what sites miss of groups.
  struct Density {
    double value = -std::numeric_limits<double>::infinity();
    GroupEvidence::Missed missed;
    double unused = 0.0;  // of these
  };
  // `below`: by how much less likely than the mode x is, as far as known: what
  // weighs little may be less exact. Not finite: there is none, which the mode
  // may not say.
  Density density(const VectorXd& x, double below, double missed_axes,
                  bool must = false);

  // The fit as it is becomes a point.
  void record(const VectorXd& x, const Density& found, double log_cell,
              const Place& place);

  // --- many variances
  // ---------------------------------------------------------

  // A line along an axis: places in its units, log densities, states.
  struct Line {
    std::vector<double> at, value, missed_axes;
    std::vector<EpState> state;
  };

  // Axes that whiten, as near to those of the variances as may be: a variance
  // that may be 0 has a long tail of its own.
  void set_near_axes(const MatrixXd& hessian, double longest);

  void scatter();

  Index count() const { return roomy() ? 40 + 22 * hyper_.size() : 100; }

  // Messages of gaussian rows are known beforehand.
  bool family_moves() const { return fit_.family() != Family::gaussian; }

  // Both ways from the mode with steps that grow, as far as the density
  // reaches.
  Line walk(Index axis, const Density& mode);

  // What the lines say of a point between them, all of whose differences from
  // the mode add up.
  struct Guess {
    double below = 0.0, missed_axes = 0.0;
  };
  Guess begin_at(const std::vector<Line>& lines, const VectorXd& z,
                 const Density& mode);

  // All points have moments of their groups, or none.
  void drop_groups();

  static constexpr double kLeastCurvature = 0.1, kFlatten = 0.8, kDrop = 8.0;
  static constexpr int kFarthest = 9;  // steps of a line

  EpFit& fit_;
  const Hyperparameters& hyper_;
  LeftOutMeans* left_out_;
  bool rows_;
  EpSettings settings_;
  std::optional<GroupEvidence> groups_;
  bool weigh_groups_ = false;
  std::vector<double> missed_axes_;  // by point
  EpResult result_;
  HyperMode mode_;
  MatrixXd axes_;
  std::vector<EpPoint> points_;
  std::vector<Place> places_;
  GridStates states_;
  std::map<Place, int> number_;
  PosteriorMixture mixture_;
  SiteRows sites_;
  GridSettings grid_;
  // Of the log density.
  double best_ = -std::numeric_limits<double>::infinity();
  bool keep_ = true;         // states
  bool with_groups_ = true;  // moments of points
  EpState start_;            // of a point
  int passes_ = 0;
  double change_ = 0.0, failed_ = 0.0;
};
}  // namespace bayeskernel
