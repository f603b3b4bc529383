// Where the J kernels sit and how precise the prior of their coefficients is
// in either form of the state:
//   collapsed  a count n and one varphi for each location in use, variance of
//              its coefficient n^2 / varphi;
//   atoms      a varphi for each kernel, variance the sum of 1 / varphi.
// A column is a location in use; a unit is what a death picks, a column
// (collapsed) or an atom.
#ifndef BAYESKERNEL_BARK_POPULATION_HPP
#define BAYESKERNEL_BARK_POPULATION_HPP

#include <Eigen/Core>
#include <algorithm>
#include <cmath>
#include <vector>

#include "rng/stream.hpp"

namespace bayeskernel {

class Population {
 public:
  using Index = Eigen::Index;

  static constexpr double kSmallest = 1e-200;

  Population(Index locations, Index capacity, bool collapsed, int kill_power)
      : collapsed_(collapsed),
        kill_power_(kill_power),
        column_at_(static_cast<std::size_t>(locations), Index{-1}) {
    location_.reserve(capacity);
    count_.reserve(capacity);
    varphi_.reserve(capacity);
    unit_column_.reserve(capacity);
  }

  bool collapsed() const { return collapsed_; }
  Index kernels() const { return kernels_; }
  Index columns() const { return static_cast<Index>(location_.size()); }
  Index units() const { return static_cast<Index>(varphi_.size()); }
  Index location(Index column) const { return location_[column]; }
  Index count(Index column) const { return count_[column]; }
  Index column_at(Index location) const { return column_at_[location]; }
  Index unit_column(Index unit) const {
    return collapsed_ ? unit : unit_column_[unit];
  }
  double varphi(Index unit) const { return varphi_[unit]; }
  void set_varphi(Index unit, double value) {
    varphi_[unit] = std::max(value, kSmallest);
  }

  // Prior variance of a column's coefficient. O(1) collapsed, else O(J).
  double variance(Index column) const {
    if (collapsed_) return scaled(count_[column], varphi_[column]);
    double sum = 0.0;
    for (Index j = 0; j < units(); ++j) {
      if (unit_column_[j] == column) sum += 1.0 / varphi_[j];
    }
    return sum;
  }

  // ---- Variances after a change; 0 means that the column goes --------------

  // One more kernel in a column; varphi is that of a new atom.
  double variance_with(Index column, double varphi) const {
    return collapsed_ ? scaled(count_[column] + 1, varphi_[column])
                      : variance(column) + 1.0 / varphi;
  }
  double variance_without(Index unit) const {
    const Index column = unit_column(unit);
    if (count_[column] == 1) return 0.0;
    if (collapsed_) return scaled(count_[column] - 1, varphi_[column]);
    double sum = 0.0;
    for (Index j = 0; j < units(); ++j) {
      if (j != unit && unit_column_[j] == column) sum += 1.0 / varphi_[j];
    }
    return sum;
  }
  double variance_changed(Index unit, double varphi) const {
    const Index column = unit_column(unit);
    return collapsed_ ? scaled(count_[column], varphi)
                      : variance_without(unit) + 1.0 / varphi;
  }

  // ---- Weights of a death

  double kill_weight(Index count, double varphi) const {
    const double weight = kill_power_ == 0 ? 1.0 : varphi;
    return collapsed_ ? static_cast<double>(count) * weight : weight;
  }
  double unit_weight(Index unit) const {
    return kill_weight(collapsed_ ? count_[unit] : 1, varphi_[unit]);
  }
  double total_weight() const {
    double sum = 0.0;
    for (Index j = 0; j < units(); ++j) sum += unit_weight(j);
    return sum;
  }
  Index draw_unit(double uniform) const {
    double left = uniform * total_weight();
    for (Index j = 0; j + 1 < units(); ++j) {
      left -= unit_weight(j);
      if (left < 0.0) return j;
    }
    return units() - 1;
  }

  // ---- Changes

  // A kernel at a location; returns its column. An empty location becomes the
  // last column. A varphi counts for a new atom or column.
  Index insert(Index location, double varphi) {
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

  // True if its column went; the last column then has its place.
  bool erase(Index unit) {
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

  // A column with all its kernels to an empty location, as the last column.
  void move_to_end(Index column, Index location) {
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

  // A state from outside: by column its location and count, by unit varphi
  // and, unless collapsed, the column.
  void restore(const std::vector<Index>& location,
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
  const std::vector<Index>& locations() const { return location_; }
  const std::vector<Index>& counts() const { return count_; }
  const std::vector<double>& varphis() const { return varphi_; }
  const std::vector<Index>& unit_columns() const { return unit_column_; }

  void clear() {
    for (const Index location : location_) column_at_[location] = -1;
    location_.clear();
    count_.clear();
    varphi_.clear();
    unit_column_.clear();
    kernels_ = 0;
  }

 private:
  static double scaled(Index count, double varphi) {
    const double n = static_cast<double>(count);
    return n * n / varphi;
  }

  bool collapsed_;
  int kill_power_;
  Index kernels_ = 0;
  std::vector<Index> column_at_;    // by location, -1 where there is none
  std::vector<Index> location_;     // by column
  std::vector<Index> count_;        // by column
  std::vector<Index> unit_column_;  // by atom; empty when collapsed
  std::vector<double> varphi_;      // by unit
};

}  // namespace bayeskernel

#endif
