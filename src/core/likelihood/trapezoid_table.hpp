// Integrals of three tabulated curves against normal densities by the
// trapezoidal rule on a fixed lattice: no curve is evaluated, and the weights
// follow each other by two multiplications. The rule is exact up to
// exp(-2 pi^2 v / h^2) for the density and exp(-2 pi d / h) times at most
// exp(d^2 / 2 v) for a curve that is analytic within d of the real line.
#ifndef BAYESKERNEL_LIKELIHOOD_TRAPEZOID_TABLE_HPP
#define BAYESKERNEL_LIKELIHOOD_TRAPEZOID_TABLE_HPP

#include <Eigen/Core>
#include <algorithm>
#include <array>
#include <cmath>

namespace bayeskernel {

class Lattice {
 public:
  using Index = Eigen::Index;
  using Three = std::array<double, 3>;

  // `curve` gives the three values at t; for arguments within (low, high).
  template <class Curve>
  Lattice(double step, double low, double high, Curve&& curve)
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
  Three integrals(double low, double high, double m, double v) const {
    const Index from = static_cast<Index>(std::floor(low / step_)) - first_;
    const Index count = static_cast<Index>((high - low) / step_) + 2;
    const double scale = -0.5 / v, stride = kLanes * step_;
    const double start = step_ * static_cast<double>(first_ + from) - m;
    // Weights of the first lanes; what they are multiplied by to get the next,
    // and what that is multiplied by.
    Eigen::Array<double, 2 * kLanes, 1> exponent;
    for (int i = 0; i < kLanes; ++i) {
      const double t = start + i * step_;
      exponent[i] = scale * t * t;
      exponent[kLanes + i] = scale * stride * (2.0 * t + stride);
    }
    exponent = exponent.exp();
    Lanes weight = exponent.head<kLanes>(), ratio = exponent.tail<kLanes>();
    const double bend = std::exp(2.0 * scale * stride * stride);
    Lanes sum0 = Lanes::Zero(), sum1 = sum0, sum2 = sum0;
    const double *row0 = &table_(0, from), *row1 = &table_(1, from),
                 *row2 = &table_(2, from);
    for (Index j = 0; j < count; j += kLanes) {
      sum0 += weight * Eigen::Map<const Lanes>(row0 + j);
      sum1 += weight * Eigen::Map<const Lanes>(row1 + j);
      sum2 += weight * Eigen::Map<const Lanes>(row2 + j);
      weight *= ratio;
      ratio *= bend;
    }
    const double unit = step_ * std::sqrt(-scale / kPi);
    return {unit * sum0.sum(), unit * sum1.sum(), unit * sum2.sum()};
  }

 private:
  static constexpr int kLanes = 4;
  static constexpr double kPi = 3.14159265358979323846;
  using Lanes = Eigen::Array<double, kLanes, 1>;

  double step_;
  Index first_;
  Eigen::Array<double, 3, Eigen::Dynamic, Eigen::RowMajor> table_;
};

}  // namespace bayeskernel

#endif
