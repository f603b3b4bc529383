// Where the J kernels sit and how precise the prior of their coefficients is
// in either form of the state:
//   collapsed  a count n and one varphi for each location in use, variance of
//              its coefficient n^2 / varphi;
//   atoms      a varphi for each kernel, variance the sum of 1 / varphi.
// A column is a location in use; a unit is what a death picks, a column
// (collapsed) or an atom.
//
// Ouyang (2008), eq. 3.14 and 3.15.
#pragma once

#include "eigen.hpp"

namespace bayeskernel {
class Population {
 public:
  static constexpr double kSmallest = 1e-200;

  Population(Index locations, Index capacity, bool collapsed, int kill_power);

  bool collapsed() const { return collapsed_; }
  Index kernels() const { return kernels_; }
  Index columns() const { return count_of(location_); }
  Index units() const { return count_of(varphi_); }
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
  double variance(Index column) const;

  // ---- Variances after a change; 0 means that the column goes --------------

  // One more kernel in a column; varphi is that of a new atom.
  double variance_with(Index column, double varphi) const;
  double variance_without(Index unit) const;
  double variance_changed(Index unit, double varphi) const;

  // ---- Weights of a death

  double kill_weight(Index count, double varphi) const;
  double unit_weight(Index unit) const {
    return kill_weight(collapsed_ ? count_[unit] : 1, varphi_[unit]);
  }
  double total_weight() const;
  Index draw_unit(double uniform) const;

  // ---- Changes

  // A kernel at a location; returns its column. An empty location becomes the
  // last column. A varphi counts for a new atom or column.
  Index insert(Index location, double varphi);

  // True if its column went; the last column then has its place.
  bool erase(Index unit);

  // A column with all its kernels to an empty location, as the last column.
  void move_to_end(Index column, Index location);

  // A state from outside: by column its location and count, by unit varphi
  // and, unless collapsed, the column.
  void restore(const std::vector<Index>& location,
               const std::vector<Index>& count,
               const std::vector<double>& varphi,
               const std::vector<Index>& unit_column);
  const std::vector<Index>& locations() const { return location_; }
  const std::vector<Index>& counts() const { return count_; }
  const std::vector<double>& varphis() const { return varphi_; }
  const std::vector<Index>& unit_columns() const { return unit_column_; }

  void clear();

 private:
  static double scaled(Index count, double varphi);

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
