#include "bark/kernel_moves.hpp"

#include "bark/population.hpp"
#include "bark/prior.hpp"
#include "rng/distributions.hpp"
#include "simd/column_products.hpp"

namespace bayeskernel {
double KernelMoves::birth(Index location, double varphi, double limit) {
  const Population& population = s_.population;
  const Index J = population.kernels();
  const Index column = population.column_at(location);
  location_ = location;
  varphi_ = varphi;
  double weight, total = population.total_weight();
  double ratio = s_.log_kernels + std::log(s_.prior.move_probability(J + 1)[1] /
                                           s_.prior.move_probability(J)[0]);
  if (column >= 0 && population.collapsed()) {
    const Index n = population.count(column);
    const double v = population.varphi(column);
    weight = population.kill_weight(n + 1, v);
    total += weight - population.kill_weight(n, v);
    ratio -= std::log(static_cast<double>(n + 1));
  } else {
    weight = population.kill_weight(1, varphi);
    total += weight;
  }
  ratio += std::log(weight / total);
  if (column >= 0) {
    variance_ = population.variance_with(column, varphi);
    if (!s_.holds(variance_)) return kNever;
    edit_ = s_.gaussian.rescale(s_.place(column), variance_);
    change_ = edit_.change;
  } else {
    variance_ = 1.0 / varphi;
    if (!s_.holds(variance_)) return kNever;
    change_ = open_column(location, {}, limit - ratio);
  }
  return ratio + change_;
}

void KernelMoves::accept_birth() {
  const bool opens = s_.population.column_at(location_) < 0;
  s_.population.insert(location_, varphi_);
  commit_arrival(opens);
}

double KernelMoves::death(Index unit) {
  const Population& population = s_.population;
  const Index J = population.kernels();
  const double weight = population.unit_weight(unit);
  double ratio = -s_.log_kernels -
                 std::log(weight / population.total_weight()) +
                 std::log(s_.prior.move_probability(J - 1)[0] /
                          s_.prior.move_probability(J)[1]);
  if (population.collapsed()) {
    ratio += std::log(static_cast<double>(population.count(unit)));
  }
  unit_ = unit;
  leave(unit);
  change_ = departure_.change;
  return ratio + change_;
}

double KernelMoves::relocate(Index unit, Index location, double varphi,
                             double limit) {
  const Population& population = s_.population;
  const Index from = population.unit_column(unit);
  const Index to = population.column_at(location);
  unit_ = unit;
  location_ = location;
  varphi_ = varphi;
  null_ = to == from;
  change_ = 0.0;
  if (null_) return 0.0;
  const double weight = population.unit_weight(unit);
  double ratio = -std::log(weight / population.total_weight());
  // Weights span many orders: the rest is summed, not subtracted.
  double rest = 0.0, arriving;
  for (Index j = 0; j < population.units(); ++j) {
    const bool changes = j == unit || (population.collapsed() && j == to);
    if (!changes) rest += population.unit_weight(j);
  }
  if (population.collapsed()) {
    const Index n = population.count(from);
    rest += population.kill_weight(n - 1, population.varphi(unit));
    ratio += std::log(static_cast<double>(n));
    const Index n_to = to < 0 ? 0 : population.count(to);
    arriving = population.kill_weight(n_to + 1,
                                      to < 0 ? varphi : population.varphi(to));
    ratio -= std::log(static_cast<double>(n_to + 1));
  } else {
    arriving = population.kill_weight(1, varphi);
  }
  const double total = rest + arriving;
  ratio += std::log(arriving / total);
  leave(unit);
  if (to >= 0) {
    variance_ = population.variance_with(to, varphi);
    if (!s_.holds(variance_)) return kNever;
    edit_ = s_.gaussian.rescale(s_.place(to), variance_, departure_);
    change_ = departure_.change + edit_.change;
  } else {
    variance_ = 1.0 / varphi;
    if (!s_.holds(variance_)) return kNever;
    change_ =
        departure_.change +
        open_column(location, departure_, limit - ratio - departure_.change);
  }
  return ratio + change_;
}

void KernelMoves::accept_relocate() {
  if (null_) return;
  commit_departure();
  // The departure moved columns: the arrival is measured again.
  const Index to = s_.population.column_at(location_);
  if (to >= 0) {
    edit_ = s_.gaussian.rescale(s_.place(to), variance_);
  } else {
    open_column(location_, {}, kNever);
  }
  s_.population.insert(location_, varphi_);
  commit_arrival(to < 0);
}

Index KernelMoves::draw_neighbour(Index column, int power, Stream& stream) {
  const Index from = s_.population.location(column);
  if (from == 0 || !s_.data.own_centres()) return -1;
  power_ = power;
  weight_ = weigh_neighbours(s_.basis.column(s_.place(column)), from);
  double left = stream.uniform() * weight_;
  for (Index i = 0; i < s_.data.rows(); ++i) {
    left -= neighbours_[i];
    if (left < 0.0) {
      const Index to = s_.data.location(i, s_.data.vector(from));
      return s_.population.column_at(to) < 0 ? to : -1;
    }
  }
  return -1;
}

double KernelMoves::shift(Index column, Index location) {
  hand_over(column, location);
  const double back =
      weigh_neighbours(s_.basis.column(s_.basis.size()), location);
  return change_ + std::log(weight_ / back);
}

Index KernelMoves::draw_vector(Index column, Stream& stream) {
  const Index from = s_.population.location(column);
  const Index vectors = s_.data.vectors();
  if (from == 0 || vectors == 1) return -1;
  const Index step = 1 + uniform_index(stream, vectors - 1);
  const Index to = s_.data.location(s_.data.centre(from),
                                    (s_.data.vector(from) + step) % vectors);
  return s_.population.column_at(to) < 0 ? to : -1;
}

double KernelMoves::change_vector(Index column, Index location) {
  hand_over(column, location);
  return change_;
}

void KernelMoves::accept_shift() {
  s_.gaussian.commit_remove(departure_);
  s_.basis.remove(departure_.column);
  s_.population.move_to_end(unit_, location_);
  open_column(location_, {}, kNever);
  commit_arrival(true);
}

double KernelMoves::open(Index location, double varphi) {
  location_ = location;
  varphi_ = varphi;
  variance_ = 1.0 / varphi;
  return open_column(location, {}, kNever);
}

void KernelMoves::place(Index location, double varphi) {
  open(location, varphi);
  s_.population.insert(location_, varphi_);
  commit_arrival(true);
}

double KernelMoves::varphi(Index unit, double value) {
  const double old = s_.population.varphi(unit);
  unit_ = unit;
  varphi_ = value;
  variance_ = s_.population.variance_changed(unit, value);
  if (!s_.holds(variance_)) return kNever;
  edit_ =
      s_.gaussian.rescale(s_.place(s_.population.unit_column(unit)), variance_);
  change_ = edit_.change;
  return change_ + s_.prior.varphi_shape() * std::log(value / old) -
         s_.prior.varphi_rate() * (value - old);
}

void KernelMoves::accept_varphi() {
  s_.population.set_varphi(unit_, varphi_);
  s_.gaussian.commit_rescale(edit_, variance_);
  s_.coefficients_changed();
  refresh();
}

void KernelMoves::hand_over(Index column, Index location) {
  unit_ = column;
  location_ = location;
  variance_ = s_.gaussian.variance(s_.place(column));
  departure_ = s_.gaussian.remove(s_.place(column));
  change_ = departure_.change + open_column(location, departure_, kNever);
}

double KernelMoves::weigh_neighbours(const double* column, Index own) {
  const Index stride = s_.data.stride();
  std::copy_n(column, stride, neighbours_.data());
  s_.data.unscale_rows(neighbours_.data());
  Eigen::Map<ArrayXd> weights(neighbours_.data(), stride);
  for (int k = 0; k < power_; ++k) weights = weights.square();
  neighbours_[s_.data.centre(own)] = 0.0;
  return weights.sum();
}

double KernelMoves::open_column(Index location, const ColumnEdit& after,
                                double limit) {
  const Index m = s_.basis.size(), stride = s_.data.stride();
  const double phi = s_.phi();
  const double* k = s_.basis.try_location(location, s_.lambda);
  if (after.column < 0 && limit > kNever) {
    double along;
    column_dots(k, stride, 1, s_.residual(), &along);
    if (0.5 * phi * phi * variance_ * along * along < limit) return kNever;
  }
  column_dots(s_.basis.values(), stride, m + 1, k, dots_.data());
  column_dots(k, stride, 1, s_.response(), &response_);
  addition_ =
      s_.gaussian.add(dots_.data(), dots_[m], response_, variance_, after);
  return addition_.change;
}

void KernelMoves::leave(Index unit) {
  const Index column = s_.place(s_.population.unit_column(unit));
  departing_variance_ = s_.population.variance_without(unit);
  departure_ = departing_variance_ > 0.0
                   ? s_.gaussian.rescale(column, departing_variance_)
                   : s_.gaussian.remove(column);
}

void KernelMoves::commit_departure() {
  if (s_.population.erase(unit_)) {
    s_.gaussian.commit_remove(departure_);
    s_.basis.remove(departure_.column);
  } else {
    s_.gaussian.commit_rescale(departure_, departing_variance_);
  }
  s_.coefficients_changed();
  refresh();
}

void KernelMoves::commit_arrival(bool opens) {
  if (opens) {
    s_.gaussian.commit_add(dots_.data(), dots_[s_.gaussian.size()], response_,
                           variance_, addition_);
    s_.basis.append();
  } else {
    s_.gaussian.commit_rescale(edit_, variance_);
  }
  s_.coefficients_changed();
  refresh();
}
}  // namespace bayeskernel
