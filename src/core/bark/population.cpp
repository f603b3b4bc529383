#include "bark/population.hpp"

#include "rng/categorical.hpp"
#include "rng/stream.hpp"

namespace bayeskernel {
Population::Population(Index locations, Index capacity, bool collapsed,
                       int kill_power)
    : collapsed_(collapsed),
      kill_power_(kill_power),
      column_at_(static_cast<std::size_t>(locations), Index{-1}) {
  location_.reserve(capacity);
  count_.reserve(capacity);
  varphi_.reserve(capacity);
  unit_column_.reserve(capacity);
}

double Population::variance(Index column) const {
  if (collapsed_) return scaled(count_[column], varphi_[column]);
  double sum = 0.0;
  for (Index j = 0; j < units(); ++j) {
    if (unit_column_[j] == column) sum += 1.0 / varphi_[j];
  }
  return sum;
}

double Population::variance_with(Index column, double varphi) const {
  return collapsed_ ? scaled(count_[column] + 1, varphi_[column])
                    : variance(column) + 1.0 / varphi;
}

double Population::variance_without(Index unit) const {
  const Index column = unit_column(unit);
  if (count_[column] == 1) return 0.0;
  if (collapsed_) return scaled(count_[column] - 1, varphi_[column]);
  double sum = 0.0;
  for (Index j = 0; j < units(); ++j) {
    if (j != unit && unit_column_[j] == column) sum += 1.0 / varphi_[j];
  }
  return sum;
}

double Population::variance_changed(Index unit, double varphi) const {
  const Index column = unit_column(unit);
  return collapsed_ ? scaled(count_[column], varphi)
                    : variance_without(unit) + 1.0 / varphi;
}

double Population::kill_weight(Index count, double varphi) const {
  const double weight = kill_power_ == 0 ? 1.0 : varphi;
  return collapsed_ ? static_cast<double>(count) * weight : weight;
}

double Population::total_weight() const {
  double sum = 0.0;
  for (Index j = 0; j < units(); ++j) sum += unit_weight(j);
  return sum;
}

Index Population::draw_unit(double uniform) const {
  return categorical(uniform * total_weight(), units(),
                     [&](Index j) { return unit_weight(j); });
}

Index Population::insert(Index location, double varphi) {
  ++kernels_;
  Index column = column_at_[location];
  const bool opens = column < 0;
  if (opens) {
    column = columns();
    column_at_[location] = column;
    location_.push_back(location);
    count_.push_back(0);
  }
  ++count_[column];
  if (!collapsed_ || opens) {
    varphi_.push_back(std::max(varphi, kSmallest));
    if (!collapsed_) unit_column_.push_back(column);
  }
  return column;
}

bool Population::erase(Index unit) {
  --kernels_;
  const Index column = unit_column(unit);
  const bool closes = --count_[column] == 0;
  if (!collapsed_) {
    varphi_[unit] = varphi_.back();
    unit_column_[unit] = unit_column_.back();
    varphi_.pop_back();
    unit_column_.pop_back();
  }
  if (!closes) return false;
  const Index last = columns() - 1;
  column_at_[location_[column]] = -1;
  if (column != last) {
    location_[column] = location_[last];
    count_[column] = count_[last];
    column_at_[location_[column]] = column;
    if (collapsed_) varphi_[column] = varphi_[last];
    for (Index& at : unit_column_) {
      if (at == last) at = column;
    }
  }
  location_.pop_back();
  count_.pop_back();
  if (collapsed_) varphi_.pop_back();
  return true;
}

void Population::move_to_end(Index column, Index location) {
  column_at_[location_[column]] = -1;
  column_at_[location] = column;
  location_[column] = location;
  const Index last = columns() - 1;
  if (column == last) return;
  std::swap(location_[column], location_[last]);
  std::swap(count_[column], count_[last]);
  column_at_[location_[column]] = column;
  column_at_[location_[last]] = last;
  if (collapsed_) {
    std::swap(varphi_[column], varphi_[last]);
  } else {
    for (Index& at : unit_column_) {
      if (at == column) {
        at = last;
      } else if (at == last) {
        at = column;
      }
    }
  }
}

void Population::restore(const std::vector<Index>& location,
                         const std::vector<Index>& count,
                         const std::vector<double>& varphi,
                         const std::vector<Index>& unit_column) {
  clear();
  location_ = location;
  count_ = count;
  varphi_ = varphi;
  unit_column_ = unit_column;
  for (Index column = 0; column < columns(); ++column) {
    column_at_[location_[column]] = column;
    kernels_ += count_[column];
  }
}

void Population::clear() {
  for (const Index location : location_) column_at_[location] = -1;
  location_.clear();
  count_.clear();
  varphi_.clear();
  unit_column_.clear();
  kernels_ = 0;
}

double Population::scaled(Index count, double varphi) {
  const double n = static_cast<double>(count);
  return n * n / varphi;
}
}  // namespace bayeskernel
