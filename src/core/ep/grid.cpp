#include "ep/grid.hpp"

#include <queue>

#include "ep/scatter.hpp"
#include "ep/variational.hpp"
#include "error.hpp"
#include "math/decompositions.hpp"
#include "rows/rows.hpp"

namespace bayeskernel {
GridSettings GridSettings::of(Index parameters) {
  switch (parameters) {
    case 1:
      return {1.0, 8.5, 60};
    case 2:
      return {1.25, 8.0, 200};
    default:
      return {1.5, 6.5, 250};
  }
}

EpGrid::EpGrid(EpFit& fit, const Hyperparameters& hyper, bool by_group,
               LeftOutMeans* left_out, bool rows)
    : fit_(fit), hyper_(hyper), left_out_(left_out), rows_(rows) {
  if (!by_group || !GroupEvidence::at_mean_applies(fit)) return;
  groups_.emplace(fit);
  weigh_groups_ = GroupEvidence::applies(fit);
}

double EpGrid::missed_shift() const {
  if (by_group()) return 0.0;
  if (!groups_) return std::numeric_limits<double>::quiet_NaN();
  const VectorXd w = weights();
  VectorXd mean = VectorXd::Zero(hyper_.size()), square = mean, moved = mean;
  double total = 0.0;
  for (Index j = 0; j < w.size(); ++j) {
    const VectorXd x = points_[j].x - points_[0].x;
    const double more = w[j] * std::exp(points_[j].missed - points_[0].missed);
    mean += w[j] * x;
    square += w[j] * x.cwiseAbs2();
    moved += more * x;
    total += more;
  }
  const VectorXd sd = (square - mean.cwiseAbs2()).cwiseMax(1e-12).cwiseSqrt();
  return (moved / total - mean).cwiseAbs().cwiseQuotient(sd).maxCoeff();
}

void EpGrid::run(const EpSettings& settings) {
  settings_ = settings;
  find_mode();
  set_axes();
  if (is_grid()) {
    lay_out();
    refine();
  } else {
    scatter();
  }
  if (points_.empty() || !(mixture_.total() > 0.0)) {
    throw NumericError("no variances have a finite evidence");
  }
}

void EpGrid::return_to_mode() {
  const EpPoint& mode = points_.at(0);
  fit_.set(mode.precision, mode.noise_variance);
  if (const EpState* state = states_.find(Place{})) fit_.restore(*state);
  fit_.solve();
}

VectorXd EpGrid::weights() const {
  VectorXd out(points_.size());
  for (Index j = 0; j < out.size(); ++j) out[j] = weight_of(points_[j]);
  return out.size() > 0 ? VectorXd(out / out.sum()) : out;
}

double EpGrid::effective() const {
  const VectorXd w = weights();
  return w.size() > 0 ? 1.0 / w.squaredNorm() : 0.0;
}

double EpGrid::log_evidence() const {
  return points_.at(0).log_density + std::log(mixture_.total()) +
         std::log(std::abs(determinant(axes_)));
}

bool EpGrid::converged() const {
  const VectorXd w = weights();
  double lost = failed_;
  for (Index j = 0; j < w.size(); ++j) {
    if (!points_[j].converged) lost += w[j];
  }
  return lost < 0.01;
}

double EpGrid::weight_of(const EpPoint& point) const {
  return std::exp(point.log_density - points_[0].log_density + point.log_cell);
}

double EpGrid::evaluate(const VectorXd& x, double tolerance) {
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
  return fit_.log_z() + fit_.completion_part() + hyper_.log_prior(x);
}

HyperValue EpGrid::with_gradient(const VectorXd& x, double tolerance) {
  HyperValue out;
  out.value = evaluate(x, tolerance);
  out.gradient = hyper_.gradient(fit_, x);
  return out;
}

void EpGrid::find_mode() {
  EpSettings rough = settings_;
  rough.tolerance = std::max(settings_.tolerance, 0.02);
  passes_ += EpInVb(fit_, hyper_).run(rough, 0.1).passes;
  const VectorXd x = hyper_.pack(fit_.precisions(), fit_.noise_variance());
  const double tolerance = std::max(settings_.tolerance, 1e-3);
  mode_ =
      climb([&](const VectorXd& at) { return with_gradient(at, tolerance); }, x,
            hyper_.inverse_curvature(x, fit_.weight()), 2e-3);
}

void EpGrid::lay_out() {
  visit(Place{}, -1, 0, 0);
  if (!roomy()) {
    walk_lines(hyper_.size() - 1, Place{});
    keep_ = false;
  }
  scatter_best();
}

void EpGrid::refine() {
  if (!roomy() || points_.empty()) return;
  constexpr int kRounds = 2;
  for (int round = 0; round < kRounds; ++round) {
    const Place times = too_wide();
    if (*std::max_element(times.begin(), times.end()) == 1) return;
    for (Index k = 0; k < hyper_.size(); ++k) axes_.col(k) /= times[k];
    for (Place& at : places_) at = GridStates::spread(times, at);
    for (EpPoint& at : points_) at.place = GridStates::spread(times, at.place);
    std::map<Place, int> number;
    std::swap(number, number_);
    for (const auto& [at, j] : number) {
      number_.emplace(GridStates::spread(times, at), j);
    }
    states_.spread(times);
    scatter_best();
  }
}

auto EpGrid::too_wide() const -> Place {
  const VectorXd w = weights();
  Place times;
  times.fill(1);
  for (Index k = 0; k < hyper_.size(); ++k) {
    std::map<int, double> along;
    for (Index j = 0; j < w.size(); ++j) along[places_[j][k]] += w[j];
    double square = 0.0;
    for (const auto& [at, share] : along) square += share * share;
    // 2 sqrt(pi) standard deviations of a normal density.
    if (1.0 / square < 0.7 * 3.5449 / grid_.step) times[k] = 2;
  }
  return times;
}

void EpGrid::scatter_best() {
  using Entry = std::pair<double, int>;  // density, minus the number
  std::priority_queue<Entry> open;
  int seen = 0;
  const auto add = [&] {
    for (; seen < static_cast<int>(points_.size()); ++seen) {
      open.emplace(points_[seen].log_density, -seen);
    }
  };
  for (add(); !open.empty(); add()) {
    const int from = -open.top().second;
    open.pop();
    if (!is_likely(from)) break;
    for (Index k = 0; k < hyper_.size(); ++k) {
      for (int side : {1, -1}) step(from, k, side);
    }
  }
}

void EpGrid::walk_lines(Index axis, const Place& from) {
  if (axis < 0) return;
  walk_lines(axis - 1, from);
  // Longer lines might leave no points to others.
  const double across =
      std::pow(grid_.most, 1.0 / static_cast<double>(hyper_.size()));
  const int longest = static_cast<int>(std::ceil(0.5 * (across - 1.0)));
  const auto forget = [&](int at) {
    Place place = from;
    place[axis] += at;
    states_.forget(place);
  };
  for (int side : {1, -1}) {
    Place place = from;
    int steps = 0;
    while (steps < longest) {
      const int parent = number_[place];
      if (!is_likely(parent) || !step(parent, axis, side)) break;
      place[axis] += side;
      ++steps;
      walk_lines(axis - 1, place);
      // The first step to one side helps the other to begin.
      const int behind = (steps - 3) * side;
      if (side > 0 ? behind > 1 : behind != 0) forget(behind);
    }
    for (; steps > (side > 0 ? 1 : 0); --steps) forget(steps * side);
  }
  forget(1);
}

bool EpGrid::is_beyond(const Place& place) const {
  for (Index k = 0; k < hyper_.size(); ++k) {
    for (int side : {1, -1}) {
      Place at = place;
      at[k] -= side;
      const EpPoint* near = point(at);
      at[k] -= side;
      const EpPoint* far = point(at);
      if (near != nullptr && far != nullptr &&
          2.0 * near->log_density - far->log_density <
              best_ - grid_.drop - 1.0) {
        return true;
      }
    }
  }
  return false;
}

const EpPoint* EpGrid::point(const Place& place) const {
  const auto found = number_.find(place);
  return found == number_.end() || found->second < 0 ? nullptr
                                                     : &points_[found->second];
}

double EpGrid::loading_size() const {
  const RowSource& rows = fit_.rows();
  return static_cast<double>(rows.x_columns() * rows.z_columns()) *
         static_cast<double>(rows.groups());
}

bool EpGrid::roomy() const {
  const RemoteMessages* away = fit_.remote_messages();
  const double rows =
      static_cast<double>(away != nullptr ? away->rows : fit_.rows().rows());
  return grid_.most * (2.0 * rows + loading_size()) <= room;
}

bool EpGrid::step(int from, Index axis, int side) {
  Place to = places_[from];
  to[axis] += side;
  if (number_.count(to) > 0 || static_cast<int>(number_.size()) >= grid_.most ||
      is_beyond(to)) {
    return false;
  }
  return visit(to, from, axis, side);
}

bool EpGrid::visit(const Place& place, int parent, Index axis, int side) {
  VectorXd x = mode_.x;
  for (Index k = 0; k < x.size(); ++k) x += place[k] * axes_.col(k);
  double below = 0.0, missed_axes = 0.0;
  if (parent >= 0) {
    below = points_[0].log_density - points_[parent].log_density;
    missed_axes = missed_axes_[parent];
    if (states_.extrapolate(place, axis, side, start_)) fit_.take(start_);
  }
  number_[place] = -1;
  const Density found = density(x, below, missed_axes, points_.empty());
  if (!std::isfinite(found.value)) {
    failed_ += std::exp(-below);
    return false;
  }
  number_[place] = static_cast<int>(points_.size());
  places_.push_back(place);
  missed_axes_.push_back(found.missed.axes);
  record(x, found, 0.0, place);
  if (keep_) states_.keep(place, fit_);
  return true;
}

auto EpGrid::density(const VectorXd& x, double below, double missed_axes,
                     bool must) -> Density {
  const double tolerance =
      settings_.tolerance * std::clamp(std::exp(0.5 * below), 1.0, 10.0);
  Density out;
  try {
    out.value = evaluate(x, tolerance);
  } catch (const NumericError&) {
    if (must) throw;
  }
  if (groups_ && std::isfinite(out.value)) {
    const bool axes = weigh_groups_ && below < 1.0;
    out.missed = (*groups_)(axes);
    if (!axes) out.missed.axes = missed_axes;
    if (weigh_groups_) {
      out.value += out.missed.sum();
    } else {
      std::swap(out.unused, out.missed.at_mean);
    }
  }
  if (must && !std::isfinite(out.value)) {
    throw NumericError("the evidence of the likeliest variances is not finite");
  }
  return out;
}

void EpGrid::record(const VectorXd& x, const Density& found, double log_cell,
                    const Place& place) {
  if (points_.empty()) {
    change_ = result_.change;
    if (rows_) sites_ = fit_.sites;
  }
  EpPoint point;
  point.x = x;
  point.log_z = fit_.log_z() + fit_.completion_part() + found.missed.sum();
  point.log_density = found.value;
  point.missed = found.unused;
  point.log_cell = log_cell;
  point.place = place;
  point.precision = fit_.precisions();
  point.noise_variance = fit_.noise_variance();
  point.converged = result_.converged;
  point.moments = linear_moments(fit_, with_groups_);
  points_.push_back(std::move(point));
  const double weight = weight_of(points_.back());
  mixture_.add(fit_, points_.back().moments.theta_cov, weight);
  if (rows_) mixture_.add_rows(fit_, weight);
  if (left_out_ != nullptr) left_out_->add(fit_, weight);
  best_ = std::max(best_, found.value);
  if (with_groups_ &&
      static_cast<double>(points_.size()) * loading_size() > room) {
    drop_groups();
  }
}

void EpGrid::set_near_axes(const MatrixXd& hessian, double longest) {
  const double least = 1.0 / (longest * longest);
  const VectorXd scale = hessian.diagonal().cwiseMax(least).cwiseSqrt();
  const MatrixXd relative = hessian.cwiseQuotient(scale * scale.transpose());
  SymmetricEigen eigen(relative);
  const VectorXd root =
      eigen.eigenvalues().cwiseMax(kLeastCurvature).cwiseSqrt();
  axes_ = scale.cwiseInverse().asDiagonal() * eigen.eigenvectors() *
          root.cwiseInverse().asDiagonal() * eigen.eigenvectors().transpose();
}

void EpGrid::scatter() {
  const Index d = hyper_.size();
  const Density mode = density(mode_.x, 0.0, 0.0, true);
  // It is where all lines meet, and has no share of the volume.
  record(mode_.x, mode, -std::numeric_limits<double>::infinity(), Place{});
  states_.keep(Place{}, fit_);
  keep_ = family_moves() && roomy();
  std::vector<Line> lines;
  for (Index k = 0; k < d; ++k) lines.push_back(walk(k, mode));
  std::vector<LineDensity> along;
  for (const Line& line : lines) {
    along.emplace_back(line.at, line.value, kFlatten);
  }
  const Index count = this->count();
  const MatrixXd cube = scattered_points(count, d);
  VectorXd z(d);
  for (Index j = 0; j < count; ++j) {
    double log_q = 0.0;
    for (Index k = 0; k < d; ++k) {
      z[k] = along[k].quantile(cube(k, j));
      log_q += along[k].log_density(cube(k, j));
    }
    const Guess guess = begin_at(lines, z, mode);
    const VectorXd x = mode_.x + axes_ * z;
    const Density found = density(x, guess.below, guess.missed_axes);
    if (!std::isfinite(found.value)) {
      failed_ += std::exp(-guess.below);
      continue;
    }
    record(x, found, -log_q - std::log(static_cast<double>(count)), Place{});
  }
}

auto EpGrid::walk(Index axis, const Density& mode) -> Line {
  Line line;
  const auto insert = [&](double at, const Density& found, int side) {
    const auto put = [&](auto& to, auto value) {
      to.insert(side > 0 ? to.end() : to.begin(), std::move(value));
    };
    put(line.at, at);
    put(line.value, found.value - mode.value);
    put(line.missed_axes, found.missed.axes);
    if (keep_) put(line.state, fit_.state());
  };
  for (int side : {1, -1}) {
    return_to_mode();
    if (side > 0) insert(0.0, mode, 1);
    double at = 0.0, below = 0.0, missed_axes = mode.missed.axes;
    for (int k = 0; k < kFarthest && below < kDrop; ++k) {
      at += side * std::max(1.0, 0.4 * std::abs(at));
      const Density found =
          density(mode_.x + at * axes_.col(axis), below, missed_axes);
      if (!std::isfinite(found.value)) break;
      below = mode.value - found.value;
      missed_axes = found.missed.axes;
      insert(at, found, side);
    }
  }
  return line;
}

auto EpGrid::begin_at(const std::vector<Line>& lines, const VectorXd& z,
                      const Density& mode) -> Guess {
  Guess out{0.0, mode.missed.axes};
  if (keep_) start_ = *states_.find(Place{});
  for (std::size_t k = 0; k < lines.size(); ++k) {
    const Line& line = lines[k];
    const std::size_t n = line.at.size();
    if (n < 2) continue;
    std::size_t i = 0;
    while (i + 2 < n && z[k] > line.at[i + 1]) ++i;
    const double t = std::clamp(
        (z[k] - line.at[i]) / (line.at[i + 1] - line.at[i]), 0.0, 1.0);
    out.below -= (1.0 - t) * line.value[i] + t * line.value[i + 1];
    out.missed_axes += (1.0 - t) * line.missed_axes[i] +
                       t * line.missed_axes[i + 1] - mode.missed.axes;
    if (!keep_) continue;
    const EpState &from = line.state[i], &to = line.state[i + 1],
                  &origin = *states_.find(Place{});
    if (!combine_messages({&start_, &from, &to, &origin},
                          {1.0, 1.0 - t, t, -1.0}, start_)) {
      continue;
    }
    add_sums(from, 1.0 - t, start_);
    add_sums(to, t, start_);
    add_sums(origin, -1.0, start_);
  }
  if (keep_) fit_.take(start_);
  return out;
}

void EpGrid::drop_groups() {
  with_groups_ = false;
  for (EpPoint& point : points_) {
    for (MatrixXd* m : {&point.moments.group_mean, &point.moments.group_cov,
                        &point.moments.loading, &point.moments.schur}) {
      m->resize(0, 0);
    }
  }
}

void EpGrid::set_axes() {
  const Index d = hyper_.size();
  grid_ = GridSettings::of(d);
  if (!roomy()) grid_ = grid_.thin();
  if (grid_settings) grid_ = *grid_settings;
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
  if (!is_grid()) {
    set_near_axes(hessian, kLongest);
    return;
  }
  SymmetricEigen eigen(hessian);
  axes_ = eigen.eigenvectors();
  for (Index k = 0; k < d; ++k) {
    const double curvature =
        std::max(eigen.eigenvalues()[k], 1.0 / (kLongest * kLongest));
    axes_.col(k) *= grid_.step / std::sqrt(curvature);
  }
}
}  // namespace bayeskernel
