// Integrals of three tabulated curves against normal densities by the
// trapezoidal rule on a fixed grid: no curve is evaluated, and the weights
// follow each other by two multiplications. The rule is exact up to
// exp(-2 pi^2 v / h^2) for the density and exp(-2 pi d / h) times at most
// exp(d^2 / 2 v) for a curve that is analytic within d of the real line.
#pragma once

#include <array>

#include "eigen.hpp"

namespace bayeskernel {
class TrapezoidTable {
 public:
  using Three = std::array<double, 3>;

  // `curve` gives the three values at t; for arguments within (low, high).
  template <class Curve>
  TrapezoidTable(double step, double low, double high, Curve&& curve)
      : step_(step), first_(static_cast<Index>(std::floor(low / step))) {
    const Index last = static_cast<Index>(std::ceil(high / step));
    table_.resize(3, kLanes * ((last - first_) / kLanes + 1));
    for (Index j = 0; j < table_.cols(); ++j) {
      const Three at = curve(step * static_cast<double>(first_ + j));
      for (int k = 0; k < 3; ++k) table_(k, j) = at[k];
    }
  }

  double low() const { return step_ * static_cast<double>(first_); }
  double high() const {
    return step_ * static_cast<double>(first_ + table_.cols() - kLanes);
  }

  // The integrals over (low, high) against the density of N(m, v).
  Three integrals(double low, double high, double m, double v) const;

 private:
  static constexpr int kLanes = 4;
  static constexpr double kPi = 3.14159265358979323846;
  using Lanes = Eigen::Array<double, kLanes, 1>;

  double step_;
  Index first_;
  Eigen::Array<double, 3, Eigen::Dynamic, Eigen::RowMajor> table_;
};
}  // namespace bayeskernel
