#include "likelihood/trapezoid_table.hpp"

namespace bayeskernel {
auto TrapezoidTable::integrals(double low, double high, double m,
                               double v) const -> Three {
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
}  // namespace bayeskernel
